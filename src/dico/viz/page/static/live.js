/** The live part: the trained networks answer while you move goals, agents and the desired diversity. */

import { chooser, element, redraw, section, tickBox } from "./dom.js";
import { levelLabel, number } from "./format.js";
import { colourBar, colourScale } from "./heat.js";
import { LiveMap } from "./livemap.js";
import { ahead, arrived, observe, step } from "./navigation.js";
import { Policy } from "./networks.js";
import { Stage } from "./stage.js";

const STEPS = 100; // that the agents run, and that are drawn ahead of them
const STEP_MS = 100;
const ARROWS = 11; // along each side of the map
const MOVED = 0.005; // from here on a desired diversity counts as another one

const LEAD = "These are the trained networks, answering here. Drag a goal or an agent (or focus one and use the "
  + "arrow keys), and move the desired diversity away from what they were trained for.";
const HINT = "Discs: agents. Rings: their goals. Black arrows: mean actions. Lines: where the agents go from here.";

export function live(report) {
  const runs = report.runs.filter((run) => run.live?.networks.length);
  if (!runs.length) return section("live", "Try it", report.missing.live);
  const absent = runs.flatMap((run) => run.live.absent.map(levelLabel));
  const left = absent.length ? ` To keep this page small, the networks of ${absent.join(", ")} are not in it.` : "";
  const members = runs.flatMap((run) => run.live.networks.map((network) => ({ run, network })));
  return section("live", "Try it", `${LEAD}${left} ${report.taken}`, new Bench(report, members).node);
}

class Bench {
  constructor(report, members) {
    Object.assign(this, { report, members, arrows: false, timer: null });
    this.colour = colourScale(report.scale);
    this.map = new LiveMap(() => this.paint());
    this.stage = new Stage({
      moveTo: (kind, index, place) => this.moveTo(kind, index, place),
      settle: (kind) => kind === "goal" && this.computeMap(true),
    });
    const picture = element("div", {}, this.stage.node, element("p", { class: "hint" }, HINT));
    this.node = element("div", { class: "bench" }, picture, this.panel());
    this.choose(this.opening);
    redraw(this.stage.node, () => {
      this.stage.resize(this.setting.extent);
      this.paint();
    });
  }

  /** The best level first: its map has most to show. */
  get opening() {
    return Math.max(this.members.findIndex(({ run, network }) => run.best === network.level), 0);
  }

  /** One goal for each agent: it may be the same one. */
  get goalOfEach() {
    return this.agents.map((_, index) => this.goals[index % this.goals.length]);
  }

  panel() {
    const { metric, runs } = this.report;
    const choices = this.members.map(({ run, network: { level, seed } }, index) =>
      [String(index), `${levelLabel(level)} · seed ${seed}${runs.length > 1 ? ` · ${run.name}` : ""}`]);
    const picker = chooser("trained for", choices, String(this.opening), (index) => this.choose(Number(index)));
    this.slider = element("input", {
      type: "range", min: "0", step: "0.01", class: "desired-slider", "aria-label": `Desired ${metric}`,
      oninput: () => this.desire(Number(this.slider.value)),
    });
    this.value = element("output", { class: "big" });
    this.back = element("button", { type: "button", class: "quiet", onclick: () => this.desire(this.policy.trained) });
    this.tick = element("span", { class: "slider-tick", "aria-hidden": "true" });
    this.readings = element("dl", { class: "readings" });
    this.run = element("button", { type: "button", class: "primary", onclick: () => this.toggle() }, "Let them run");
    const reset = element("button", { type: "button", onclick: () => this.reset() }, "Back to the start");
    const arrows = tickBox("arrows: what each agent would do at each place", false, (shown) => {
      this.arrows = shown;
      this.draw();
    });
    this.bar = colourBar("SND at a place", this.colour, 1);
    const slider = element("div", { class: "slider" },
      element("div", { class: "slider-head" }, element("span", {}, `desired ${metric}`), this.value),
      element("div", { class: "slider-track" }, this.slider, this.tick), this.back);
    const buttons = element("div", { class: "row" }, this.run, reset);
    return element("div", { class: "bench-panel" }, picker, slider, this.readings, buttons, arrows, this.bar.node);
  }

