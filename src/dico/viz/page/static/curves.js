/** Training curves: a line and an interval for each level and run, with all values under the pointer. */

import { axes, band, path } from "./axes.js";
import { floats } from "./decode.js";
import { element, redraw, section, svg, tickBox } from "./dom.js";
import { downloads } from "./download.js";
import { decimalsOf, extremes, frames, interval, levelLabel, number } from "./format.js";
import { glossed } from "./glossary.js";
import { percent, percentDecimals, percentInterval, widened } from "./format.js";
import { colourOf, comparing, dashesOf, levelMark, lineMark, manyLevels, MARKS } from "./selection.js";
import { pointing, Tip } from "./tip.js";

const HEIGHT = 280;
const [LETTER, BESIDE, MARK, LINE] = [6.6, 8, 10, 15]; // of the levels' names at the lines' ends, in pixels
const LONGEST = 12; // letters of such a name; longer ones are left to the legend
const TITLE = "Training curves";
const HOW = "Point at a chart, or use the arrow keys on it, to read all values; "
  + "the buttons of the legend hide and show levels.";

export function curves(report, selection) {
  const panels = report.metrics
    .map((metric) => ({ metric, series: seriesOf(report, metric.key) }))
    .filter(({ series }) => series.length)
    .map(({ metric, series }) => new Curves(report, metric, series, selection).node);
  if (!panels.length) return section("curves", TITLE, report.missing.curves);
  const single = tickBox(`single ${report.grouping.sample}s`, selection.seeds, (shown) => selection.showSeeds(shown));
  const several = report.runs.some((run) => run.seeds > 1);
  return section("curves", TITLE, `${report.statistic.curves} ${HOW}`,
    several ? element("div", { class: "row" }, single) : null, element("div", { class: "pair" }, panels));
}

function seriesOf(report, key) {
  return report.runs.flatMap((run, index) => {
    const xs = floats(run.frames);
    return report.levels.filter(({ text }) => run.curves[key]?.[text]).map(({ text }) => {
      const { centre, low, high, seeds } = run.curves[key][text];
      return {
        run: index, level: text, colour: colourOf(report, index, text), xs, dashes: dashesOf(report, text),
        centre: floats(centre), seeds: seeds.map(floats),
        low: low && floats(low), high: high && floats(high),
        desired: floats(key === "diversity" ? run.curves.desired?.[text]?.centre ?? "" : ""),
        name: comparing(report) ? `${levelLabel(text)} · ${run.name}` : levelLabel(text),
      };
    });
  });
}

class Curves {
  constructor(report, metric, series, selection) {
    Object.assign(this, { report, metric, series, selection, shown: [], cursor: null });
    const label = `${metric.title} against frames. ${metric.about}`;
    this.box = element("div", { class: "plot", tabindex: "0", role: "group", "aria-label": label });
    this.tip = new Tip(this.box);
    this.legend = element("p", { class: "print-legend", "aria-hidden": "true" }); // on paper the page's own is far
    this.span = extremes(series.flatMap(({ xs }) => [xs[0], xs.at(-1)]));
    this.node = element("figure", { class: "panel", "data-chart": metric.key },
      element("figcaption", {}, element("h3", {}, glossed(metric.title, 1)), element("p", {}, metric.about)), this.box,
      this.legend);
    pointing(this.box, (event) => this.follow(event), () => this.point(null));
    this.node.append(downloads(metric.title, {
      up: metric.title, picture: () => this.frame.picture, table: () => this.table(),
      legend: () => this.shown.map(({ colour, dashes, name }) => [colour, dashes, name]),
    }));
    this.box.addEventListener("keydown", (event) => this.press(event));
    selection.addEventListener("change", () => this.draw());
    redraw(this.box, () => this.draw());
  }

  get show() {
    return this.metric.percent ? percent : number;
  }

  draw() {
    this.shown = this.series.filter(({ run, level }) => this.selection.shows(run, level));
    const desired = this.metric.desired ? this.report.levels.filter((level) => this.has(level)) : [];
    const [first, last] = this.span;
    this.frame = axes({
      width: this.box.clientWidth, height: HEIGHT, y: this.range(desired), yFormat: this.show,
      x: first < last ? [first, last] : [0.9 * first, 1.1 * first + 1], xLabel: "frames per member", xFormat: frames,
      room: this.room(),
    });
    if (this.metric.limit !== null) drawLimit(this.frame, this.metric.limit);
    drawDesired(this.frame, desired, this.marksDesired, comparing(this.report));
    const { bands } = this.report.grouping;
    this.shown.forEach((each) => drawSeries(this.frame, bands ? each : { ...each, low: null }, this.selection.seeds));
    if (this.names) drawNames(this.report, this.frame, this.shown, this.beside);
    this.marks = svg("g", { class: "cursor" });
    this.frame.picture.append(this.marks);
    this.box.replaceChildren(this.frame.picture, this.tip.node);
    this.legend.replaceChildren(...this.shown.map(({ run, level, name }) =>
      element("span", {}, lineMark(this.report, run, level), name)));
    this.point(this.cursor);
    if (!this.shown.length) {
      this.box.append(element("p", { class: "empty" }, "All levels are hidden: choose one in the legend."));
    }
  }

