/** One member on its stage: its networks, the desired diversity, the map around it and the numbers beside it. */

import { chooser, element, redraw } from "./dom.js";
import { Latest } from "./engine.js";
import { MISSING, number } from "./format.js";
import { glossed } from "./glossary.js";
import { grid, LiveMap } from "./livemap.js";
import { Loader } from "./loader.js";
import { Slice } from "./slice.js";
import { Slider } from "./slider.js";
import { Stage } from "./stage.js";

const AHEAD = 100; // steps that are drawn before the agents
const ARROWS = 11; // along each side of the map

export class Side {
  /** `bench` has the engine, the options and the choices; `moved(role, index, place)` tells it what was dragged. */
  constructor(bench, opening) {
    Object.assign(this, { bench, paths: [], arrows: [], actions: [], state: null });
    const { engine, report, live } = bench;
    this.loader = new Loader(engine);
    this.map = new LiveMap(engine, () => this.paint());
    this.slice = new Slice(engine, live.groups[live.controlled], bench.colour, bench.task.perAgent,
      bench.choices[opening].run.means);
    this.aheads = new Latest((asked) => engine.ask({ job: "ahead", steps: AHEAD, ...asked }));
    this.fan = new Latest(({ key, obs, desired }) =>
      engine.ask({ job: "terms", key, obs, rows: ARROWS ** 2, desired }));
    this.stage = new Stage({
      moveTo: (role, index, place) => bench.moveTo(role, index, place),
      settle: () => bench.settle(),
    });
    this.slider = new Slider(report.metric, (value) => this.desire(value));
    this.readings = {
      map: new Reading("SND over this map"), here: new Reading("SND where the agents are"),
      scale: new Reading("scale of the deviations"), earned: new Reading("reward so far"),
    };
    const readings = element("dl", { class: "readings" }, Object.values(this.readings).map(({ node }) => node));
    const names = bench.choices.map(({ name }, index) => [String(index), name]);
    const picker = chooser("trained for", names, String(opening), (index) => this.choose(bench.choices[Number(index)]));
    const panel = element("div", { class: "bench-panel" }, picker, this.slider.node, readings);
    this.node = element("div", { class: "side" }, this.stage.node, panel);
    redraw(this.stage.node, () => {
      this.stage.resize(live.extent, live.looks);
      this.paint();
      this.draw();
    });
    this.choose(bench.choices[opening]);
  }

  /** Takes other networks, and the desired diversity that they were trained for: of several the one that was, or the
   * one told best, or the middle one. */
  choose(family) {
    this.family = family;
    const { best, summary, box } = family.run;
    const { policy } = this.loader.team(family.run, family.networks[0]);
    const levels = family.trained((network) => this.loader.team(family.run, network).policy);
    const told = summary.find(({ level }) => level === best)?.place;
    const favourite = levels.includes(told) ? told : middleOf(levels, box);
    const several = levels.length > 1;
    const start = several ? (levels.includes(this.desired) ? this.desired : favourite) : policy.trained;
    this.slider.setUp(family.reach, levels);
    this.desire(start);
  }

  /** Another desired diversity: with the networks that stay, only the scale changes. */
  desire(value) {
    const network = this.family.networks.length > 1 ? this.family.nearest(value) : this.family.networks[0];
    const other = network !== this.network || this.family.dial !== null;
    this.network = network;
    this.team = this.loader.team(this.family.run, network);
    this.key = this.loader.key(network);
    this.desired = value;
    const trained = this.family.dial ? nearestOf(this.family.dial.levels, value) : this.team.policy.trained;
    this.slider.show(value, trained, this.family.describe(value, this.team.policy, network, this.bench.report.metric));
    if (!this.state) return;
    if (!other) this.map.rescale(value);
    this.refresh({ map: other });
  }

  begin(state) {
    Object.assign(this, { state, steps: 0, earned: 0, done: false, paths: [] });
    this.refresh({ map: true });
  }

  drag(role, index, place) {
    const { task, settings } = this.team;
    const before = this.state;
    this.state = task.drag(before, role, index, place, settings);
    this.done = false;
    this.refresh({ map: !task.sameMap?.(before, this.state), settled: false });
  }

