/** Something on the stage to drag with a pointer, or to move with the arrow keys. */

import { svg } from "./dom.js";
import { number } from "./format.js";
import { widened } from "./scene.js";

const FULL_ACTION = 0.12; // length of the arrow of a full action, of the stage's width
const NUDGE = 0.05; // of an arrow key, in world units
const TOUCHABLE = 18; // least radius of what can be dragged, in pixels
const SMALLEST = 4; // least radius of what is drawn

export class Handle {
  constructor(stage, { role, index }, look, move) {
    Object.assign(this, { stage, role, look, move });
    const name = `${role} ${index}`;
    this.arrows = svg("g", { class: "arrows" });
    stage.pushes.append(this.arrows);
    this.shape = svg("g", {});
    this.away = svg("g", {});
    this.node = svg("g", {
      class: "handle", tabindex: "0", role: "slider", "aria-label": name, "data-handle": name,
      "aria-valuemin": stage.extent[0], "aria-valuemax": stage.extent[1],
      onkeydown: (event) => this.press(event), onpointerdown: (event) => this.drag(event),
      ontouchstart: (event) => event.preventDefault(), // the page must not scroll away under the finger
    }, this.shape, this.away);
  }

  /** Puts it somewhere: `gone` if it was used up, `under` so many others that stand on it. What left the stage waits at
   * its edge, with a mark that points to where it is. */
  place({ place: [x, y], gone = false, under = 0 }, action = null) {
    this.now = [x, y];
    const away = Math.hypot(...[x, y].map((value, k) => value - this.stage.within([x, y])[k])) > 0;
    const [u, v] = away ? this.stage.within([x, y], this.look?.radius ?? 0) : [x, y];
    this.node.setAttribute("transform", this.stage.at([u, v]));
    this.node.setAttribute("aria-valuenow", x.toFixed(2));
    this.node.setAttribute("aria-valuetext", `x ${number(x)}, y ${number(y)}${gone ? ", gone" : ""}`);
    const { scale, width } = this.stage.view;
    const drawn = `${gone} ${under}`;
    if (drawn !== this.drawn) this.shape.replaceChildren(...shapesOf(this.look, scale, gone, under));
    this.drawn = drawn;
    this.node.classList.toggle("away", away);
    this.away.replaceChildren(...(away ? [pointer(x - u, v - y, (this.look?.radius ?? 0) * scale)] : []));
    this.arrows.replaceChildren();
    if (!action || away) return;
    const there = [action[0], -action[1]].map((value) => value * FULL_ACTION * width);
    const size = Math.hypot(...there);
    if (size < 1) return;
    const edge = widened(Math.max((this.look?.radius ?? 0) * scale, SMALLEST), under);
    const aside = there.map((value) => (value / size) * edge);
    this.arrows.setAttribute("transform", `${this.stage.at([u, v])} translate(${aside})`);
    this.arrows.append(arrow(...there, "arrow-edge"), arrow(...there, "action"));
  }

  press(event) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!way) return;
    event.preventDefault();
    this.move(this.now.map((value, k) => value + way[k] * NUDGE));
    this.stage.settle(this.role);
  }

  /** Follows a pointer, at most once a frame, until it is let go; by as much as it moved, from where it took hold. */
  drag(event) {
    event.preventDefault();
    this.node.focus({ preventScroll: true });
    this.node.setPointerCapture(event.pointerId);
    const [{ scale }, held] = [this.stage.view, this.now];
    let pointer = null;
    const step = () => {
      const [right, down] = [pointer.clientX - event.clientX, pointer.clientY - event.clientY];
      this.move([held[0] + right / scale, held[1] - down / scale]);
      pointer = null;
    };
    const follow = (moved) => {
      if (pointer === null) requestAnimationFrame(step);
      pointer = moved;
    };
    const release = () => {
      this.node.removeEventListener("pointermove", follow);
      requestAnimationFrame(() => this.stage.settle(this.role));
    };
    this.node.addEventListener("pointermove", follow);
    this.node.addEventListener("lostpointercapture", release, { once: true });
  }
}

/** How a thing looks, in pixels around its place: a disc, a ring, a box, or a cross where there is nothing to see. */
function shapesOf(look, scale, gone, under) {
  if (!look) return [grab(TOUCHABLE), cross("cross-edge"), cross("cross")];
  if (look.length) {
    const box = { x: (-look.length * scale) / 2, y: (-look.width * scale) / 2, width: look.length * scale,
      height: look.width * scale };
    return [svg("rect", { ...box, class: "grab" }), svg("rect", { ...box, class: "goal-edge" }),
      svg("rect", { ...box, class: "goal", stroke: look.colour })];
  }
  const r = Math.max(look.radius * scale, SMALLEST);
  const ring = (name) => svg("circle", { r, class: name, stroke: look.colour });
  if (gone) return [grab(Math.max(r, TOUCHABLE)), ring("used-up")];
  if (!look.filled) return [grab(Math.max(r, TOUCHABLE)), ring("goal-edge"), ring("goal")];
  const disc = svg("circle", { r: widened(r, under), class: "agent", fill: look.colour });
  return [grab(Math.max(r, TOUCHABLE)), disc];
}

/** A triangle at the edge of the stage, which points out of it, to something that is there; it stands within. */
function pointer(right, down, radius) {
  const turn = (Math.atan2(down, right) * 180) / Math.PI;
  return svg("path", { d: "M-2 0L-16 9V-9Z", class: "pointer",
    transform: `rotate(${turn}) translate(${radius})` });
}

function grab(r) {
  return svg("circle", { r, class: "grab" });
}

function cross(name) {
  return svg("path", { d: "M-9 0H9M0-9V9", class: name });
}

export function arrow(x, y, name) {
  const size = Math.hypot(x, y);
  if (size < 1) return svg("g", { class: name });
  const head = Math.min(7, size * 0.5);
  const turn = (Math.atan2(y, x) * 180) / Math.PI;
  return svg("g", { class: name, transform: `rotate(${turn})` },
    svg("line", { x1: 0, y1: 0, x2: size - head, y2: 0 }),
    svg("path", { d: `M${size} 0L${size - head} ${head * 0.6}V${-head * 0.6}Z` }));
}