  /** Whether desired values are marked by triangles: where dashes mean something else. */
  get marksDesired() {
    return comparing(this.report) || manyLevels(this.report);
  }

  /** How far from the lines their names stand: beyond the marks of desired values, where there are some. */
  get beside() {
    return this.metric.desired && this.marksDesired ? BESIDE + MARK : BESIDE;
  }

  /** Letters of the longest level's name. */
  get letters() {
    return Math.max(0, ...this.shown.map(({ level }) => levelLabel(level).length)) + (comparing(this.report) ? 2 : 0);
  }

  /** Whether levels are named at their lines' ends: if no name is too long; with the run's mark where there are
   * several. */
  get names() {
    return this.metric.named && this.letters <= LONGEST;
  }

  /** What the levels' names need at the right of the lines. */
  room() {
    return this.names ? Math.max(this.beside + LETTER * this.letters - 20, 0) : 0;
  }

  /** All numbers of frames at which a line that is shown has a point, in order. */
  get moments() {
    return [...new Set(this.shown.flatMap(({ xs }) => [...xs]))].sort((a, b) => a - b);
  }

  /** All that the chart shows, a row for each iteration. */
  table() {
    const names = this.shown.flatMap(({ name, low, seeds }) =>
      [name, ...(low ? [`${name} low`, `${name} high`] : []), ...seeds.map((_, k) => `${name} #${k + 1}`)]);
    const values = (series, at) => {
      const k = series.xs.indexOf(at);
      const { centre, low, high, seeds } = series;
      return [centre, ...(low ? [low, high] : []), ...seeds].map((line) => (k < 0 ? null : line[k]));
    };
    return [["frames", ...names], ...this.moments.map((at) =>
      [at, ...this.shown.flatMap((series) => values(series, at))])];
  }

  has({ text }) {
    return this.shown.some(({ level }) => level === text);
  }

  /** What the vertical axis shows: all lines, intervals and desired values. */
  range(desired) {
    const lines = this.shown.flatMap(({ centre, low, high, seeds }) =>
      [centre, low ?? [], high ?? [], ...(this.selection.seeds ? seeds : [])]);
    const bounds = [...desired.map(({ least, most }) => [least, most]), ...this.shown.map((each) => each.desired)];
    const ends = [...lines, ...bounds, [this.metric.limit]].flatMap((line) => [...extremes(line)]);
    const [low, high] = widened(...extremes(ends));
    return [Math.max(low, this.metric.least ?? -Infinity), high];
  }

  follow(event) {
    const { left, right } = this.frame;
    const share = (event.clientX - this.box.getBoundingClientRect().left - left) / (right - left);
    const [first, last] = this.span;
    this.point(first + Math.min(Math.max(share, 0), 1) * (last - first));
  }

  press(event) {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way) return;
    event.preventDefault();
    const { moments } = this;
    if (!moments.length) return;
    const now = this.cursor === null ? (way > 0 ? -1 : moments.length) : closest(moments, this.cursor);
    this.point(moments[Math.min(Math.max(now + way, 0), moments.length - 1)]);
  }

  /** Marks the iteration nearest to a number of frames, and lists the values there of all lines that reach it; those
   * that have no point there, but before and after, say of when their values are. */
  point(target) {
    this.cursor = target;
    this.marks.replaceChildren();
    this.tip.hide();
    if (target === null || !this.shown.length) return;
    const { toX, toY, top, bottom } = this.frame;
    const { moments } = this;
    const at = moments[closest(moments, target)];
    const there = this.shown.filter(({ xs }) => xs[0] <= at && at <= xs.at(-1))
      .map((each) => ({ ...each, index: closest(each.xs, at) }));
    this.marks.append(svg("line", { x1: toX(at), x2: toX(at), y1: top, y2: bottom }));
    for (const { xs, centre, index, colour } of there) {
      if (!Number.isFinite(centre[index])) continue;
      this.marks.append(svg("circle", { cx: toX(xs[index]), cy: toY(centre[index]), r: 3.5, fill: colour }));
    }
    const values = there.map(({ centre, low, high, index }) =>
      [centre[index], low?.[index] ?? null, high?.[index] ?? null]);
    const [decimals, text] = this.metric.percent
      ? [percentDecimals(values), percentInterval] : [decimalsOf(values), interval];
    this.tip.show(toX(at), `${frames(at)} frames`, there.map(({ run, level, colour, name, xs, index }, k) => {
      const of = frames(xs[index]) === frames(at) ? "" : ` (${frames(xs[index])})`;
      const mark = comparing(this.report) ? lineMark(this.report, run, level) : levelMark(this.report, level, colour);
      return [[mark, name + of], text(values[k], decimals)];
    }));
  }
}

