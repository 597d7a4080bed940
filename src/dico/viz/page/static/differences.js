/** Runs against each other: one table of differences, with intervals. */

import { chooser, element, section, svg } from "./dom.js";
import { downloads } from "./download.js";
import { decimalsOf, extremes, interval, levelUnder, linear, percentDecimals, percentInterval } from "./format.js";
import { comparing, levelMark, runMark } from "./selection.js";

const TITLE = "Differences between the runs";
const [WIDTH, HEIGHT] = [120, 18]; // of an interval's picture
const SAYS = { "not told apart": "cannot be told apart" };

/** Null where there is one run. */
export function differences(report, selection) {
  if (!comparing(report)) return null;
  const { rows, quantities, about } = report.differences;
  if (!rows.length) return section("differences", TITLE, about);
  const look = { class: "scroll panel", tabindex: "0", role: "region", "aria-label": "Table of differences" };
  const place = element("div", look);
  let base = rows[0].first;
  const show = () => place.replaceChildren(table(report, quantities, against(rows, base), selection));
  show();
  selection.addEventListener("change", show);
  const bases = [...new Set(rows.flatMap(({ first, second }) => [first, second]))].sort((a, b) => a - b);
  const choices = bases.map((index) => [String(index), report.runs[index].name]);
  const choice = bases.length > 2 ? chooser("compared with", choices, String(base), (index) => {
    base = Number(index);
    show();
  }) : null;
  return section("differences", TITLE, about, element("div", { class: "row" }, choice), place,
    downloads("differences", { table: () => tableRows(report, quantities, rows) }));
}

/** The differences of all others from one run, turned round where that is the second of two. */
function against(rows, base) {
  const minus = (value) => (value === null ? null : 0 - value); // what is not known stays so, and 0 has no sign
  const turned = ([effect, low, high]) => [minus(effect), minus(high), minus(low)];
  const opposite = { higher: "lower", lower: "higher" };
  const round = (row) => ({
    ...row, first: row.second, second: row.first, seeds: [...row.seeds].reverse(),
    values: row.values.map(turned), verdicts: row.verdicts.map((said) => opposite[said] ?? said),
  });
  return rows.filter(({ first, second }) => first === base || second === base)
    .map((row) => (row.first === base ? row : round(row)));
}

function table(report, quantities, rows, selection) {
  const shown = rows.filter(({ first, second, level }) =>
    selection.shows(first, level) && selection.shows(second, level));
  const { name: base } = report.runs[rows[0].first];
  const head = [report.grouping.title, "run", `${report.grouping.sample}s`, ...quantities.map(({ title }) => title)];
  const texts = quantities.map(({ percent }, k) => {
    const values = rows.map((row) => row.values[k]);
    const decimals = percent ? percentDecimals(values) : decimalsOf(values, 4);
    return (row) => (percent ? percentInterval : interval)(row.values[k], decimals);
  });
  const [least, greatest] = extremes([0, ...rows.flatMap((row) => row.values[0])]);
  const body = shown.map((row) => element("tr", { "data-level": row.level, "data-run": row.second },
    element("th", { scope: "row" }, levelMark(report, row.level), levelUnder(report, row.level)),
    element("td", { "data-label": "run" },
      element("span", {}, runMark(report, row.second), `${report.runs[row.second].name} − ${base}`)),
    element("td", { "data-label": head[2], class: "number" }, `${row.seeds[1]} and ${row.seeds[0]}`),
    quantities.map(({ title }, k) => element("td", { "data-label": title, class: "number" }, element("span", {},
      k ? null : picture(row.values[0], [least, greatest], report.runs[row.second].colour),
      element("span", { class: "amount" }, signed(texts[k](row))), said(row.verdicts[k]))))));
  return element("table", { class: "summary differences" },
    element("thead", {}, element("tr", {}, head.map((name, k) =>
      element("th", { scope: "col", class: k > 1 ? "number" : null }, name)))), element("tbody", {}, body));
}

/** An interval as a line, beside zero. */
function picture([effect, low, high], range, colour) {
  const toX = linear(range, [5, WIDTH - 5]);
  const middle = HEIGHT / 2;
  const parts = [svg("line", { x1: toX(0), x2: toX(0), y1: 0, y2: HEIGHT, class: "axis" })];
  const along = { y1: middle, y2: middle, stroke: colour, "stroke-width": 2 };
  if (low !== null) parts.push(svg("line", { x1: toX(low), x2: toX(high), ...along }));
  if (effect !== null) parts.push(svg("circle", { cx: toX(effect), cy: middle, r: 4, fill: colour }));
  const size = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT };
  return svg("svg", { class: "interval", ...size, "aria-hidden": "true" }, parts);
}

function signed(text) {
  return /^\d/.test(text) && !/^0(\.0*)?( |$)/.test(text) ? `+${text}` : text;
}

function said(verdict) {
  const look = `verdict ${verdict === "higher" || verdict === "lower" ? "told" : "open"}`;
  return element("small", { class: look }, SAYS[verdict] ?? verdict);
}

/** The differences of every two runs, unrounded. */
function tableRows({ runs, grouping }, quantities, rows) {
  const ends = quantities.flatMap(({ title }) => [title, `${title} low`, `${title} high`, `${title} verdict`]);
  const head = ["level", "run", "minus", `${grouping.sample}s of run`, `${grouping.sample}s of minus`, ...ends];
  return [head, ...rows.map(({ level, first, second, seeds, values, verdicts }) =>
    [level, runs[second].name, runs[first].name, seeds[1], seeds[0],
      ...values.flatMap((each, k) => [...each, verdicts[k]])])];
}
