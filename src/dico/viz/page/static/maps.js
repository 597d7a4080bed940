/** Diversity maps: how far apart the agents' actions are at every place, a panel for each level. */

import { floats, quantised } from "./decode.js";
import { element, redraw, sceneKey, section, sharp, swatch, tickBox } from "./dom.js";
import { downloads } from "./download.js";
import { levelLabel, levelName, number } from "./format.js";
import { colourBar, colourScale, paintField } from "./heat.js";
import { Episode, placeOf, squareView, viewOf } from "./scene.js";
import { comparing, runMark } from "./selection.js";
import { pointing } from "./tip.js";

const TITLE = "Diversity maps";
const LEAD = "How far apart the agents' policies are at every place where an agent could stand: brighter is more "
  + "different. The same start and the same colours for all levels; point at a map to read a value.";
const SLICES = "How far apart the agents' policies are over two numbers that an agent observes, where there is no "
  + "map over positions, for agents see more than where they are: brighter is more different. The same colours for "
  + "all levels; point at a map to read a value.";
const F = ["f", ", the SND of the policies under analytical control, which a density places over the box of "
  + "observations"];
const UNSCALED = ["SND\u2092", " of the same agents' deviations before they are scaled to f, each map from 0 to its "
  + "own greatest value"];

export function maps(report, selection) {
  const runs = report.runs.map((run, index) => ({ ...run, index })).filter(({ maps }) => maps);
  if (!runs.length) return section("maps", TITLE, report.missing.maps);
  const colour = colourScale(report.scale);
  const most = Math.max(...runs.map((run) => run.maps.most));
  const bar = colourBar(`SND at each ${runs[0].maps.scene ? "place" : "point"}, ${runs[0].means}`, colour, most);
  let own = false;
  const panels = [];
  const show = () => panels.forEach(({ update }) => update(own));
  const blocks = runs.map((run) => {
    const both = run.maps.unscaled.length > 0;
    const draw = (panel, common, what) => mapPanel(report, run, panel, common, colour, selection, what);
    const [scaled, unscaled] = [run.maps.panels.map((panel) => draw(panel, most, both ? F[0] : "")),
      run.maps.unscaled.map((panel) => draw(panel, null, UNSCALED[0]))];
    panels.push(...scaled, ...unscaled);
    const title = comparing(report)
      ? element("h3", { class: "run-title" }, runMark(report, run.index), run.name) : null;
    return [title, both ? rowTitle(...F) : null, element("div", { class: "maps" }, scaled.map(({ node }) => node)),
      both ? [
        rowTitle(...UNSCALED),
        element("div", { class: "maps", "data-maps": "unscaled" }, unscaled.map(({ node }) => node)),
      ] : null];
  });
  show();
  selection.addEventListener("change", show);
  const scale = tickBox("each map in its own colours", own, (chosen) => {
    own = chosen;
    bar.node.hidden = own;
    show();
  });
  const files = downloads(TITLE, {
    table: () => tableOf(runs),
    panels: () => ({
      items: panels.filter(({ node }) => !node.hidden).map(({ picture }) => picture()),
      note: [own ? "SND: each map in its own colours" : `SND ${runs[0].means}: colours from 0 to ${number(most)}`,
        ...(runs[0].maps.axes ?? []).map((name, k) => `${["across", "up"][k]}: ${name}`)].join("; "),
    }),
  });
  const lead = runs[0].maps.scene ? LEAD : `${SLICES} ${axesOf(runs[0].maps)}`;
  return section("maps", TITLE, `${lead} ${report.taken}`, element("div", { class: "row" }, scale, bar.node), blocks,
    sceneKey(runs[0].maps.key), files);
}

/** What the maps below show: its symbol, and what that is. */
function rowTitle(symbol, meaning) {
  return element("p", { class: "hint" }, element("strong", {}, symbol), meaning);
}

