/** Which levels and runs are shown; every chart listens. */

import { element, svg, swatch } from "./dom.js";
import { levelLabel, levelName } from "./format.js";

/** How the lines of the first, second, ... run are broken, and what marks their points. */
export const DASHES = ["", "2 3", "10 3 2 3", "14 4", "6 2 2 2 2 2", "1 5"];
export const MARKS = ["●", "■", "▲", "◆", "▼", "✚"];

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
    chip(`level ${text}`, swatch(colour), levelLabel(text),
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

/** How a run is drawn: the mark of its points on the pattern of its lines. */
export function runMark(index) {
  const mark = element("span", {}, MARKS[index % MARKS.length]);
  return element("span", { class: "run-mark", "aria-hidden": "true" }, runLine(index, "currentColor"), mark);
}

/** A short piece of a run's lines. */
export function runLine(index, colour) {
  const look = { stroke: colour, "stroke-dasharray": DASHES[index % DASHES.length] };
  const line = svg("line", { x1: 1, x2: 39, y1: 5, y2: 5, ...look });
  return svg("svg", { class: "run-line", viewBox: "0 0 40 10", width: 40, height: 10, "aria-hidden": "true" }, line);
}
