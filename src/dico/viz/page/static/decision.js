/** The decision plot: final reward against desired diversity, or the number that varies. Which level to choose. */

import { axes } from "./axes.js";
import { element, redraw, section, svg } from "./dom.js";
import { downloads } from "./download.js";
import { extremes, interval, known, levelLabel, levelName, number, widened } from "./format.js";
import { colourOf, comparing } from "./selection.js";
import { pointing, Tip } from "./tip.js";

const HEIGHT = 340;
const MARK = 9; // half the size of a mark, with a little room
const [LETTER, SPACE, ROW] = [4.2, 6, 16]; // half a letter's width, between names and from row to row, in pixels
const NEAR = 2.5; // the limit is drawn if it is at most so many times as far as the farthest level
const FROM_ZERO = 0.5; // the axis begins at no diversity unless the least level is beyond this share of it
const ALONE = "Final reward"; // of one level there is nothing to choose
const OPEN = "Levels without one desired value (free, bounds) stand where they landed, as open marks.";
/** The mark of each run, around its centre; the first run has circles. */
const OUTLINES = [
  null, "M-6-6H6V6H-6Z", "M0-7.5L7 6H-7Z", "M0-8L7 0L0 8L-7 0Z", "M0 7.5L7-6H-7Z",
  "M-2-7H2V-2H7V2H2V7H-2V2H-7V-2H-2Z",
];

export function decision(report, selection) {
  const points = report.runs.flatMap((run, index) => run.summary.map((row) => pointOf(report, run, index, row)));
  const drawable = points.filter(({ x, reward }) => known([x, reward[0]]).length === 2);
  if (!drawable.length) return section("decision", report.grouping.question, report.missing.decision);
  const { maximum: limit, bound } = report.runs[0];
  const box = element("div", { class: "plot", role: "img", "aria-label": describe(report, drawable) });
  const tip = new Tip(box);
  const draw = () => {
    const shown = drawable.filter(({ run, level }) => selection.shows(run, level));
    box.replaceChildren(chart(report, shown, drawable, limit, box.clientWidth, tip), tip.node);
  };
  selection.addEventListener("change", draw);
  redraw(box, draw);
  const answers = report.levels.length < 2 ? []
    : report.runs.filter(({ best, answer }) => answer || best).map((run) => answered(report, run));
  const title = report.levels.length > 1 ? report.grouping.question : ALONE;
  const lead = [
    report.statistic.final, drawable.every(({ exact }) => exact) ? "" : OPEN,
    limit ? `More than ${number(bound)} does not fit the action box.` : "",
    answers.join(" "),
  ];
  const files = downloads(title, {
    picture: () => box.querySelector("svg"), table: () => tableOf(report, drawable),
    legend: () => (comparing(report) ? report.runs.map(({ colour, name }) => [colour, "", name]) : []),
  });
  return section("decision", title, lead.filter(Boolean).join(" "), element("figure", { class: "panel" }, box, files));
}

/** What the seeds say of the levels; the best one's name alone where they are not asked. */
function answered(report, { name, best, answer }) {
  const text = answer || `Best: ${levelLabel(best)}.`;
  return report.runs.length > 1 ? `${name}: ${text}` : text;
}

/** The marks' numbers, a row for each. */
function tableOf({ grouping, metric }, points) {
  const head = ["run", "level", grouping.axis.title, "reward", "reward low", "reward high", `measured ${metric}`];
  const most = Math.max(...points.map(({ finals }) => finals.length));
  const singles = Array.from({ length: most }, (_, k) => `reward #${k + 1}`);
  return [[...head, ...singles], ...points.map(({ name, level, x, exact, reward, diversity, finals }) =>
    [name, level, exact ? x : null, ...reward, diversity[0], ...finals])];
}

function named(report, run, level) {
  return report.runs.length > 1 ? `${levelLabel(level)} of ${run}` : levelLabel(level);
}

function pointOf(report, { name, best }, run, { level, place, series, reward, diversity, finals }) {
  const colour = colourOf(report, run, level);
  const [exact, x] = [place !== null, place ?? diversity[0]];
  return { run, name, level, colour, exact, x, series, reward, diversity, finals, best: best === level };
}

