/** Diversity over any two observed numbers of an agent, all others as they are: a slice. */

import { chooser, element, redraw, sharp } from "./dom.js";
import { number } from "./format.js";
import { LiveMap } from "./livemap.js";
import { paintMap } from "./maps.js";
import { squareView } from "./scene.js";

const ROOM = 0.04; // around where the agent is, of what was seen

export class Slice {
  /** `open`: whether it is shown before it is asked for; `means`: what SND is of. */
  constructor(engine, { names, low, high }, colour, open, means) {
    Object.assign(this, { names, low, high, colour, axes: [0, 1], now: null });
    this.map = new LiveMap(engine, () => this.paint());
    this.canvas = element("canvas", { role: "img" });
    this.ends = { x: element("div", { class: "slice-across" }), y: element("div", { class: "slice-ends" }) };
    const axis = (label, k) => chooser(label, names.map((name, index) => [String(index), name]), String(this.axes[k]),
      (index) => {
        this.axes[k] = Number(index);
        this.update({ ...this.now, settled: true });
      });
    const about = element("p", { class: "hint" }, `SND over two of the observed numbers, ${means}; all others are `
      + "those that the agent sees now. Ring: where it is.");
    const plot = element("div", { class: "slice-plot" }, this.ends.y, this.canvas, element("span"), this.ends.x);
    this.node = element("details", { class: "slice", open }, element("summary", {}, "Slice through two observations"),
      element("div", { class: "row" }, axis("across", 0), axis("up", 1)), plot, about);
    this.node.addEventListener("toggle", () => this.now && this.update({ ...this.now, settled: true }));
    redraw(this.canvas, () => this.paint());
  }

  /** What was seen of both numbers, and what the agent sees now. */
  get extent() {
    return this.axes.flatMap((k) => {
      const now = this.now.row[k];
      const room = ROOM * (this.high[k] - this.low[k]);
      return [Math.min(this.low[k], now - room), Math.max(this.high[k], now + room)];
    });
  }

  /** `row` is what the agent sees. */
  update({ key, policy, row, desired, settled }) {
    this.now = { key, policy, row, desired };
    if (!this.node.open) return;
    const [x, y] = this.axes;
    const observe = (points) => {
      const obs = new Float64Array(points.length * row.length);
      points.forEach(([across, up], k) => {
        obs.set(row, k * row.length);
        obs[k * row.length + x] = across;
        obs[k * row.length + y] = up;
      });
      return obs;
    };
    this.map.compute({ key, policy, extent: this.extent, observe, desired, settled });
  }

  paint() {
    const { field } = this.map;
    if (!field || !this.canvas.clientWidth) return;
    const width = this.canvas.clientWidth;
    const context = sharp(this.canvas, width, width);
    const [left, right, bottom, top] = field.extent;
    const view = squareView(field.extent, width);
    paintMap(context, field, field.most, this.colour, view);
    const [x, y] = this.axes;
    ring(context, view.toX(this.now.row[x]), view.toY(this.now.row[y]));
    const texts = (low, high) => [low, high].map((value) => element("span", {}, number(value)));
    this.ends.x.replaceChildren(...texts(left, right));
    this.ends.y.replaceChildren(...texts(top, bottom));
    const what = `SND over ${this.names[x]} and ${this.names[y]}`;
    this.canvas.setAttribute("aria-label", `${what}: mean ${number(field.mean)}, greatest ${number(field.most)}`);
  }
}

function ring(context, x, y) {
  for (const [colour, width] of [["#ffffff", 5], ["#101418", 2.5]]) {
    context.beginPath();
    context.arc(x, y, 6, 0, 2 * Math.PI);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke();
  }
}
