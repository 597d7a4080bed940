/** Which levels and runs are shown; every chart listens. */

import { element, svg, swatch } from "./dom.js";
import { levelLabel, levelName } from "./format.js";

/** How the lines of the first, second, ... run are broken, and what marks their points. */
export const DASHES = ["", "2 3", "10 3 2 3", "14 4", "6 2 2 2 2 2", "1 5"];
const MANY = 6; // from more levels on, lines have patterns besides colours
const PATTERNS = ["", "7 3", "2 3"];
export const MARKS = ["●", "■", "▲", "◆", "▼", "✚"];

/** How a line is broken: by its run where there are several, else by its level where those are many. */
export function dashesOf(report, run, level) {
  if (report.runs.length > 1) return DASHES[run % DASHES.length];
  if (!manyLevels(report)) return "";
  return PATTERNS[report.levels.findIndex(({ text }) => text === level) % PATTERNS.length];
}

export function manyLevels({ levels }) {
  return levels.length > MANY;
}

/** Makes the colours of the levels those of the theme: a little lighter on a dark page. */
export function paintLevels(report) {
  const rules = report.levels.map(({ colour }, index) =>
    `--level-${index}: color-mix(in oklab, ${colour} var(--keep), white);`);
  document.head.append(element("style", {}, `:root { ${rules.join(" ")} }`));
  report.levels.forEach((level, index) => (level.colour = `var(--level-${index})`));
}

export class Selection extends EventTarget {
  constructor() {
    super();
    this.hidden = new Set();
    this.seeds = false;
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
    chip(`level ${text}`, levelMark(report, text, colour), levelLabel(text),
      `Show or hide the members with ${levelName(report, text)}`));
  const groups = [element("div", { class: "chips", role: "group", "aria-label": "Levels shown" },
    element("span", { class: "chips-name" }, title[0].toUpperCase() + title.slice(1)), levels)];
  if (report.runs.length > 1) {
    const runs = report.runs.map(({ name }, index) =>
      chip(`run ${index}`, runMark(index), name, `Show or hide the run ${name}`));
    groups.push(element("div", { class: "chips", role: "group", "aria-label": "Runs shown" },
      element("span", { class: "chips-name" }, "Run"), runs));
  }
  return groups;
}

/** How a level is drawn: its colour, and where levels are many the pattern of its lines too. */
export function levelMark(report, level, colour) {
  if (report.runs.length > 1 || !manyLevels(report)) return swatch(colour);
  return shortLine(colour, dashesOf(report, 0, level), 28);
}

/** How a run is drawn: the mark of its points on the pattern of its lines. */
export function runMark(index) {
  const mark = element("span", {}, MARKS[index % MARKS.length]);
  return element("span", { class: "run-mark", "aria-hidden": "true" }, runLine(index, "currentColor"), mark);
}

/** A short piece of a run's lines. */
export function runLine(index, colour) {
  return shortLine(colour, DASHES[index % DASHES.length], 40);
}

function shortLine(colour, dashes, width) {
  const line = svg("line", { x1: 1, x2: width - 1, y1: 5, y2: 5, stroke: colour, "stroke-dasharray": dashes });
  const size = { viewBox: `0 0 ${width} 10`, width, height: 10 };
  return svg("svg", { class: "run-line", ...size, "aria-hidden": "true" }, line);
}
