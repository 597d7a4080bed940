/** The live part: the trained networks answer while you move goals, agents and the desired diversity. */

import { chooser, element, redraw, section, sharp, svg, tickBox } from "./dom.js";
import { levelLabel, number } from "./format.js";
import { colourBar, colourScale } from "./heat.js";
import { LiveMap } from "./livemap.js";
import { paintMap } from "./maps.js";
import { AGENT_RADIUS, GOAL_RADIUS, arrived, observe, step } from "./navigation.js";
import { Policy } from "./networks.js";
import { viewOf } from "./scene.js";

const AHEAD = 100; // steps of the path that is drawn
const ARROW = 0.3; // length of a full action, in world units
const STEP_MS = 100;
const NUDGE = 0.05;
const ARROWS = 11; // along each side of the map

export function live(report) {
  const runs = report.runs.filter((run) => run.live?.networks.length);
  if (!runs.length) return section("live", "Try it", report.missing.live);
  const members = runs.flatMap((run) => run.live.networks.map((network) => ({ run, network })));
  const bench = new Bench(report, members);
  const absent = runs.flatMap((run) => run.live.absent.map((level) => levelLabel(level)));
  const left = absent.length ? ` To keep this page small, the networks of ${absent.join(", ")} are not in it.` : "";
  return section("live", "Try it",
    `These are the trained networks, answering here. Drag a goal or an agent (or focus one and use the arrow keys), and move the desired diversity away from what they were trained for.${left}`,
    bench.node);
}

class Bench {
  constructor(report, members) {
    Object.assign(this, { report, members });
    this.colour = colourScale(report.scale);
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.overlay = svg("svg", { class: "overlay", role: "group", "aria-label": "Goals and agents, to be dragged" });
    this.stage = element("div", { class: "stage" }, this.canvas, this.overlay);
    this.arrows = false;
    this.timer = null;
    this.map = new LiveMap(() => this.paint());
    const hint = element("p", { class: "hint" }, "Discs: agents. Rings: their goals. Black arrows: their mean actions. Lines: where the agents go from here.");
    this.node = element("div", { class: "bench" }, element("div", {}, this.stage, hint), this.panel());
    this.choose(this.opening());
    redraw(this.stage, () => this.draw());
  }

  /** The best level first: its map has most to show. */
  opening() {
    const best = this.members.findIndex(({ run, network }) => run.best === network.level);
    return Math.max(best, 0);
  }

  panel() {
    const several = this.report.runs.length > 1;
    const choices = this.members.map(({ run, network }, index) =>
      [String(index), `${levelLabel(network.level)} · seed ${network.seed}${several ? ` · ${run.name}` : ""}`]);
    this.picker = chooser("trained for", choices, String(this.opening()), (index) => this.choose(Number(index)));
    this.slider = element("input", { type: "range", min: "0", step: "0.01", "aria-label": `Desired ${this.report.metric}`, class: "desired-slider",
      oninput: () => this.desire(Number(this.slider.value)) });
    this.value = element("output", { class: "big" });
    this.back = element("button", { type: "button", class: "quiet", onclick: () => this.desire(this.policy.trained) });
    this.tick = element("span", { class: "slider-tick", "aria-hidden": "true" });
    this.readings = element("dl", { class: "readings" });
    this.run = element("button", { type: "button", class: "primary", onclick: () => this.toggle() }, "Let them run");
    const reset = element("button", { type: "button", onclick: () => this.reset() }, "Back to the start");
    const arrows = tickBox("arrows: what each agent would do at each place", false, (shown) => { this.arrows = shown; this.drawOverlay(); });
    this.bar = colourBar("SND at a place", this.colour, this.members[0].run.maps?.most ?? 1);
    return element("div", { class: "bench-panel" }, this.picker,
      element("div", { class: "slider" }, element("div", { class: "slider-head" }, element("span", {}, `desired ${this.report.metric}`), this.value),
        element("div", { class: "slider-track" }, this.slider, this.tick), this.back),
      this.readings, element("div", { class: "row" }, this.run, reset), arrows, this.bar.node);
  }

  choose(index) {
    this.stop();
    const { run, network } = this.members[index];
    this.setting = run.live;
    this.most = run.maps?.most ?? 1;
    this.bar.label(this.most);
    this.policy = network.policy ??= new Policy(network);
    this.slider.max = String(Math.max(run.live.most, 1.2 * this.policy.trained).toFixed(2));
    if (!this.agents || this.agents.length !== this.setting.start.length) this.reset();
    this.desire(this.policy.trained);
    this.moveGoals(true);
  }

