/** The stage of the live part: the map underneath, and what stands on it and can be moved. */

import { element, sharp, svg } from "./dom.js";
import { number } from "./format.js";
import { paintMap } from "./maps.js";
import { AGENT_RADIUS, GOAL_RADIUS } from "./navigation.js";
import { viewOf } from "./scene.js";

const FULL_ACTION = 0.3; // length of the arrow of a full action, in world units
const NUDGE = 0.05; // of an arrow key, in world units
const TOUCHABLE = 18; // least radius of what can be dragged, in pixels
const ONE_GOAL = "#262626"; // of a goal that is everybody's

export class Stage {
  /** `moveTo(kind, index, place)` while something is dragged; `settle(kind)` when it is let go. */
  constructor({ moveTo, settle }) {
    Object.assign(this, { moveTo, settle });
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.overlay = svg("svg", { class: "overlay", role: "group", "aria-label": "Goals and agents, to be dragged" });
    this.node = element("div", { class: "stage" }, this.canvas, this.overlay);
  }

  resize(extent) {
    this.extent = extent;
    this.view = viewOf(extent, this.node.clientWidth);
    this.node.style.height = `${this.view.height}px`;
    this.overlay.setAttribute("viewBox", `0 0 ${this.view.width} ${this.view.height}`);
  }

  paint(field, most, colour) {
    if (this.view) paintMap(sharp(this.canvas, this.view.width, this.view.height), field, most, colour, this.view);
  }

  /** Draws everything anew; what had the focus has it again. */
  show({ agents, goals, goalOfEach, actions, paths, arrows, colours }) {
    if (!this.view) return;
    const colourOf = (index) => colours[index % colours.length];
    const focused = document.activeElement?.dataset?.handle;
    this.overlay.replaceChildren(
      ...arrows.map(({ x, y, agent, action }) => this.smallArrow(x, y, action, colourOf(agent))),
      ...agents.map(({ position }, index) => this.link(position, goalOfEach[index])),
      ...paths.map((path, index) => this.path(path, index, colourOf(index))),
      ...goals.map((goal, index) => this.goal(goal, index, goals.length > 1 ? colourOf(index) : ONE_GOAL)),
      ...agents.map((agent, index) => this.agent(agent.position, index, actions[index], colourOf(index))),
    );
    if (focused) this.overlay.querySelector(`[data-handle="${focused}"]`)?.focus();
  }

  smallArrow(x, y, [dx, dy], colour) {
    const length = this.view.width / 26;
    const there = [dx * length, -dy * length];
    return svg("g", { transform: this.at([x, y]) }, arrow(...there, "arrow-edge"),
      svg("g", { stroke: colour, fill: colour }, arrow(...there, "small-arrow")));
  }

  link([x1, y1], [x2, y2]) {
    const { toX, toY } = this.view;
    return svg("line", { x1: toX(x1), y1: toY(y1), x2: toX(x2), y2: toY(y2), class: "link" });
  }

  path(places, index, colour) {
    const { toX, toY } = this.view;
    const points = places.map(([x, y]) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`).join(" ");
    return svg("g", {}, svg("polyline", { points, class: "path-edge" }),
      svg("polyline", { points, class: "path", stroke: colour, "data-path": index + 1 }));
  }

  goal(place, index, colour) {
    const r = GOAL_RADIUS * this.view.scale;
    const edge = svg("circle", { r, class: "goal-edge" });
    return this.handle("goal", index, place, r, edge, svg("circle", { r, class: "goal", stroke: colour }));
  }

  agent(place, index, [dx, dy], colour) {
    const r = AGENT_RADIUS * this.view.scale;
    const there = [dx, -dy].map((value) => value * FULL_ACTION * this.view.scale);
    return this.handle("agent", index, place, r, svg("circle", { r, class: "agent", fill: colour }),
      arrow(...there, "arrow-edge"), arrow(...there, "action"));
  }

  /** Something to drag with a pointer, or to move with the arrow keys. */
  handle(kind, index, [x, y], radius, ...shapes) {
    const name = `${kind} ${index + 1}`;
    const move = (place) => this.moveTo(kind, index, this.within(place));
    return svg("g", {
      class: "handle", tabindex: "0", role: "slider", transform: this.at([x, y]), "data-handle": name,
      "aria-label": name, "aria-valuetext": `x ${number(x)}, y ${number(y)}`,
      "aria-valuenow": x.toFixed(2), "aria-valuemin": this.extent[0], "aria-valuemax": this.extent[1],
      onkeydown: (event) => {
        const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
        if (!way) return;
        event.preventDefault();
        move([x + way[0] * NUDGE, y + way[1] * NUDGE]);
        this.settle(kind);
      },
      onpointerdown: (event) => this.drag(event, name, move, () => this.settle(kind)),
    }, svg("circle", { r: Math.max(radius, TOUCHABLE), class: "grab" }), ...shapes);
  }

  /** Follows a pointer, at most once a frame, until it is let go. */
  drag(event, name, move, settle) {
    event.preventDefault();
    this.overlay.querySelector(`[data-handle="${name}"]`)?.focus();
    this.overlay.setPointerCapture(event.pointerId); // the handle itself is drawn anew at each move
    const [left, , , top] = this.extent;
    const box = this.overlay.getBoundingClientRect();
    let pointer = null;
    const follow = (moved) => {
      if (pointer === null) requestAnimationFrame(step);
      pointer = moved;
    };
    const step = () => {
      move([left + (pointer.clientX - box.left) / this.view.scale, top - (pointer.clientY - box.top) / this.view.scale]);
      pointer = null;
    };
    const release = () => {
      this.overlay.removeEventListener("pointermove", follow);
      requestAnimationFrame(settle);
    };
    this.overlay.addEventListener("pointermove", follow);
    this.overlay.addEventListener("lostpointercapture", release, { once: true });
  }

  at([x, y]) {
    return `translate(${this.view.toX(x)} ${this.view.toY(y)})`;
  }

  within([x, y]) {
    const [left, right, bottom, top] = this.extent;
    return [Math.min(Math.max(x, left), right), Math.min(Math.max(y, bottom), top)];
  }
}

function arrow(x, y, name) {
  const size = Math.hypot(x, y);
  if (size < 1) return svg("g", { class: name });
  const head = Math.min(7, size * 0.5);
  const turn = (Math.atan2(y, x) * 180) / Math.PI;
  return svg("g", { class: name, transform: `rotate(${turn})` },
    svg("line", { x1: 0, y1: 0, x2: size - head, y2: 0 }),
    svg("path", { d: `M${size} 0L${size - head} ${head * 0.6}V${-head * 0.6}Z` }));
}