  choose(index) {
    this.stop();
    const { run, network } = this.members[index];
    this.setting = run.live;
    this.recorded = run.maps.most;
    this.policy = network.policy ??= new Policy(network);
    this.slider.max = String(Math.floor(100 * network.reach) / 100);
    this.desired = this.policy.trained;
    if (this.agents?.length === this.setting.start.length) this.computeMap(true);
    else this.reset();
    this.desire(this.policy.trained);
  }

  reset() {
    this.stop();
    this.agents = this.setting.start.map((position) => ({ position: [...position], velocity: [0, 0] }));
    this.goals = this.setting.goals.map((goal) => [...goal]);
    this.computeMap(true);
  }

  moveTo(kind, index, place) {
    if (kind === "goal") {
      this.goals[index] = place;
      this.computeMap(false);
    } else {
      this.agents[index] = { position: place, velocity: [0, 0] };
      this.draw();
    }
  }

  desire(value) {
    this.desired = value;
    this.slider.value = String(value);
    this.map.rescale(value);
  }

  /** The map for the goals where they are: coarse at once, fine if they stay there. */
  computeMap(settled) {
    this.map.compute(this.policy, this.goalOfEach, this.setting.extent, this.desired, settled);
  }

  toggle() {
    if (this.timer !== null) {
      this.stop();
      return;
    }
    let steps = 0;
    this.run.textContent = "Stop";
    this.timer = setInterval(() => {
      this.agents = step(this.policy, this.agents, this.goalOfEach, this.desired);
      this.draw();
      steps += 1;
      if (steps >= STEPS || arrived(this.agents, this.goalOfEach)) this.stop();
    }, STEP_MS);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.run.textContent = "Let them run";
  }

  /** All of it: after a change of the map, the size or the theme. The colours are those of the recorded maps, unless
   * there is more diversity than they have. */
  paint() {
    const most = Math.max(this.recorded, this.map.field.most);
    this.bar.label(most);
    this.stage.paint(this.map.field, most, this.colour);
    this.draw();
  }

  /** What stands on the map, and the numbers beside it. */
  draw() {
    const { policy, agents, goals, goalOfEach, desired } = this;
    this.read();
    this.stage.show({
      agents, goals, goalOfEach, colours: this.setting.colours,
      actions: policy.act(observe(agents.map(({ position }) => position), goalOfEach), desired),
      paths: ahead(policy, agents, goalOfEach, desired, STEPS),
      arrows: this.arrows ? this.map.arrows(ARROWS) : [],
    });
  }

  read() {
    const { policy, desired } = this;
    const [wanted, trained] = [number(desired), number(policy.trained)];
    const ratio = `${wanted} / ${number(policy.estimate)}`;
    const quotient = policy.degree === 1 ? ratio : `(${ratio}) to the power 1/${policy.degree}`;
    const moved = Math.abs(desired - policy.trained) > MOVED;
    this.value.textContent = wanted;
    this.back.textContent = moved ? `back to the trained ${trained}` : `as trained: ${trained}`;
    this.back.disabled = !moved;
    this.tick.style.setProperty("--share", policy.trained / Number(this.slider.max));
    this.readings.replaceChildren(
      reading("SND over this map", number(this.map.field.mean),
        "mean over all places shown; equal to the desired value only where the agents were trained to be"),
      reading("scale of the deviations", number(policy.scale(desired)),
        `desired ${quotient}, the ${this.report.metric} of the unscaled deviations as estimated in training`),
    );
  }
}

function reading(name, value, about) {
  const details = element("dd", {}, element("strong", {}, value), element("small", {}, about));
  return element("div", { "data-reading": name }, element("dt", {}, name), details);
}
