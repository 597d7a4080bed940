/** The stage of the live part: the map underneath, and what stands on it and can be moved. */

import { element, sharp, svg } from "./dom.js";
import { extremes } from "./format.js";
import { arrow, Handle } from "./handle.js";
import { paintMap } from "./maps.js";
import { placeOf, viewOf } from "./scene.js";

const SIDE_BY_SIDE = 0.2; // of the distance between places: how far their arrows stand beside them
const LONGEST = 0.55; // of it: how long the longest one is
const ONE_GOAL = "#262626"; // of a goal that is everybody's
const VISITED = "rgb(255 255 255 / 60%)";

export class Stage {
  /** `moveTo(role, index, place)` while something is dragged; `settle(role)` when it is let go. */
  constructor({ moveTo, settle }) {
    Object.assign(this, { moveTo, settle, handles: new Map() });
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.lines = svg("g", { "aria-hidden": "true" });
    this.pushes = svg("g", { "aria-hidden": "true" }); // under all discs, which they would hide where these are small
    this.overlay = svg("svg", { class: "overlay", role: "group", "aria-label": "Things to be dragged" });
    this.node = element("div", { class: "stage" }, this.canvas, this.overlay);
  }

  /** `looks` are how things look, by role and number. */
  resize(extent, looks) {
    Object.assign(this, { extent, looks });
    this.view = viewOf(extent, this.node.clientWidth);
    this.node.style.height = `${this.view.height}px`;
    this.overlay.setAttribute("viewBox", `0 0 ${this.view.width} ${this.view.height}`);
    this.clear();
  }

  /** Handles are kept while they are moved, and made anew where there are others, or of another size. */
  clear() {
    this.handles.clear();
    this.pushes.replaceChildren();
    this.overlay.replaceChildren(...this.edge(), this.lines, this.pushes);
  }

  /** The edge of the world, where the task has one. */
  edge() {
    const look = this.looks["bounds "];
    if (!look) return [];
    const { toX, toY, scale } = this.view;
    const [width, height] = [look.length * scale, look.width * scale];
    return [svg("rect", { x: toX(0) - width / 2, y: toY(0) - height / 2, width, height, class: "world" })];
  }

  /** The map, if there is one, and on it the cells that are used up. */
  paint(field, most, colour, cells) {
    if (!this.view) return;
    const context = sharp(this.canvas, this.view.width, this.view.height);
    if (field) paintMap(context, field, most, colour, this.view);
    if (!cells) return;
    const [left, top, width, height] = placeOf(this.extent, this.view);
    const [across, down] = [width / cells.columns, height / cells.rows];
    context.fillStyle = VISITED;
    cells.gone.forEach((gone, index) => {
      const [row, column] = [Math.floor(index / cells.columns), index % cells.columns];
      if (gone) context.fillRect(left + column * across, top + height - (row + 1) * down, across, down);
    });
  }

  show({ layout: { things, links = [] }, actions, paths, arrows }) {
    if (!this.view) return;
    const agents = things.filter(({ agent }) => agent !== undefined).sort((a, b) => a.agent - b.agent);
    const colours = agents.map((thing) => this.lookOf(thing).colour);
    this.lines.replaceChildren(
      ...this.smallArrows(arrows, colours), ...links.map(([from, to]) => this.link(from, to)),
      ...paths.map((path, agent) => this.path(path, agent, colours[agent])),
    );
    if (this.handles.size !== things.length) this.clear();
    const alone = things.filter(({ role }) => role === "goal").length === 1 && links.length > 1;
    for (const thing of things) {
      const look = this.lookOf(thing);
      const shown = alone && thing.role === "goal" ? { ...look, colour: ONE_GOAL } : look;
      const under = thing.agent === undefined ? 0 : this.under(agents, thing);
      this.handle(thing, shown).place({ ...thing, under }, actions[thing.agent]);
    }
  }

  lookOf({ role, index }) {
    return this.looks[`${role} ${index}`] ?? this.looks[`${role} `] ?? null;
  }

  /** How many agents stand on this one, and would hide it. */
  under(agents, { agent, place: [x, y] }) {
    const near = ({ place: [u, v], agent: other }) =>
      other > agent && Math.hypot(x - u, y - v) < this.lookOf(agents[agent]).radius / 2;
    return agents.filter(near).length;
  }

  /** What agents do at places of the map: around each place, so that equal arrows do not hide each other. */
  smallArrows(arrows, colours) {
    const agents = new Set(arrows.map(({ agent }) => agent)).size;
    const spacing = this.view.width / Math.sqrt(arrows.length / agents);
    const [, greatest] = extremes(arrows.map(({ action }) => Math.hypot(...action)));
    const length = (LONGEST * spacing) / Math.max(greatest, 1e-9);
    return arrows.map(({ x, y, agent, action: [dx, dy] }, k) => {
      const around = Math.PI + (2 * Math.PI * (k % agents)) / agents;
      const aside = agents > 1 ? SIDE_BY_SIDE * spacing : 0;
      const [right, down] = [dx * length, -dy * length];
      const tail = [aside * Math.cos(around) - right / 2, -aside * Math.sin(around) - down / 2];
      const colour = colours[agent];
      return svg("g", { transform: `${this.at([x, y])} translate(${tail})` }, arrow(right, down, "arrow-edge"),
        svg("g", { stroke: colour, fill: colour }, arrow(right, down, "small-arrow")));
    });
  }

  link([x1, y1], [x2, y2]) {
    const { toX, toY } = this.view;
    return svg("line", { x1: toX(x1), y1: toY(y1), x2: toX(x2), y2: toY(y2), class: "link" });
  }

  path(places, agent, colour) {
    const { toX, toY } = this.view;
    const points = places.map(([x, y]) => `${toX(x).toFixed(1)},${toY(y).toFixed(1)}`).join(" ");
    return svg("g", {}, svg("polyline", { points, class: "path-edge" }),
      svg("polyline", { points, class: "path", stroke: colour, "data-path": agent }));
  }

  handle(thing, look) {
    const name = `${thing.role} ${thing.index}`;
    if (!this.handles.has(name)) {
      const move = (place) => this.moveTo(thing.role, thing.index, this.within(place));
      const handle = new Handle(this, thing, look, move);
      this.handles.set(name, handle);
      this.overlay.append(handle.node);
    }
    return this.handles.get(name);
  }

  at([x, y]) {
    return `translate(${this.view.toX(x)} ${this.view.toY(y)})`;
  }

  /** A place on the stage, at least so far from its edge. */
  within([x, y], margin = 0) {
    const [left, right, bottom, top] = this.extent;
    const between = (value, low, high) => Math.min(Math.max(value, low + margin), high - margin);
    return [between(x, left, right), between(y, bottom, top)];
  }
}