function chart(report, points, all, limit, width, tip) {
  const { title, diversity } = report.grouping.axis;
  const [, farthest] = extremes(all.map(({ x }) => x));
  const limited = limit && (limit <= NEAR * farthest || farthest === 0);
  const rewards = extremes(all.flatMap(({ reward, finals }) => [...reward, ...finals]));
  const frame = axes({
    width, height: HEIGHT, y: widened(...rewards, 0.14), xLabel: title,
    yLabel: `final reward per step${report.grouping.of}`,
    ...(diversity ? fromZero(all, limited ? limit : null) : amongValues(report.grouping.axis, all)),
  });
  if (limited) drawLimit(frame, limit, report.runs[0].bound);
  const threads = threadsOf(points.filter(({ exact }) => exact));
  threads.forEach((thread) => drawThread(frame, thread, comparing(report)));
  points.forEach((point) => drawPoint(frame, point, report, tip));
  drawNames(frame, topmost(points), points, report.runs.length === 1);
  return frame.picture;
}

/** An axis of diversity: from none, unless all levels are far from it, to the limit if there is one. */
function fromZero(points, limit) {
  const [least, farthest] = extremes(points.map(({ x }) => x));
  const end = limit === null ? farthest * 1.12 || 1 : Math.max(limit, farthest) * 1.06;
  return { x: [least > FROM_ZERO * end ? least - 0.15 * (end - least) : -0.04 * end, end] };
}

/** An axis of a number that varies, with the values that levels have. */
function amongValues({ logarithmic: xLog }, points) {
  const xTicks = [...new Set(points.map(({ x }) => x))];
  const [least, greatest] = extremes(xTicks);
  if (!xLog) return { x: widened(least, greatest, 0.12), xTicks };
  const room = (greatest / least) ** 0.12;
  return { x: [least / room, greatest * room], xTicks, xLog };
}

/** Points that a line joins: of one run, and alike in all but what the axis shows. */
function threadsOf(points) {
  const threads = new Map();
  for (const point of points) {
    const key = JSON.stringify([point.run, point.series]);
    threads.set(key, [...(threads.get(key) ?? []), point]);
  }
  return [...threads.values()];
}

/** The largest diversity that fits the action box, and what lies beyond. */
function drawLimit({ plot, picture, toX, top, bottom, right }, limit, bound) {
  const largest = number(bound) === number(limit) ? number(limit) : `${number(limit)} to ${number(bound)}`;
  const x = toX(limit);
  const [left, middle] = [x - 9, (top + bottom) / 2];
  const turned = { x: left, y: middle, "text-anchor": "middle", transform: `rotate(-90 ${left} ${middle})` };
  plot.append(svg("rect", { x, y: top, width: Math.max(right - x, 0), height: bottom - top, class: "beyond" }),
    svg("line", { x1: x, x2: x, y1: top, y2: bottom, class: "limit" }));
  picture.append(svg("text", { class: "note", ...turned }, `largest in the action box: ${largest}`));
}

/** What joins the levels of a run that ask for one value. */
function drawThread({ plot, toX, toY }, points, coloured) {
  const corners = points.sort((a, b) => a.x - b.x).map(({ x, reward }) => `${toX(x)},${toY(reward[0])}`);
  const style = coloured ? `stroke:${points[0].colour}` : null;
  plot.append(svg("polyline", { points: corners.join(" "), class: "thread", style }));
}

function drawPoint({ plot, picture, toX, toY }, point, report, tip) {
  const { colour, reward, finals } = point;
  const [x, y] = [toX(point.x), toY(reward[0])];
  const group = svg("g", { class: "mark", "data-level": point.level, "data-run": point.run });
  const dot = (value) => svg("circle", { cx: x, cy: toY(value), r: 2, fill: colour, opacity: 0.55 });
  group.append(...known(finals).map(dot));
  if (reward[1] !== null) {
    const [low, high] = [toY(reward[1]), toY(reward[2])];
    const whisker = `M${x} ${low}V${high}M${x - 5} ${low}h10M${x - 5} ${high}h10`;
    group.append(svg("path", { d: whisker, stroke: colour, class: "whisker" }));
  }
  group.append(markOf(point, x, y));
  const target = svg("circle", { cx: x, cy: y, r: 16, class: "target" });
  const whose = report.runs.length > 1 ? ` of ${point.name}` : "";
  const show = () => tip.show(x, `${levelName(report, point.level, ": ")}${whose}`,
    [["reward per step", interval(reward)], [`measured ${report.metric}`, interval(point.diversity)]]);
  pointing(target, show, () => tip.hide());
  plot.append(group);
  picture.append(target);
}