function drawSeries({ plot, toX, toY }, { run, colour, dashes, xs, centre, low, high, seeds, level, desired }, single) {
  const group = svg("g", { class: "series", "data-level": level, "data-run": run });
  const line = (values, look) => svg("path", { d: path(xs, values, toX, toY), stroke: colour, ...look });
  if (low) group.append(svg("path", { d: band(xs, low, high, toX, toY), fill: colour, class: "band" }));
  if (desired.length) group.append(line(desired, { class: "desired", "data-desired": level }));
  if (single) group.append(...seeds.map((seed) => line(seed, { class: "seed" })));
  group.append(line(centre, { class: "line", "stroke-dasharray": dashes }));
  if (xs.length === 1) group.append(svg("circle", { cx: toX(xs[0]), cy: toY(centre[0]), r: 3.5, fill: colour }));
  plot.append(group);
}

/** The levels' names where their lines end, apart from each other and with a thread to where they moved from; none if
 * they are more than there is room for. */
function drawNames(report, { picture, toX, toY, right, top, bottom }, series, beside) {
  const ends = series.map(({ run, level, centre, colour, xs }) => {
    const end = toY(centre.findLast(Number.isFinite));
    return { run, level, colour, end, y: end, x: toX(xs[centre.findLastIndex(Number.isFinite)]) };
  });
  const known = ends.filter(({ y }) => Number.isFinite(y)).sort((a, b) => a.y - b.y);
  if (known.length * LINE > bottom - top + LINE) return;
  known.forEach((end, k) => (end.y = Math.max(end.y, k ? known[k - 1].y + LINE : top + 4)));
  known.reverse().forEach((end, k) => (end.y = Math.min(end.y, k ? known[k - 1].y - LINE : bottom - LINE / 2)));
  for (const { run, level, x, y, end, colour } of known) {
    const d = `M${x + 1} ${end}H${right + 1}L${right + beside - 2} ${y}`;
    picture.append(svg("path", { d, stroke: colour, class: "name-thread" }));
    const mark = comparing(report) ? svg("tspan", { fill: colour }, `${MARKS[run % MARKS.length]} `) : null;
    picture.append(svg("text", { x: right + beside, y, class: "end-name", "dominant-baseline": "middle" }, mark,
      levelLabel(level)));
  }
}

/** What executed actions cannot be above. */
function drawLimit({ plot, picture, toY, left, right }, limit) {
  const y = toY(limit);
  plot.append(svg("line", { x1: left, x2: right, y1: y, y2: y, class: "limit" }));
  picture.append(svg("text", { x: left + 6, y: y + 14, class: "note" }, `largest in the action box: ${number(limit)}`));
}

/** Lines at what levels ask for, values or bounds: dashed, or with a triangle where dashes tell runs apart; grey where
 * several levels ask for the same. */
function drawDesired({ plot, picture, toY, left, right }, levels, several, grey) {
  const asking = new Map();
  for (const level of levels) {
    const { least, most } = level;
    const bounds = [...new Set([least, most])].filter((value) => value !== null && (value > 0 || least === most));
    for (const value of bounds) asking.set(value, [...(asking.get(value) ?? []), level]);
  }
  for (const [value, by] of asking) {
    const [y, colour] = [toY(value), by.length > 1 || grey ? "var(--muted)" : by[0].colour];
    const texts = by.map(({ text }) => text).join(" | ");
    const look = { stroke: colour, class: several ? "desired thin" : "desired", "data-desired": texts };
    plot.append(svg("line", { x1: left, x2: right, y1: y, y2: y, ...look }));
    if (several) picture.append(svg("path", { d: `M${right + 2} ${y}l9-5v10z`, fill: colour, class: "desired-mark" }));
  }
}

function closest(xs, target) {
  let best = 0;
  xs.forEach((x, index) => {
    if (Math.abs(x - target) < Math.abs(xs[best] - target)) best = index;
  });
  return best;
}
