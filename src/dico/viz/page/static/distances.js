/** Who differs from whom: the distance of every two agents' policies, at any time of the training. */

import { floats, quantised } from "./decode.js";
import { chooser, element, redraw, section, svg } from "./dom.js";
import { downloads } from "./download.js";
import { decimalsFor, frames, levelLabel, number } from "./format.js";
import { colourBar, colourScale } from "./heat.js";
import { levelMark } from "./selection.js";

const TITLE = "Who differs from whom";
const LEAD = "The behavioural distance of every two agents, mean over the batch and over seeds. Seeds number their "
  + "agents by chance: they are aligned first, so that agents that behave alike in the end have one number. Move the "
  + "slider to see it grow with the training.";
const NUMBERED = 6; // up to so many agents each distance is written out
const ROOM = 18; // for the agents' numbers, in a picture 200 wide

/** Null where no run has a team large enough. */
export function distances(report, selection) {
  const runs = report.runs.map((run, index) => ({ ...run, index })).filter((run) => run.distances);
  if (!runs.length) return null;
  const colour = colourScale(report.scale);
  const bar = colourBar("distance", colour, runs[0].distances.most);
  const grid = element("div", { class: "maps" });
  const when = element("output", { class: "clock" });
  const label = "Time of the training";
  const slider = element("input", { type: "range", min: "0", step: "1", class: "scrub", "aria-label": label });
  let run, panels, times;

  const show = () => {
    const moment = Number(slider.value);
    when.textContent = `${frames(times[moment])} frames`;
    panels.forEach((panel) => panel.draw(moment, selection.shows(run.index, panel.level)));
  };
  const choose = (index) => {
    run = runs.find((each) => each.index === Number(index));
    times = floats(run.distances.frames);
    bar.label(run.distances.most);
    panels = report.levels.filter(({ text }) => run.distances.levels[text])
      .map((level) => matrix(level, run.distances, colour, levelMark(report, level.text, level.colour)));
    grid.replaceChildren(...panels.map(({ node }) => node));
    slider.max = slider.value = String(times.length - 1);
    show();
  };
  choose(runs[0].index);
  slider.addEventListener("input", show);
  selection.addEventListener("change", show);
  redraw(grid, show);
  const choices = runs.map(({ index, name }) => [String(index), name]);
  const files = downloads(TITLE, {
    table: () => tableOf(runs),
    panels: () => ({
      items: panels.filter(({ node }) => !node.hidden).map(({ picture, level }) =>
        ({ node: picture, name: levelLabel(level) })),
      note: `Distances of every two agents after ${when.textContent}, colours from 0 to ${number(run.distances.most)}`,
    }),
  });
  const picker = runs.length > 1 ? chooser("run", choices, String(runs[0].index), choose) : null;
  return section("distances", TITLE, LEAD, element("div", { class: "row" }, picker, bar.node),
    grid, element("div", { class: "row controls" }, slider, when), files);
}

/** Every distance at every time. */
function tableOf(runs) {
  const rows = runs.flatMap(({ name, distances: { agents, frames: times, levels } }) =>
    Object.entries(levels).flatMap(([level, encoded]) => {
      const values = quantised(encoded);
      const pairs = Array.from({ length: agents }, (_, i) => i).flatMap((i) =>
        Array.from({ length: agents - i - 1 }, (_, k) => [i, i + k + 1]));
      return [...floats(times)].flatMap((time, moment) => pairs.map(([i, j], k) =>
        [name, level, time, i, j, values[moment * pairs.length + k].toPrecision(6)]));
    }));
  return [["run", "level", "frames", "agent", "other agent", "distance"], ...rows];
}

function matrix({ text }, { agents, most, levels }, colour, mark) {
  const values = quantised(levels[text]); // (moments, pairs), pairs in the order of the upper triangle
  const pairs = (agents * (agents - 1)) / 2;
  const whole = 200 + ROOM;
  const size = { width: whole, height: whole, viewBox: `0 0 ${whole} ${whole}` };
  const picture = svg("svg", { ...size, class: "matrix", role: "img" });
  const caption = element("figcaption", {}, element("span", {}, mark, levelLabel(text)));
  const node = element("figure", { class: "map", "data-level": text }, caption, picture);
  const decimals = Math.min(decimalsFor([most], 4), 3);
  const pairOf = (i, j) => i * agents - (i * (i + 1)) / 2 + j - i - 1;
  const draw = (moment, visible) => {
    node.hidden = !visible;
    const at = (i, j) => (i === j ? 0 : values[moment * pairs + pairOf(Math.min(i, j), Math.max(i, j))]);
    const side = 200 / agents;
    const cells = [];
    for (let i = 0; i < agents; i++) {
      const along = ROOM + (i + 0.5) * side;
      cells.push(label(ROOM / 2, along, i, "tick-label"), label(along, ROOM / 2, i, "tick-label"));
      for (let j = 0; j < agents; j++) cells.push(...cell(ROOM + j * side, ROOM + i * side, side, at(i, j)));
    }
    picture.replaceChildren(...cells);
    picture.setAttribute("aria-label", `Distances between ${agents} agents for ${levelLabel(text)}`);
  };
  const cell = (x, y, side, value) => {
    const share = most > 0 ? value / most : 0;
    const square = svg("rect", { x, y, width: side, height: side, fill: `rgb(${colour(share)})` });
    if (agents > NUMBERED) return [square];
    const text = value === 0 ? "0" : value.toFixed(decimals);
    return [square, label(x + side / 2, y + side / 2, text, share > 0.6 ? "on-light" : "on-dark")];
  };
  return { node, picture, draw, level: text };
}

function label(x, y, text, name) {
  return svg("text", { x, y, class: name, "text-anchor": "middle", "dominant-baseline": "central" }, String(text));
}