/** The levels' names beside their marks: within the plot, and where they hide neither marks nor each other; or, where
 * there is no room for all, in rows above, each with a thread to its mark. */
function drawNames(frame, points, all, alone) {
  const { picture, toX, toY, left, right, top: ceiling } = frame;
  const taken = all.map(({ x, reward }) => boxAround(toX(x), toY(reward[0]), MARK, MARK));
  const names = [];
  for (const { level, best, x, reward, finals } of points) {
    const text = best && alone ? `${levelLabel(level)} · best` : levelLabel(level);
    const half = LETTER * text.length;
    const [markX, markY] = [toX(x), toY(reward[0])];
    const top = Math.min(toY(extremes([...reward, ...finals])[1]), markY - 4) - 13;
    const beside = MARK + half + 2;
    const places = [[0, top], [-beside, markY - 10], [beside, markY - 10], [-beside, markY + 10], [beside, markY + 10]];
    const within = (wanted) => Math.min(Math.max(wanted, left + half), right - half);
    const boxes = places.map(([dx, y]) => boxAround(within(markX + dx), y, half, 8));
    const box = boxes.find((each) => each.y > ceiling && !taken.some((other) => overlap(each, other)));
    if (box) taken.push(box);
    names.push({ text, best, box, half, markX, markY });
  }
  const placed = names.every(({ box }) => box) ? names : inRows(frame, names);
  for (const { text, best, box: { x, y }, thread } of placed) {
    const place = { x, y, "text-anchor": "middle", "dominant-baseline": "middle" };
    if (thread) picture.append(svg("path", { d: thread, class: "name-thread", stroke: "var(--muted)" }));
    picture.append(svg("text", { class: best ? "level best" : "level", ...place }, text));
  }
}

/** Names in order of their marks, in as few rows as hold them. */
function inRows({ left, right, top }, names) {
  const ordered = [...names].sort((a, b) => a.markX - b.markX);
  const needed = (some) => some.reduce((total, { half }) => total + 2 * half + SPACE, 0);
  const count = Math.max(1, Math.ceil(needed(ordered) / (right - left)));
  return Array.from({ length: count }, (_, row) => {
    const own = ordered.filter((_, k) => k % count === row);
    const y = top + 4 + ROW * row;
    const xs = own.map(({ markX }) => markX);
    const apart = (k) => own[k - 1].half + own[k].half + SPACE;
    for (let k = 0; k < own.length; k++) xs[k] = Math.max(xs[k], k ? xs[k - 1] + apart(k) : left + own[k].half);
    for (let k = own.length - 1; k >= 0; k--) {
      xs[k] = Math.min(xs[k], k + 1 < own.length ? xs[k + 1] - apart(k + 1) : right - own[k].half);
    }
    return own.map((name, k) => ({
      ...name, box: { x: xs[k], y }, thread: `M${xs[k]} ${y + 8}L${name.markX} ${name.markY - MARK}`,
    }));
  }).flat();
}

function boxAround(x, y, halfWidth, halfHeight) {
  return { x, y, halfWidth, halfHeight };
}

function overlap(a, b) {
  return Math.abs(a.x - b.x) < a.halfWidth + b.halfWidth && Math.abs(a.y - b.y) < a.halfHeight + b.halfHeight;
}

/** The points that bear their levels' names: of a level in one place the highest, and each where levels landed. */
function topmost(points) {
  const highest = new Map();
  for (const point of points) {
    const place = point.exact ? point.level : `${point.level} ${point.run}`;
    const other = highest.get(place);
    if (!other || point.reward[0] > other.reward[0]) highest.set(place, point);
  }
  return [...highest.values()];
}

/** A mark by its run; open where the level asks for no one value. */
function markOf({ run, colour, exact }, x, y) {
  const look = { fill: exact ? colour : "var(--panel)", stroke: colour, "stroke-width": 2.5 };
  const outline = OUTLINES[run % OUTLINES.length];
  if (outline === null) return svg("circle", { cx: x, cy: y, r: 6.5, ...look });
  return svg("path", { d: outline, transform: `translate(${x} ${y})`, ...look });
}

function describe(report, points) {
  const parts = points.map(({ level, reward, name }) => `${named(report, name, level)}: ${interval(reward)}`);
  return `Final reward per step against ${report.grouping.axis.title}. ${parts.join("; ")}.`;
}