  /** One step of the task. */
  advance() {
    if (this.done) return;
    const before = this.state;
    const { state, reward, done } = this.team.step(before, this.desired);
    Object.assign(this, { state, done, steps: this.steps + 1, earned: this.earned + reward });
    this.refresh({ map: !this.team.task.sameMap?.(before, state), settled: false });
  }

  /** All that follows from the state and the networks: at once what is quick, and soon what takes longer. */
  refresh({ map = true, settled = true } = {}) {
    const { key, state, desired, team } = this;
    Object.assign(this, team.survey(state, desired));
    this.draw();
    this.aheads.want({ key, state, desired }, (paths) => {
      this.paths = paths;
      this.draw();
    });
    const { policy } = team;
    const common = { key, policy, desired, settled };
    if (map) this.map.compute({ ...common, extent: this.bench.live.extent, observe: (points) => this.seen(points) });
    this.slice.update({ ...common, row: this.seen([state.position[this.bench.seer]]) });
    if (this.bench.options.arrows) this.fanOut();
    else this.arrows = [];
  }

  /** What the agent that is asked about would see at each of some points. */
  seen(points) {
    return this.team.task.seenAt(this.state, this.bench.seer, points, this.team.settings);
  }

  /** What each agent would do at places of the map. */
  fanOut() {
    const { key, desired, team: { policy, group } } = this;
    const points = grid(this.bench.live.extent, ARROWS);
    this.fan.want({ key, obs: this.seen(points), desired }, (terms) => {
      const params = policy.scaled(terms, desired);
      this.arrows = points.flatMap(([x, y], row) => group.agents.map((agent, k) => {
        const first = (row * policy.agents + k) * policy.width;
        return { x, y, agent, action: policy.inBox(params.subarray(first, first + policy.width)) };
      }));
      this.draw();
    });
  }

  /** The map. Its colours are those of the recorded maps, unless there is more diversity than they have. */
  paint() {
    if (!this.state) return;
    const { field } = this.map;
    const { options, colour } = this.bench;
    const { cells } = this.layout();
    this.stage.paint(options.map ? field : null, this.bench.most(), colour, cells);
    this.bench.label();
    this.read();
  }

  layout() {
    return this.team.task.layout(this.state, this.team.settings);
  }

  /** What stands on the map, and the numbers beside it. */
  draw() {
    if (!this.state) return;
    const { paths, actions, arrows } = this;
    const layout = this.layout();
    this.stage.show({ layout, paths, actions, arrows });
    if (layout.cells) this.paint();
    else this.read();
  }

  read() {
    const { team: { policy }, desired, bench: { report } } = this;
    const ratio = `${number(desired)} / ${number(policy.estimateAt(desired))}`;
    const quotient = policy.degree === 1 ? ratio : `(${ratio}) to the power 1/${policy.degree}`;
    const over = this.done ? ", done" : "";
    const { map: { field }, snd, executed, earned, steps } = this;
    const beside = (value) => `${this.family.run.means}; of executed actions: ${number(value)}`;
    this.readings.map.tell(field ? number(field.mean) : MISSING, field ? `mean over all places shown, `
      + `${beside(field.executed)}. Equal to the desired value only where the agents were trained to be` : "");
    this.readings.here.tell(number(snd), `mean over what each of them sees now, ${beside(executed)}`);
    this.readings.scale.tell(number(policy.scale(desired)),
      `desired ${quotient}, the ${report.metric} of the unscaled deviations as estimated in training`);
    this.readings.earned.tell(number(earned), `in ${steps} steps${over}`);
  }
}

/** The middle one of the diversities that fit the action box. */
function middleOf(levels, box) {
  const within = levels.filter((level) => box === null || level <= box);
  return within.length ? within[Math.floor(within.length / 2)] : levels[0];
}

function nearestOf(values, wanted) {
  return values.reduce((best, value) => (Math.abs(value - wanted) < Math.abs(best - wanted) ? value : best));
}

/** A number with its name, and what it is; only what changes is written again, so that words stay under the pointer. */
class Reading {
  constructor(name, about = "") {
    this.value = element("strong");
    this.about = element("small", {}, about);
    const details = element("dd", {}, this.value, this.about);
    this.node = element("div", { "data-reading": name }, element("dt", {}, glossed(name, 1)), details);
  }

  tell(value, about = null) {
    if (this.value.textContent !== value) this.value.textContent = value;
    if (about !== null && this.about.textContent !== about) this.about.textContent = about;
  }
}