  reset() {
    this.stop();
    const { start, goals } = this.setting;
    this.agents = start.map((position) => ({ position: [...position], velocity: [0, 0] }));
    this.goals = goals.map((goal) => [...goal]);
    this.moveGoals(true);
  }

  /** One goal for each agent: they may be the same one. */
  get goalOfEach() {
    return this.agents.map((_, index) => this.goals[index % this.goals.length]);
  }

  desire(value) {
    this.desired = value;
    this.slider.value = String(value);
    this.map.rescale(value);
    this.drawOverlay();
  }

  moveGoals(settled) {
    this.map.compute(this.policy, this.goalOfEach, this.setting.extent, this.desired ?? this.policy.trained, settled);
    this.drawOverlay();
  }

  toggle() {
    if (this.timer !== null) return this.stop();
    let steps = 0;
    this.run.textContent = "Stop";
    this.timer = setInterval(() => {
      this.agents = step(this.policy, this.agents, this.goalOfEach, this.desired);
      this.drawOverlay();
      if (++steps >= AHEAD || arrived(this.agents, this.goalOfEach)) this.stop();
    }, STEP_MS);
    return undefined;
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.run.textContent = "Let them run";
  }

  /** Everything, after a change of size or theme. */
  draw() {
    this.view = viewOf(this.setting.extent, this.stage.clientWidth);
    this.stage.style.height = `${this.view.height}px`;
    this.overlay.setAttribute("viewBox", `0 0 ${this.view.width} ${this.view.height}`);
    this.paint();
    this.drawOverlay();
  }

  paint() {
    this.read();
    if (!this.view || !this.map.field) return;
    const context = sharp(this.canvas, this.view.width, this.view.height);
    paintMap(context, this.map.field, this.most, this.colour, this.view);
    if (this.arrows) this.drawOverlay();
  }

  read() {
    const { policy, desired } = this;
    if (desired === undefined) return;
    this.value.textContent = number(desired);
    const moved = Math.abs(desired - policy.trained) > 0.005;
    this.back.textContent = moved ? `back to the trained ${number(policy.trained)}` : `as trained: ${number(policy.trained)}`;
    this.back.disabled = !moved;
    this.tick.style.left = `${(100 * policy.trained) / Number(this.slider.max)}%`;
    const rows = [
      ["SND over this map", this.map.field ? number(this.map.field.mean) : "…", "mean over all places shown; equal to the desired value only where the agents were trained to be"],
      ["scale of the deviations", number(policy.scale(desired)), `desired ${number(desired)} / measured ${number(policy.estimate)} in training`],
    ];
    this.readings.replaceChildren(...rows.map(([name, value, about]) =>
      element("div", { "data-reading": name }, element("dt", {}, name), element("dd", {}, element("strong", {}, value), element("small", {}, about)))));
  }

  drawOverlay() {
    this.read();
    if (!this.view) return;
    const focused = document.activeElement?.dataset?.handle;
    const { scale } = this.view;
    const colours = this.setting.colours;
    const shapes = [];
    if (this.arrows && this.map.field) shapes.push(...this.gridArrows());
    this.agents.forEach((agent, index) => shapes.push(this.linkTo(agent, index), this.pathOf(index)));
    this.goals.forEach((goal, index) => {
      const colour = this.goals.length > 1 ? colours[index % colours.length] : "#262626";
      shapes.push(this.handle(`goal ${index + 1}`, goal, 18, (place) => { this.goals[index] = place; this.moveGoals(false); },
        svg("circle", { r: GOAL_RADIUS * scale, class: "goal-edge" }), svg("circle", { r: GOAL_RADIUS * scale, class: "goal", stroke: colour })));
    });
    const actions = this.actions();
    this.agents.forEach((agent, index) => {
      const place = ([x, y]) => { this.agents[index] = { position: [x, y], velocity: [0, 0] }; this.drawOverlay(); };
      const [dx, dy] = actions[index];
      shapes.push(this.handle(`agent ${index + 1}`, agent.position, AGENT_RADIUS * scale, place,
        svg("circle", { r: AGENT_RADIUS * scale, class: "agent", fill: colours[index % colours.length] }),
        arrow(dx * ARROW * scale, -dy * ARROW * scale, "arrow-edge"), arrow(dx * ARROW * scale, -dy * ARROW * scale, "action")));
    });
    this.overlay.replaceChildren(...shapes);
    if (focused) this.overlay.querySelector(`[data-handle="${focused}"]`)?.focus();
  }

