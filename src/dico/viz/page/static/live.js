/** The live part: the trained networks answer while you move things and the desired diversity, one member or two. */

import { choicesOf } from "./choice.js";
import { chooser, element, section, tickBox } from "./dom.js";
import { Engine } from "./engine.js";
import { levelLabel, number } from "./format.js";
import { colourBar, colourScale } from "./heat.js";
import { Random } from "./random.js";
import { Side } from "./side.js";
import { TASKS } from "./tasks.js";

const STEP_MS = 100;
const OPENING_MS = 900; // after the live part is first seen, it moves once by itself
const LEAD = "These are the trained networks, answering here. Drag anything on the stage (or focus it and use the "
  + "arrow keys), and move the desired diversity.";
const FINE = 1e-4; // outputs that are right to this are not worth a word
const SIGNS = "Black arrows: mean actions. Lines: where the agents go from here. Pale, with a white mark: an agent "
  + "that left the stage, in that direction.";

export function live(report) {
  const runs = report.runs.filter((run) => run.live?.networks.length);
  if (!runs.length) return section("live", "Try it", report.missing.live);
  return section("live", "Try it", LEAD, new Bench(report, runs).node);
}

/** Whose networks are not in the page, to keep it small. */
function leftOut(runs) {
  return runs.filter(({ live }) => live.absent.length).map(({ live }) => {
    const there = new Set(live.networks.map(({ level }) => level));
    const gone = [...new Set(live.absent.map(({ level }) => level))].filter((level) => !there.has(level));
    const named = gone.length ? `; none of ${gone.map(levelLabel).join(", ")}` : "";
    const all = live.networks.length + live.absent.length;
    const rough = live.tolerance > FINE ? `, rounded so that outputs are right to ${number(live.tolerance)}` : "";
    const some = `${live.networks.length} of ${all} members`;
    return `To keep this page small, it has the networks of ${some}${named}${rough}. `;
  }).join("");
}

class Bench {
  constructor(report, runs) {
    Object.assign(this, { report, runs, timer: null, seer: 0, options: { arrows: false, map: true }, sides: [] });
    this.live = runs[0].live;
    this.task = TASKS[this.live.task];
    this.seer = this.live.groups[this.live.controlled].agents[0];
    this.engine = new Engine();
    this.choices = choicesOf(report);
    this.colour = colourScale(report.scale);
    this.bar = colourBar(`SND at a place, ${runs[0].means}`, this.colour, 1);
    this.stages = element("div", { class: "sides" });
    this.slices = element("div", { class: "slices" }); // below what belongs to the stages, for they are long
    const hint = element("p", { class: "hint" }, `${this.task.hint} ${SIGNS} ${leftOut(runs)}${report.taken}`);
    this.node = element("div", { class: "bench" }, this.controls(), this.stages, this.settings(), hint, this.slices);
    this.addSide(this.opening);
    this.begin(this.live.start);
    this.moveOnce();
    const { run, networks } = this.choices[this.opening];
    whenIdle(networks.map((network) => () => this.sides[0].loader.team(run, network)));
  }

  /** All levels of a seed, or the level told best, or the first whose agents differ: its map has most to show. */
  get opening() {
    const best = this.choices.findIndex(({ run, networks }) => run.best === networks[0].level);
    const several = this.choices.findIndex(({ networks, dial }) => dial || networks.length > 1);
    const diverse = this.choices.findIndex(({ run, networks }) =>
      run.summary.find(({ level }) => level === networks[0].level)?.place > 0);
    return [several, best, diverse].find((index) => index >= 0) ?? 0;
  }

  controls() {
    const button = (text, onclick, look = "") => element("button", { type: "button", class: look, onclick }, text);
    this.run = button("Let them run", () => this.toggle(), "primary");
    this.start = element("input", {
      type: "number", min: "0", max: "999999", step: "1", class: "start", onchange: () => this.begin(this.start.value),
    });
    const start = element("label", { class: "control" }, element("span", {}, "start"), this.start);
    const two = tickBox("two members in step", false, (shown) => this.compare(shown));
    return element("div", { class: "bench-controls" },
      element("div", { class: "row" }, this.run,
        button("Another start", () => this.begin(this.start.valueAsNumber + 1)), start,
        button("Back to the start", () => this.begin(this.start.value)), two));
  }

