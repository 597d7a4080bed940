/** The decision plot: final reward against desired diversity. Which level to choose. */

import { axes } from "./axes.js";
import { element, redraw, section, svg } from "./dom.js";
import { interval, levelLabel, number, widened } from "./format.js";
import { DASHES } from "./selection.js";

const HEIGHT = 340;
const LINE = 17; // between the names of two levels

export function decision(report, selection) {
  const points = report.runs.flatMap((run, index) => run.summary.map((row) => pointOf(report, run, index, row)));
  const drawable = points.filter(({ x, reward }) => Number.isFinite(x ?? NaN) && Number.isFinite(reward[0] ?? NaN));
  if (!drawable.length) return section("decision", "Which diversity is best?", report.missing.decision);
  const wall = report.runs[0].maximum;
  const box = element("div", { class: "plot", role: "img", "aria-label": describe(report, drawable) });
  const tip = element("div", { class: "tip", hidden: true, role: "status" });
  const draw = () => box.replaceChildren(chart(report, drawable.filter(({ run, level }) => selection.shows(run, level)), drawable, wall, box, tip), tip);
  selection.addEventListener("change", draw);
  redraw(box, draw);
  const best = report.runs.map(({ name, best: level }) => level && (report.runs.length > 1 ? `${name}: ${levelLabel(level)}` : levelLabel(level))).filter(Boolean);
  const bound = wall ? `More than ${number(wall)} does not fit the action box. ` : "";
  return section("decision", "Which diversity is best?",
    `${report.statistic.final} Levels without one desired value (free, bounds) stand where they landed, as open marks. ${bound}${best.length ? `Best: ${best.join("; ")}.` : ""}`,
    element("figure", { class: "panel" }, box));
}

function pointOf(report, run, index, row) {
  const { colour, least, most } = report.levels.find(({ text }) => text === row.level);
  const exact = least !== null && least === most;
  return { run: index, name: run.name, level: row.level, colour, exact, x: exact ? least : row.diversity[0], reward: row.reward, diversity: row.diversity,
    seeds: row.finals, best: run.best === row.level };
}

function chart(report, points, all, wall, box, tip) {
  const width = box.clientWidth;
  const xs = all.map(({ x }) => x);
  const farthest = Math.max(...xs, 1e-3);
  const walled = wall && wall <= 2.5 * farthest;
  const end = walled ? Math.max(wall, farthest) * 1.06 : farthest * 1.12;
  const rewards = all.flatMap(({ reward, seeds }) => [...reward, ...seeds]).filter((value) => Number.isFinite(value ?? NaN));
  const frame = axes({
    width, height: HEIGHT, x: [-0.04 * end, end], y: widened(Math.min(...rewards), Math.max(...rewards), 0.14),
    xLabel: `desired ${report.metric}`, yLabel: "final reward per step",
  });
  if (walled) drawWall(frame, wall);
  report.runs.forEach((_, run) => {
    const line = points.filter((point) => point.run === run && point.exact).sort((a, b) => a.x - b.x);
    const corners = line.map(({ x, reward }) => `${frame.toX(x)},${frame.toY(reward[0])}`).join(" ");
    frame.plot.append(svg("polyline", { points: corners, class: "thread", "stroke-dasharray": DASHES[run % DASHES.length] }));
  });
  const named = topmost(points);
  for (const point of points) drawPoint(frame, point, report, tip, box);
  drawNames(frame, named, report.runs.length === 1);
  return frame.picture;
}

function drawWall({ plot, picture, toX, top, bottom, right }, wall) {
  const x = toX(wall);
  plot.append(svg("rect", { x, y: top, width: Math.max(right - x, 0), height: bottom - top, class: "beyond" }));
  plot.append(svg("line", { x1: x, x2: x, y1: top, y2: bottom, class: "wall" }));
  const [left, middle] = [x - 9, (top + bottom) / 2];
  picture.append(svg("text", { x: left, y: middle, class: "note", "text-anchor": "middle", transform: `rotate(-90 ${left} ${middle})` },
    `largest in the action box: ${number(wall)}`));
}

