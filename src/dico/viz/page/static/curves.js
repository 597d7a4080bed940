/** Training curves: a line and an interval for each level and run, with all values under the pointer. */

import { axes, band, path } from "./axes.js";
import { floats } from "./data.js";
import { element, redraw, section, svg, tickBox } from "./dom.js";
import { decimalsFor, frames, interval, levelLabel, number, percent, percentInterval, widened } from "./format.js";
import { DASHES } from "./selection.js";

const HEIGHT = 280;

export function curves(report, selection) {
  const panels = report.metrics
    .map((metric) => ({ metric, series: seriesOf(report, metric.key) }))
    .filter(({ series }) => series.length)
    .map(({ metric, series }) => curvePanel(report, metric, series, selection));
  if (!panels.length) return section("curves", "Training curves", report.missing.curves);
  const several = report.runs.some((run) => run.seeds > 1);
  const seeds = several ? [tickBox("single seeds", selection.seeds, (shown) => selection.showSeeds(shown))] : [];
  return section("curves", "Training curves",
    `${report.statistic.curves} Point at a chart, or use the arrow keys on it, to read all values; the buttons of the legend hide and show levels.`,
    several ? element("div", { class: "row" }, seeds) : null, element("div", { class: "pair" }, panels));
}

function seriesOf(report, key) {
  return report.runs.flatMap((run, index) => {
    const xs = run.frames ? floats(run.frames) : [];
    return report.levels.filter(({ text }) => run.curves?.[key]?.[text]).map(({ text, colour }) => {
      const { centre, low, high, seeds } = run.curves[key][text];
      return {
        run: index, level: text, colour, xs, centre: floats(centre), low: low && floats(low), high: high && floats(high),
        seeds: seeds.map(floats), name: report.runs.length > 1 ? `${levelLabel(text)} · ${run.name}` : levelLabel(text),
      };
    });
  });
}

