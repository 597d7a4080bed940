/** The stage of the live part: the map underneath, and what stands on it and can be moved. */

import { element, sharp, svg } from "./dom.js";
import { extremes, number } from "./format.js";
import { paintMap } from "./maps.js";
import { AGENT_RADIUS, GOAL_RADIUS } from "./navigation.js";
import { viewOf } from "./scene.js";

const SIDE_BY_SIDE = 0.2; // of the distance between places: how far their arrows stand beside them
const LONGEST = 0.55; // of it: how long the longest one is
const FULL_ACTION = 0.3; // length of the arrow of a full action, in world units
const NUDGE = 0.05; // of an arrow key, in world units
const TOUCHABLE = 18; // least radius of what can be dragged, in pixels
const ONE_GOAL = "#262626"; // of a goal that is everybody's

export class Stage {
  /** `moveTo(kind, index, place)` while something is dragged; `settle(kind)` when it is let go. */
  constructor({ moveTo, settle }) {
    Object.assign(this, { moveTo, settle, handles: new Map() });
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.lines = svg("g", { "aria-hidden": "true" });
    this.overlay = svg("svg", { class: "overlay", role: "group", "aria-label": "Goals and agents, to be dragged" });
    this.node = element("div", { class: "stage" }, this.canvas, this.overlay);
  }

  resize(extent) {
    this.extent = extent;
    this.view = viewOf(extent, this.node.clientWidth);
    this.node.style.height = `${this.view.height}px`;
    this.overlay.setAttribute("viewBox", `0 0 ${this.view.width} ${this.view.height}`);
    this.clear();
  }

  /** Handles are kept while they are moved, and made anew where there are others, or of another size. */
  clear() {
    this.handles.clear();
    this.overlay.replaceChildren(this.lines);
  }

  paint(field, most, colour) {
    if (this.view) paintMap(sharp(this.canvas, this.view.width, this.view.height), field, most, colour, this.view);
  }

  show({ agents, goals, goalOfEach, actions, paths, arrows, colours }) {
    if (!this.view) return;
    const colourOf = (index) => colours[index % colours.length];
    this.lines.replaceChildren(
      ...this.smallArrows(arrows, agents.length, colourOf),
      ...agents.map(({ position }, index) => this.link(position, goalOfEach[index])),
      ...paths.map((path, index) => this.path(path, index, colourOf(index))),
    );
    if (this.handles.size !== goals.length + agents.length) this.clear();
    const ringOf = (index) => (goals.length > 1 ? colourOf(index) : ONE_GOAL);
    goals.forEach((place, index) => this.handle("goal", index, ringOf(index)).place(place));
    agents.forEach(({ position }, index) => {
      this.handle("agent", index, colourOf(index)).place(position, actions[index]);
    });
  }

  /** What agents do at places of the map: around each place, so that equal arrows do not hide each other. */
  smallArrows(arrows, agents, colourOf) {
    const spacing = this.view.width / Math.sqrt(arrows.length / agents);
    const [, greatest] = extremes(arrows.map(({ action }) => Math.hypot(...action)));
    const length = (LONGEST * spacing) / Math.max(greatest, 1e-9);
    return arrows.map(({ x, y, agent, action: [dx, dy] }) => {
      const around = Math.PI + (2 * Math.PI * agent) / agents;
      const aside = agents > 1 ? SIDE_BY_SIDE * spacing : 0;
      const [right, down] = [dx * length, -dy * length];
      const tail = [aside * Math.cos(around) - right / 2, -aside * Math.sin(around) - down / 2];
      const colour = colourOf(agent);
      return svg("g", { transform: `${this.at([x, y])} translate(${tail})` }, arrow(right, down, "arrow-edge"),
        svg("g", { stroke: colour, fill: colour }, arrow(right, down, "small-arrow")));
    });
  }

  link([x1, y1], [x2, y2]) {
    const { toX, toY } = this.view;
    return svg("line", { x1: toX(x1), y1: toY(y1), x2: toX(x2), y2: toY(y2), class: "link" });
  }

  path(places, index, colour) {
    const { toX, toY } = this.view;
    const points = places.map(([x, y]) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`).join(" ");
    return svg("g", {}, svg("polyline", { points, class: "path-edge" }),
      svg("polyline", { points, class: "path", stroke: colour, "data-path": index }));
  }

  handle(kind, index, colour) {
    const name = `${kind} ${index}`;
    if (!this.handles.has(name)) {
      const handle = new Handle(this, kind, name, colour, (place) => this.moveTo(kind, index, this.within(place)));
      this.handles.set(name, handle);
      this.overlay.append(handle.node);
    }
    return this.handles.get(name);
  }

  at([x, y]) {
    return `translate(${this.view.toX(x)} ${this.view.toY(y)})`;
  }

  within([x, y]) {
    const [left, right, bottom, top] = this.extent;
    return [Math.min(Math.max(x, left), right), Math.min(Math.max(y, bottom), top)];
  }
}

/** Something to drag with a pointer, or to move with the arrow keys. */
class Handle {
  constructor(stage, kind, name, colour, move) {
    Object.assign(this, { stage, kind, move });
    const { scale } = stage.view;
    const r = (kind === "goal" ? GOAL_RADIUS : AGENT_RADIUS) * scale;
    const shapes = kind === "goal"
      ? [svg("circle", { r, class: "goal-edge" }), svg("circle", { r, class: "goal", stroke: colour })]
      : [svg("circle", { r, class: "agent", fill: colour })];
    this.arrows = svg("g", { class: "arrows" });
    this.node = svg("g", {
      class: "handle", tabindex: "0", role: "slider", "aria-label": name, "data-handle": name,
      "aria-valuemin": stage.extent[0], "aria-valuemax": stage.extent[1],
      onkeydown: (event) => this.press(event), onpointerdown: (event) => this.drag(event),
      ontouchstart: (event) => event.preventDefault(), // the page must not scroll away under the finger
    }, svg("circle", { r: Math.max(r, TOUCHABLE), class: "grab" }), ...shapes, this.arrows);
  }

  place([x, y], action = [0, 0]) {
    this.now = [x, y];
    this.node.setAttribute("transform", this.stage.at([x, y]));
    this.node.setAttribute("aria-valuenow", x.toFixed(2));
    this.node.setAttribute("aria-valuetext", `x ${number(x)}, y ${number(y)}`);
    const there = [action[0], -action[1]].map((value) => value * FULL_ACTION * this.stage.view.scale);
    this.arrows.replaceChildren(arrow(...there, "arrow-edge"), arrow(...there, "action"));
  }

  press(event) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!way) return;
    event.preventDefault();
    this.move(this.now.map((value, k) => value + way[k] * NUDGE));
    this.stage.settle(this.kind);
  }

  /** Follows a pointer, at most once a frame, until it is let go. */
  drag(event) {
    event.preventDefault();
    this.node.focus({ preventScroll: true });
    this.node.setPointerCapture(event.pointerId);
    const { extent, overlay, view } = this.stage;
    const box = overlay.getBoundingClientRect();
    let pointer = null;
    const step = () => {
      const [right, down] = [pointer.clientX - box.left, pointer.clientY - box.top];
      this.move([extent[0] + right / view.scale, extent[3] - down / view.scale]);
      pointer = null;
    };
    const follow = (moved) => {
      if (pointer === null) requestAnimationFrame(step);
      pointer = moved;
    };
    const release = () => {
      this.node.removeEventListener("pointermove", follow);
      requestAnimationFrame(() => this.stage.settle(this.kind));
    };
    this.node.addEventListener("pointermove", follow);
    this.node.addEventListener("lostpointercapture", release, { once: true });
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
