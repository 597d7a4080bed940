/** What came out, in numbers. */

import { element, section } from "./dom.js";
import { decimalsFor, frames, interval, levelLabel, percent, percentInterval, plural } from "./format.js";
import { runMark } from "./selection.js";

export function heading(report) {
  const { runs } = report;
  const title = runs.length > 1 ? `${runs.length} runs compared` : runs[0].name;
  const badges = runs.filter(({ progress }) => progress.frames < progress.total).map(({ name, progress }) => {
    const whose = runs.length > 1 ? `${name} has ` : "";
    return element("p", { class: "badge" }, `Not finished: ${whose}${frames(progress.frames)} of ${frames(progress.total)} frames per member so far`);
  });
  return [element("h1", {}, title), element("p", { class: "facts" }, report.facts.join(" · ")), ...badges];
}

export function summary(report) {
  const several = report.runs.length > 1;
  const diverged = report.runs.some((run) => run.summary.some((row) => row.diverged));
  const rows = report.runs.flatMap((run) => run.summary);
  const decimals = Object.fromEntries(["reward", "diversity"].map((name) => [name, decimalsFor(rows.flatMap((row) => sizes(row[name])))]));
  const columns = [...(several ? ["run"] : []), `desired ${report.metric}`, "seeds", "reward per step", `measured ${report.metric}`, "tracking error", ...(diverged ? ["diverged"] : [])];
  const head = element("tr", {}, columns.map((name, index) => element("th", { scope: "col", class: index > several ? "number" : null }, name)));
  const body = report.runs.flatMap((run, index) => run.summary.map((row) => tableRow(report, run, index, row, { several, diverged, decimals })));
  const tiles = several ? [] : [element("div", { class: "tiles" }, facts(report, report.runs[0]).map(([name, value, note]) =>
    element("div", { class: "tile" }, element("span", { class: "tile-name" }, name), element("strong", {}, value), element("span", { class: "muted" }, note))))];
  const notes = report.notes.length ? [element("ul", { class: "notes" }, report.notes.map((note) => element("li", {}, note)))] : [];
  return section("summary", "Summary", report.statistic.table, ...tiles,
    element("div", { class: "scroll panel" }, element("table", { class: "summary" }, element("thead", {}, head), element("tbody", {}, body))), ...notes);
}

/** A centre and half its interval: what a column must have room for. */
function sizes([centre, low, high]) {
  return [centre, low === null ? null : (high - low) / 2];
}

function tableRow(report, run, index, row, { several, diverged, decimals }) {
  const { colour } = report.levels.find(({ text }) => text === row.level);
  const best = run.best === row.level;
  const swatch = element("span", { class: "swatch", style: `background:${colour}` });
  const name = element("th", { scope: "row" }, swatch, levelLabel(row.level), best ? element("span", { class: "pill" }, "best") : null);
  const cells = [["seeds", String(row.seeds)], ["reward per step", interval(row.reward, decimals.reward)],
    [`measured ${report.metric}`, interval(row.diversity, decimals.diversity)], ["tracking error", percentInterval(row.tracking)],
    ...(diverged ? [["diverged", String(row.diverged)]] : [])];
  return element("tr", { class: best ? "best" : null, "data-level": row.level },
    several ? element("td", { "data-label": "run" }, runMark(index), run.name) : null, name, cells.map(([label, text]) => element("td", { class: "number", "data-label": label }, text)));
}

function facts(report, run) {
  const best = run.summary.find(({ level }) => level === run.best);
  const errors = run.summary.map(({ tracking, level }) => ({ level, error: tracking[0] })).filter(({ error }) => error !== null);
  const worst = errors.reduce((most, each) => (most === null || each.error > most.error ? each : most), null);
  return [
    best && ["best level", levelLabel(best.level), `${interval(best.reward)} reward per step`],
    worst && ["largest tracking error", percent(worst.error), `at ${levelLabel(worst.level)}`],
    ["members", String(run.members), `${plural(run.summary.length, "level")} × ${plural(run.seeds, "seed")}`],
    ["frames per member", frames(run.progress.frames), run.took],
  ].filter(Boolean);
}