  /** What is shown on the stages. */
  settings() {
    const { agents, name } = this.live.groups[this.live.controlled];
    const role = this.live.groups.length > 1 ? name : "agent";
    const seen = this.task.perAgent
      ? chooser("seen by", agents.map((agent, k) => [String(agent), `${role} ${k}`]), String(this.seer), (agent) => {
        this.seer = Number(agent);
        this.settle();
      }) : null;
    return element("div", { class: "bench-controls" },
      element("div", { class: "row" }, this.option("map", "map: SND where an agent could stand"),
        this.option("arrows", "arrows: what each agent would do at each place"), seen, this.bar.node));
  }

  option(name, label) {
    return tickBox(label, this.options[name], (shown) => {
      this.options[name] = shown;
      this.settle();
      this.sides.forEach((side) => side.paint());
    });
  }

  addSide(choice) {
    const side = new Side(this, choice);
    this.sides.push(side);
    this.stages.append(side.node);
    this.slices.append(side.slice.node);
  }

  /** A second member beside the first one, or not: from the same start, and moved together. */
  compare(shown) {
    this.stop();
    this.sides.splice(1).forEach(({ node, slice }) => [node, slice.node].forEach((part) => part.remove()));
    [this.stages, this.slices].forEach((part) => part.classList.toggle("two", shown));
    if (shown) this.addSide(this.opposite());
    this.begin(this.start.value);
  }

  /** The least diverse member that is not the one on the stage. */
  opposite() {
    const now = this.sides[0].network;
    return Math.max(this.choices.findIndex(({ networks }) => networks.length === 1 && networks[0] !== now), 0);
  }

  /** Everything where it is at a start, whose number is the seed of the episode. */
  begin(start) {
    this.stop();
    const seed = Math.min(Math.max(Math.floor(Number(start)) || 0, 0), 999999);
    this.start.value = String(seed);
    this.sides.forEach((side) => side.begin(this.task.reset(new Random(seed), this.live.settings)));
  }

  moveTo(role, index, place) {
    this.touched = true;
    this.sides.forEach((side) => side.drag(role, index, place));
  }

  /** What was moved stays where it is: now the fine map. */
  settle() {
    this.sides.forEach((side) => side.refresh());
  }

  toggle() {
    this.touched = true;
    if (this.timer !== null) {
      this.stop();
      return;
    }
    if (this.sides.every(({ done }) => done)) this.begin(this.start.value);
    let steps = 0;
    this.run.textContent = "Stop";
    this.timer = setInterval(() => {
      this.sides.forEach((side) => side.advance());
      steps += 1;
      if (steps >= this.live.settings.horizon || this.sides.every(({ done }) => done)) this.stop();
    }, STEP_MS);
  }

  stop() {
    if (this.timer !== null) {
      clearInterval(this.timer);
      this.timer = null;
      this.settle();
    }
    this.run.textContent = "Let them run";
  }

  /** Once it is seen, unless the reader wants no motion or was quicker. */
  moveOnce() {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const watch = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      watch.disconnect();
      setTimeout(() => this.touched || this.toggle(), OPENING_MS);
    }, { threshold: 0.5 });
    watch.observe(this.stages);
  }

  /** The diversity of the brightest colour, the same on both stages: that of the recorded maps, if it is enough. */
  most() {
    const recorded = this.runs.map(({ maps }) => (maps?.scene ? maps.most : 0));
    return Math.max(...recorded, ...this.sides.map(({ map }) => map.field?.most ?? 0));
  }

  label() {
    this.bar.label(this.most());
  }
}

/** Does some things one by one, whenever there is nothing else to do. */
function whenIdle([first, ...others]) {
  if (!first) return;
  const later = window.requestIdleCallback ?? setTimeout;
  later(() => {
    first();
    whenIdle(others);
  });
}