/** Each cell's middle and value. */
function tableOf(runs) {
  const [across, up] = runs[0].maps.axes ?? ["x", "y"];
  return [["run", "level", across, up, "SND"], ...runs.flatMap(({ name, maps: { panels, rows, columns, extent } }) => {
    const [left, right, bottom, top] = extent;
    return panels.flatMap(({ level, values }) => [...quantised(values)].map((value, k) => [
      name, level, (left + ((right - left) * ((k % columns) + 0.5)) / columns).toPrecision(6),
      (bottom + ((top - bottom) * (Math.floor(k / columns) + 0.5)) / rows).toPrecision(6), value.toPrecision(6),
    ]));
  })];
}

/** What a map over two observed numbers shows, in words. */
function axesOf({ axes: [across, up], extent, episodes }) {
  const [left, right, bottom, top] = extent.map((value) => number(value));
  return `Across: ${across}, from ${left} to ${right}. Up: ${up}, from ${bottom} to ${top}. All others are held at an `
    + `observation that occurred. Dots: what was seen in ${episodes} episodes.`;
}

/** The map of a level: in colours from 0 to `most`, or to its own greatest value if that is null or wanted. */
function mapPanel(report, run, panel, most, colour, selection, what) {
  const field = fieldOf(panel, run.maps);
  const scene = run.maps.scene && new Episode(run.maps.scene);
  const mean = `${what && `${what}: `}mean ${number(field.mean)}`;
  const label = `Map for ${levelName(report, panel.level)}: ${mean}`;
  const canvas = element("canvas", { role: "img", "aria-label": label });
  const reading = element("span", { class: "muted" });
  const level = report.levels.find(({ text }) => text === panel.level);
  const mark = comparing(report) ? null : swatch(level.colour);
  let [scale, alone] = [most ?? panel.most, most === null];
  const node = element("figure", { class: "map", "data-level": panel.level },
    element("figcaption", {}, element("span", {}, mark, levelLabel(level.text)), reading), canvas);
  const draw = () => {
    const view = (scene ? viewOf : squareView)(run.maps.extent, canvas.clientWidth);
    canvas.style.height = `${view.height}px`;
    const context = sharp(canvas, view.width, view.height);
    const under = () => paintMap(context, field, scale, colour, view);
    if (scene) {
      scene.draw(context, view, 0, { trails: false, under });
      return;
    }
    under();
    drawDots(context, floats(panel.dots ?? ""), view);
  };
  pointing(canvas, (event) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const here = field.at((event.clientX - left) / width, 1 - (event.clientY - top) / height);
    reading.textContent = `here ${number(here)}`;
  }, () => (reading.textContent = resting()));
  const resting = () => (alone ? `${mean}, from 0 to ${number(scale)}` : mean);
  reading.textContent = resting();
  redraw(canvas, draw);
  const update = (own) => {
    node.hidden = !selection.shows(run.index, panel.level);
    const before = alone;
    alone = own || most === null;
    if (alone === before) return;
    scale = alone ? panel.most : most;
    reading.textContent = resting();
    if (canvas.clientWidth) draw();
  };
  const whose = comparing(report) ? ` of ${run.name}` : "";
  const picture = () => ({ node: canvas, name: `${levelLabel(level.text)}${whose}: ${resting()}` });
  return { node, update, picture };
}

/** Pairs of numbers that were seen. */
function drawDots(context, seen, { toX, toY }) {
  context.fillStyle = "rgb(255 255 255 / 70%)";
  for (let k = 0; k < seen.length; k += 2) {
    context.beginPath();
    context.arc(toX(seen[k]), toY(seen[k + 1]), 1.3, 0, 2 * Math.PI);
    context.fill();
  }
}

/** A field of values in cells that tile the extent; `at` takes shares of its width and height. */
export function fieldOf({ values: encoded, mean }, { rows, columns, extent }) {
  const values = quantised(encoded);
  const cell = (share, count) => Math.min(Math.max(Math.floor(share * count), 0), count - 1);
  return { values, mean, rows, columns, extent, at: (x, y) => values[cell(y, rows) * columns + cell(x, columns)] };
}

export function paintMap(context, { values, rows, columns, extent }, most, colour, view) {
  paintField(context, values, rows, columns, most, colour, placeOf(extent, view));
}