  actions() {
    return this.policy.act(observe(this.agents.map(({ position }) => position), this.goalOfEach), this.desired);
  }

  linkTo({ position }, index) {
    const { toX, toY } = this.view;
    const goal = this.goalOfEach[index];
    return svg("line", { x1: toX(position[0]), y1: toY(position[1]), x2: toX(goal[0]), y2: toY(goal[1]), class: "link" });
  }

  /** Where an agent goes next, if all act by their means. */
  pathOf(index) {
    if (index === 0) {
      this.paths = this.agents.map(({ position }) => [position]);
      let agents = this.agents;
      for (let k = 0; k < AHEAD && !arrived(agents, this.goalOfEach); k++) {
        agents = step(this.policy, agents, this.goalOfEach, this.desired);
        agents.forEach(({ position }, agent) => this.paths[agent].push(position));
      }
    }
    const { toX, toY } = this.view;
    const points = this.paths[index].map(([x, y]) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`).join(" ");
    const colour = this.setting.colours[index % this.setting.colours.length];
    return svg("g", {}, svg("polyline", { points, class: "path-edge" }), svg("polyline", { points, class: "path", stroke: colour, "data-path": index + 1 }));
  }

  gridArrows() {
    const { toX, toY } = this.view;
    const length = this.view.width / 26;
    return this.map.arrows(ARROWS).map(({ x, y, agent, action: [dx, dy] }) => {
      const colour = this.setting.colours[agent % this.setting.colours.length];
      const there = [dx * length, -dy * length];
      return svg("g", { transform: `translate(${toX(x)} ${toY(y)})` }, arrow(...there, "arrow-edge"),
        svg("g", { stroke: colour, fill: colour }, arrow(...there, "small-arrow")));
    });
  }

  /** Something to drag with a pointer, or to move with the arrow keys. */
  handle(name, [x, y], reach, moveTo, ...shapes) {
    const { toX, toY, scale } = this.view;
    const [left, right, bottom, top] = this.setting.extent;
    const within = ([u, v]) => [Math.min(Math.max(u, left), right), Math.min(Math.max(v, bottom), top)];
    const node = svg("g", {
      class: "handle", tabindex: "0", role: "slider", "data-handle": name, transform: `translate(${toX(x)} ${toY(y)})`,
      "aria-label": name, "aria-valuenow": x.toFixed(2), "aria-valuemin": left, "aria-valuemax": right, "aria-valuetext": `x ${number(x)}, y ${number(y)}`,
      onkeydown: (event) => {
        const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
        if (!way) return;
        event.preventDefault();
        moveTo(within([x + way[0] * NUDGE, y + way[1] * NUDGE]));
        this.settle(name);
      },
      onpointerdown: (event) => this.drag(event, name, (px, py) => moveTo(within([left + px / scale, top - py / scale]))),
    }, svg("circle", { r: Math.max(reach, 18), class: "grab" }), ...shapes);
    return node;
  }

  drag(event, name, moveTo) {
    event.preventDefault();
    this.overlay.querySelector(`[data-handle="${name}"]`)?.focus();
    const { left, top } = this.overlay.getBoundingClientRect();
    let waiting = null;
    const follow = (moved) => {
      if (waiting === null) requestAnimationFrame(() => { const at = waiting; waiting = null; moveTo(at.clientX - left, at.clientY - top); });
      waiting = moved;
    };
    const release = () => {
      window.removeEventListener("pointermove", follow);
      for (const end of ["pointerup", "pointercancel"]) window.removeEventListener(end, release);
      requestAnimationFrame(() => this.settle(name));
    };
    window.addEventListener("pointermove", follow);
    for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, release);
  }

  /** After a move: the fine map. */
  settle(name) {
    if (name.startsWith("goal")) this.moveGoals(true);
  }
}

function arrow(x, y, name) {
  const size = Math.hypot(x, y);
  if (size < 1) return svg("g", { class: name });
  const head = Math.min(7, size * 0.5);
  const turn = (Math.atan2(y, x) * 180) / Math.PI;
  return svg("g", { class: name, transform: `rotate(${turn})` }, svg("line", { x1: 0, y1: 0, x2: size - head, y2: 0 }),
    svg("path", { d: `M${size} 0L${size - head} ${head * 0.6}V${-head * 0.6}Z` }));
}