function curvePanel(report, metric, series, selection) {
  const box = element("div", { class: "plot", tabindex: "0", role: "img", "aria-label": `${metric.title} against frames. ${metric.about}` });
  const tip = element("div", { class: "tip", hidden: true, role: "status" });
  const show = metric.key === "tracking" ? percent : number;
  let shown = [];
  let frame = null;
  let cursor = null;

  function draw() {
    shown = series.filter(({ run, level }) => selection.shows(run, level));
    const values = shown.flatMap((each) => extremes(each, selection.seeds));
    const desired = metric.key === "diversity" ? report.levels.filter((level) => shown.some((each) => each.level === level.text)) : [];
    for (const { least, most } of desired) values.push(...[least, most].filter((bound) => bound !== null));
    let [low, high] = widened(Math.min(...values), Math.max(...values));
    if (metric.least !== null && low < metric.least) low = metric.least;
    const xs = series.flatMap((each) => [each.xs[0], each.xs[each.xs.length - 1]]);
    frame = axes({
      width: box.clientWidth, height: HEIGHT, x: widenedX(Math.min(...xs), Math.max(...xs)), y: [low, high],
      xLabel: "frames per member", xFormat: frames, yFormat: show,
    });
    desired.forEach((level) => drawDesired(frame, level));
    for (const each of shown) drawSeries(frame, each, selection.seeds);
    frame.cursor = svg("g", { class: "cursor" });
    frame.picture.append(frame.cursor);
    box.replaceChildren(frame.picture, tip);
    if (cursor !== null) point(cursor);
    if (!shown.length) box.append(element("p", { class: "empty" }, "All levels are hidden: choose one in the legend."));
  }

  /** Marks the iteration nearest to a number of frames, and lists all values there. */
  function point(target) {
    cursor = target;
    frame.cursor.replaceChildren();
    tip.hidden = target === null || !shown.length;
    if (tip.hidden) return;
    const nearest = shown.map((each) => ({ each, index: closest(each.xs, target) }));
    const at = nearest[0].each.xs[nearest[0].index];
    const x = frame.toX(at);
    frame.cursor.append(svg("line", { x1: x, x2: x, y1: frame.top, y2: frame.bottom }));
    for (const { each, index } of nearest) {
      if (!Number.isFinite(each.centre[index])) continue;
      frame.cursor.append(svg("circle", { cx: frame.toX(each.xs[index]), cy: frame.toY(each.centre[index]), r: 3.5, fill: each.colour }));
    }
    const decimals = decimalsFor(nearest.map(({ each, index }) => each.centre[index]), 3);
    const row = ({ each: { colour, name, centre, low, high }, index }) => {
      const values = [centre[index], low?.[index], high?.[index]].map((value) => value ?? null);
      const text = metric.key === "tracking" ? percentInterval(values) : interval(values, decimals);
      return element("tr", {}, element("td", {}, element("span", { class: "swatch", style: `background:${colour}` }), name),
        element("td", {}, text));
    };
    tip.replaceChildren(element("strong", {}, `${frames(at)} frames`), element("table", {}, nearest.map(row)));
    const right = x > box.clientWidth / 2;
    tip.style.left = right ? "" : `${x + 14}px`;
    tip.style.right = right ? `${box.clientWidth - x + 14}px` : "";
  }

  box.addEventListener("pointermove", (event) => {
    const at = event.clientX - box.getBoundingClientRect().left;
    const share = (at - frame.left) / (frame.right - frame.left);
    const all = series[0].xs;
    point(all[0] + Math.min(Math.max(share, 0), 1) * (all[all.length - 1] - all[0]));
  });
  box.addEventListener("pointerleave", () => point(null));
  box.addEventListener("blur", () => point(null));
  box.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const all = series[0].xs;
    const now = cursor === null ? (way > 0 ? -1 : all.length) : closest(all, cursor);
    point(all[Math.min(Math.max(now + way, 0), all.length - 1)]);
  });
  selection.addEventListener("change", draw);
  redraw(box, draw);
  return element("figure", { class: "panel", "data-chart": metric.key },
    element("figcaption", {}, element("h3", {}, metric.title), element("p", {}, metric.about)), box);
}

function drawSeries({ plot, toX, toY }, { run, colour, xs, centre, low, high, seeds, level }, single) {
  const group = svg("g", { class: "series", "data-level": level, "data-run": run });
  if (low) group.append(svg("path", { d: band(xs, low, high, toX, toY), fill: colour, class: "band" }));
  if (single) for (const seed of seeds) group.append(svg("path", { d: path(xs, seed, toX, toY), stroke: colour, class: "seed" }));
  group.append(svg("path", { d: path(xs, centre, toX, toY), stroke: colour, class: "line", "stroke-dasharray": DASHES[run % DASHES.length] }));
  if (xs.length === 1) group.append(svg("circle", { cx: toX(xs[0]), cy: toY(centre[0]), r: 3.5, fill: colour }));
  plot.append(group);
}

function drawDesired({ plot, toY, left, right }, { least, most, colour, text }) {
  const bounds = [...new Set([least, most])].filter((value) => value !== null && (value > 0 || least === most));
  for (const value of bounds) {
    plot.append(svg("line", { x1: left, x2: right, y1: toY(value), y2: toY(value), stroke: colour, class: "desired", "data-desired": text }));
  }
}

function extremes({ centre, low, high, seeds }, single) {
  const all = [centre, low, high, ...(single ? seeds : [])].filter(Boolean).flatMap((values) => [...values]).filter(Number.isFinite);
  return all.length ? [Math.min(...all), Math.max(...all)] : [];
}

function widenedX(low, high) {
  return low < high ? [low, high] : [low * 0.9, high * 1.1 + 1];
}

function closest(xs, target) {
  let best = 0;
  for (let index = 1; index < xs.length; index++) if (Math.abs(xs[index] - target) < Math.abs(xs[best] - target)) best = index;
  return best;
}
