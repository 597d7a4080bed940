/** What came out, in numbers. */

import { element, section } from "./dom.js";
import { downloads } from "./download.js";
import { decimalsOf, frames, interval, levelLabel, levelUnder, percent } from "./format.js";
import { percentDecimals, percentInterval, plural } from "./format.js";
import { glossed } from "./glossary.js";
import { comparing, levelMark, runMark } from "./selection.js";

const WIDE = 5; // from more columns on, numbers are smaller and break before their intervals
const UNKNOWN = [null, null, null]; // of a run that does not tell

export function heading({ runs, facts, findings }) {
  const title = runs.length > 1 ? `${runs.length} runs compared` : runs[0].name;
  const badges = runs.filter(({ progress }) => progress.frames < progress.total).map(({ name, progress }) => {
    const whose = runs.length > 1 ? `${name} has ` : "";
    const done = `${frames(progress.frames)} of ${frames(progress.total)} frames per member so far`;
    return element("p", { class: "badge" }, `Not finished: ${whose}${done}`);
  });
  const told = findings.map((text) => element("p", { class: "finding" }, glossed(text)));
  return [element("h1", {}, title), ...told, element("p", { class: "facts" }, facts.join(" · ")), ...badges];
}

export function summary(report) {
  const notes = report.notes.map((note) => element("li", {}, note));
  return section("summary", "Summary", report.statistic.table,
    report.runs.length > 1 ? null : element("div", { class: "tiles" }, tiles(report.runs[0], report.grouping)),
    element("div", { class: "scroll panel", tabindex: "0", role: "region", "aria-label": "Table" }, table(report)),
    downloads("summary", { table: () => tableRows(report) }),
    notes.length ? element("ul", { class: "notes" }, notes) : null);
}

function tiles(run, { sample }) {
  const best = run.summary.find(({ level }) => level === run.best);
  const tracked = run.summary.filter(({ tracking }) => tracking[0] !== null);
  const worst = tracked.reduce((most, row) => (row.tracking[0] > (most?.tracking[0] ?? -1) ? row : most), null);
  const alone = run.summary.length === 1 ? run.summary[0] : null;
  const short = (values) => interval(values, decimalsOf([values], 4)); // a tile is narrow
  const facts = [
    best && ["best level", levelLabel(best.level), `reward ${short(best.reward)}`],
    alone && ["reward per step", short(alone.reward), `at ${levelLabel(alone.level)}`],
    worst && [alone ? "tracking error" : "largest tracking error", percent(worst.tracking[0]),
      `at ${levelLabel(worst.level)}`],
    ["members", String(run.members), `${plural(run.summary.length, "level")} × ${plural(run.seeds, sample)}`],
    ["frames per member", frames(run.progress.frames), run.took],
  ];
  return facts.filter(Boolean).map(([name, value, note]) => element("div", { class: "tile" },
    element("span", { class: "tile-name" }, name), element("strong", {}, value),
    element("span", { class: "muted" }, note)));
}

/** The table's numbers, unrounded. */
function tableRows({ runs, metric, grouping, columns }) {
  const ends = (name) => [name, `${name} low`, `${name} high`];
  const head = ["run", "level", `${grouping.sample}s`, "diverged", ...ends(`reward per step${grouping.of}`),
    ...ends(`measured ${metric}${grouping.of}`), ...ends(`tracking error${grouping.of}`),
    ...columns.flatMap(({ title }) => ends(title))];
  return [head, ...runs.flatMap((run) => run.summary.map((row) =>
    [run.name, row.level, row.seeds, row.diverged, ...row.reward, ...row.diversity, ...row.tracking,
      ...columns.flatMap(({ key }) => row.more[key] ?? UNKNOWN)]))];
}

function table(report) {
  const rows = report.runs.flatMap((run, index) => run.summary.map((row) => ({ run, index, row })));
  const columns = columnsOf(report, rows.map(({ row }) => row));
  const several = comparing(report);
  const names = [...(several ? ["run"] : []), report.grouping.title];
  const head = element("tr", {}, names.map((name) => element("th", { scope: "col" }, name)),
    columns.map(({ name }) => element("th", { scope: "col", class: "number" }, glossed(name, 1))));
  const body = rows.map(({ run, index, row }) => {
    const { colour } = report.levels.find(({ text }) => text === row.level);
    const best = run.best === row.level;
    const pill = best ? element("span", { class: "pill" }, "best") : null;
    return element("tr", { class: best ? "best" : null, "data-level": row.level },
      several ? element("td", { "data-label": "run" }, runMark(report, index), run.name) : null,
      element("th", { scope: "row" }, levelMark(report, row.level, colour), levelUnder(report, row.level), pill),
      columns.map(({ name, show }) => element("td", { class: "number", "data-label": name }, show(row))));
  });
  const look = columns.length > WIDE ? "summary wide" : "summary";
  return element("table", { class: look }, element("thead", {}, head), element("tbody", {}, body));
}

/** The columns of numbers, each to as many decimals in all rows. */
function columnsOf({ metric, grouping, columns }, rows) {
  const aligned = (of, percent) => {
    const decimals = (percent ? percentDecimals : decimalsOf)(rows.map(of));
    return (row) => (percent ? percentInterval : interval)(of(row), decimals);
  };
  const more = columns.map(({ key, title, percent }) =>
    ({ name: title, show: aligned((row) => row.more[key] ?? UNKNOWN, percent) }));
  const diversities = more.filter((_, k) => columns[k].key.startsWith("snd_"));
  const shown = [
    { name: `${grouping.sample}s`, show: ({ seeds }) => String(seeds) },
    { name: `reward per step${grouping.of}`, show: aligned(({ reward }) => reward) },
    { name: `measured ${metric}${grouping.of}`, show: aligned(({ diversity }) => diversity) },
    ...diversities,
    { name: `tracking error${grouping.of}`, show: aligned(({ tracking }) => tracking, true) },
    ...more.filter((each) => !diversities.includes(each)),
  ];
  const diverged = { name: "diverged", show: (row) => String(row.diverged) };
  return rows.some((row) => row.diverged) ? [...shown, diverged] : shown;
}
