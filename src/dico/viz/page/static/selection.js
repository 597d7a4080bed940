/** Which levels and runs are shown; every chart listens. */

import { element, svg, swatch } from "./dom.js";
import { levelName, levelUnder } from "./format.js";

/** How the lines of levels are broken where colours are those of runs, and what marks the points of each run. */
const DASHES = ["", "2 3", "10 3 2 3", "14 4", "6 2 2 2 2 2", "1 5", "6 6", "2 2 2 8", "14 3 5 3", "5 2 5 9"];
const MANY = 6; // from more levels on, lines have patterns besides colours
const PATTERNS = ["", "7 3", "2 3"];
export const MARKS = ["●", "■", "▲", "◆", "▼", "✚"];

/** Whether runs are compared: then colours are theirs, and not those of the levels. */
export function comparing({ runs }) {
  return runs.length > 1;
}

/** How a line is broken: by its level, where runs have the colours or levels are many. */
export function dashesOf(report, level) {
  const patterns = comparing(report) ? DASHES : manyLevels(report) ? PATTERNS : [""];
  return patterns[report.levels.findIndex(({ text }) => text === level) % patterns.length];
}

/** The colour of what is of a run and a level. */
export function colourOf(report, run, level) {
  return comparing(report) ? report.runs[run].colour : report.levels.find(({ text }) => text === level).colour;
}

export function manyLevels({ levels }) {
  return levels.length > MANY;
}

/** Makes the colours of levels and runs those of the theme: a little lighter on a dark page. */
export function paintColours(report) {
  const rules = ["levels", "runs"].flatMap((name) => report[name].map((each, index) => {
    const { colour } = each;
    each.colour = `var(--${name}-${index})`;
    return `--${name}-${index}: color-mix(in oklab, ${colour} var(--keep), white);`;
  }));
  document.head.append(element("style", {}, `:root { ${rules.join(" ")} }`));
}

export class Selection extends EventTarget {
  /** `seeds` is whether each of them is drawn, as they are where they are too few for an interval. */
  constructor(seeds) {
    super();
    this.hidden = new Set();
    this.seeds = seeds;
  }

  shows(run, level) {
    return !this.hidden.has(`run ${run}`) && !this.hidden.has(`level ${level}`);
  }

  toggle(key) {
    if (!this.hidden.delete(key)) this.hidden.add(key);
    this.dispatchEvent(new Event("change"));
  }

  showSeeds(shown) {
    this.seeds = shown;
    this.dispatchEvent(new Event("change"));
  }
}

/** The legend: a button for each level, and for each run where there are several. */
export function legend(report, selection) {
  const { title } = report.grouping;
  const chip = (key, mark, text, title) => {
    const button = element("button", {
      type: "button", class: "chip", "aria-pressed": "true", title, "data-key": key,
      onclick: () => {
        selection.toggle(key);
        button.setAttribute("aria-pressed", String(!selection.hidden.has(key)));
      },
    }, mark, text);
    return button;
  };
  const levels = report.levels.map(({ text, colour }) =>
    chip(`level ${text}`, levelMark(report, text, colour), levelUnder(report, text),
      `Show or hide the members with ${levelName(report, text)}`));
  const repeated = comparing(report) && levels.length > DASHES.length
    ? element("small", { class: "chips-name" },
      `Line patterns repeat after ${DASHES.length} levels: hide some to tell the others apart.`) : null;
  const groups = [element("div", { class: "chips", role: "group", "aria-label": "Levels shown" },
    element("span", { class: "chips-name" }, title[0].toUpperCase() + title.slice(1)), levels, repeated)];
  if (comparing(report)) {
    const runs = report.runs.map(({ name }, index) =>
      chip(`run ${index}`, runMark(report, index), name, `Show or hide the run ${name}`));
    groups.push(element("div", { class: "chips", role: "group", "aria-label": "Runs shown" },
      element("span", { class: "chips-name" }, "Run"), runs));
  }
  return groups;
}

/** How a level is drawn: its colour, and where levels are many or runs compared the pattern of its lines. */
export function levelMark(report, level, colour = "currentColor") {
  const plain = !comparing(report) && !manyLevels(report);
  return plain ? swatch(colour) : shortLine(comparing(report) ? "currentColor" : colour, dashesOf(report, level), 34);
}

/** How a run is drawn: the mark of its points, in its colour. */
export function runMark(report, index) {
  const look = { class: "run-mark", "aria-hidden": "true", style: `color:${report.runs[index].colour}` };
  return element("span", look, MARKS[index % MARKS.length]);
}

/** A short piece of the lines of a run and a level. */
export function lineMark(report, run, level) {
  return shortLine(colourOf(report, run, level), dashesOf(report, level), 34);
}

function shortLine(colour, dashes, width) {
  const line = svg("line", { x1: 1, x2: width - 1, y1: 5, y2: 5, stroke: colour, "stroke-dasharray": dashes });
  const size = { viewBox: `0 0 ${width} 10`, width, height: 10 };
  return svg("svg", { class: "run-line", ...size, "aria-hidden": "true" }, line);
}