function drawPoint({ plot, picture, toX, toY }, point, report, tip, box) {
  const x = toX(point.x);
  const y = toY(point.reward[0]);
  const group = svg("g", { class: "mark", "data-level": point.level, "data-run": point.run });
  for (const value of point.seeds) {
    if (Number.isFinite(value ?? NaN)) group.append(svg("circle", { cx: x, cy: toY(value), r: 2, fill: point.colour, opacity: 0.55 }));
  }
  if (point.reward[1] !== null) {
    const [low, high] = [toY(point.reward[1]), toY(point.reward[2])];
    group.append(svg("path", { d: `M${x} ${low}V${high}M${x - 5} ${low}h10M${x - 5} ${high}h10`, stroke: point.colour, class: "whisker" }));
  }
  group.append(shape(point, x, y));
  const target = svg("circle", { cx: x, cy: y, r: 16, class: "target", tabindex: "0" });
  const show = () => {
    tip.hidden = false;
    tip.replaceChildren(element("strong", {}, `desired ${report.metric}: ${levelLabel(point.level)}${report.runs.length > 1 ? ` · ${point.name}` : ""}`),
      element("table", {}, element("tr", {}, element("td", {}, "reward per step"), element("td", {}, interval(point.reward))),
        element("tr", {}, element("td", {}, `measured ${report.metric}`), element("td", {}, interval(point.diversity)))));
    const right = x > box.clientWidth / 2;
    tip.style.left = right ? "" : `${x + 18}px`;
    tip.style.right = right ? `${box.clientWidth - x + 18}px` : "";
  };
  for (const name of ["pointerenter", "focus"]) target.addEventListener(name, show);
  for (const name of ["pointerleave", "blur"]) target.addEventListener(name, () => (tip.hidden = true));
  plot.append(group);
  picture.append(target);
}

/** The levels' names over their marks, kept within the plot and apart from each other. */
function drawNames({ picture, toX, toY, left, right }, points, alone) {
  const placed = [];
  for (const { level, best, x, reward, seeds } of points) {
    const text = best && alone ? `${levelLabel(level)} · best` : levelLabel(level);
    const half = 4.2 * text.length;
    const middle = Math.min(Math.max(toX(x), left + half), right - half);
    const highest = Math.max(...[...reward, ...seeds].filter((value) => Number.isFinite(value ?? NaN)));
    let y = Math.min(toY(highest), toY(reward[0]) - 6) - 9;
    const hits = (other) => Math.abs(other.middle - middle) < other.half + half && Math.abs(other.y - y) < LINE;
    while (placed.some(hits)) y -= 2;
    placed.push({ middle, half, y });
    picture.append(svg("text", { x: middle, y, class: best ? "level best" : "level", "text-anchor": "middle" }, text));
  }
}

/** Of each level the highest point: it bears the level's name. */
function topmost(points) {
  const highest = new Map();
  for (const point of points) {
    const known = highest.get(point.level);
    if (!known || point.reward[0] > known.reward[0]) highest.set(point.level, point);
  }
  return [...highest.values()];
}

/** A mark by its run; open where the level asks for no one value. */
function shape({ run, colour, exact }, x, y) {
  const look = { fill: exact ? colour : "var(--panel)", stroke: colour, "stroke-width": 2.5 };
  const outlines = ["", "M-6-6H6V6H-6Z", "M0-7.5L7 6H-7Z", "M0-8L7 0L0 8L-7 0Z", "M0 7.5L7-6H-7Z", "M-2-7H2V-2H7V2H2V7H-2V2H-7V-2H-2Z"];
  const outline = outlines[run % outlines.length];
  if (!outline) return svg("circle", { cx: x, cy: y, r: 6.5, ...look });
  return svg("path", { d: outline, transform: `translate(${x} ${y})`, ...look });
}

function describe(report, points) {
  const parts = points.map(({ level, reward, name }) => `${report.runs.length > 1 ? `${name}, ` : ""}${levelLabel(level)}: ${interval(reward)}`);
  return `Final reward per step against desired ${report.metric}. ${parts.join("; ")}.`;
}
