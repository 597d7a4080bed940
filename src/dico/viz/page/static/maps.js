/** Diversity maps: how far apart the agents' actions are at every place, a panel for each level. */

import { quantised } from "./decode.js";
import { chooser, element, redraw, sceneKey, section, sharp, swatch } from "./dom.js";
import { levelLabel, levelName, number } from "./format.js";
import { colourBar, colourScale, paintField } from "./heat.js";
import { Episode, placeOf, viewOf } from "./scene.js";
import { pointing } from "./tip.js";

const TITLE = "Diversity maps";
const LEAD = "How far apart the agents' policies are at every place where an agent could stand: brighter is more "
  + "different. The same start and the same colours for all levels; point at a map to read a value.";
const UNSCALED = "Under analytical control this is f, which a density places over the box of observations. Below: the "
  + "SND of the same agents' deviations before they are scaled to f, each map from 0 to its own greatest value.";

export function maps(report, selection) {
  const runs = report.runs.map((run, index) => ({ ...run, index })).filter(({ maps }) => maps);
  if (!runs.length) return section("maps", TITLE, report.missing.maps);
  const colour = colourScale(report.scale);
  const bar = colourBar("SND at a place", colour, runs[0].maps.most);
  const grid = element("div", { class: "maps" });
  const about = element("p", { class: "hint" });
  const below = element("div", { class: "maps", "data-maps": "unscaled" });
  let redraws = [];
  const show = (index) => {
    const run = runs.find((each) => each.index === Number(index));
    bar.label(run.maps.most);
    const draw = (panel, most) => mapPanel(report, run, panel, most, colour, selection);
    const panels = run.maps.panels.map((panel) => draw(panel, run.maps.most));
    const unscaled = run.maps.unscaled.map((panel) => draw(panel, panel.most));
    redraws = [...panels, ...unscaled].map(({ update }) => update);
    grid.replaceChildren(...panels.map(({ node }) => node));
    below.replaceChildren(...unscaled.map(({ node }) => node));
    about.textContent = unscaled.length ? UNSCALED : "";
    about.hidden = below.hidden = !unscaled.length;
  };
  show(runs[0].index);
  selection.addEventListener("change", () => redraws.forEach((update) => update()));
  const choice = runs.length > 1
    ? [chooser("run", runs.map(({ index, name }) => [String(index), name]), String(runs[0].index), show)] : [];
  return section("maps", TITLE, `${LEAD} ${report.taken}`, element("div", { class: "row" }, choice, bar.node), grid,
    about, below, sceneKey(runs[0].maps.key));
}

function mapPanel(report, run, panel, most, colour, selection) {
  const field = fieldOf(panel, run.maps);
  const scene = new Episode(run.maps.scene);
  const mean = `mean ${number(field.mean)}`;
  const label = `Map for ${levelName(report, panel.level)}: ${mean}`;
  const canvas = element("canvas", { role: "img", "aria-label": label });
  const reading = element("span", { class: "muted" }, mean);
  const level = report.levels.find(({ text }) => text === panel.level);
  const node = element("figure", { class: "map", "data-level": panel.level },
    element("figcaption", {}, element("span", {}, swatch(level.colour), levelLabel(level.text)), reading), canvas);
  const draw = () => {
    const view = viewOf(run.maps.extent, canvas.clientWidth);
    canvas.style.height = `${view.height}px`;
    const under = (context) => paintMap(context, field, most, colour, view);
    scene.draw(sharp(canvas, view.width, view.height), view, 0, { trails: false, under });
  };
  pointing(canvas, (event) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const here = field.at((event.clientX - left) / width, 1 - (event.clientY - top) / height);
    reading.textContent = `here ${number(here)}`;
  }, () => (reading.textContent = mean));
  redraw(canvas, draw);
  const update = () => (node.hidden = !selection.shows(run.index, panel.level));
  update();
  return { node, update };
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
