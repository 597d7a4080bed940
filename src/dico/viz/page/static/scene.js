/** A task's scene on a canvas: circles, boxes, lines and cells at any step of an episode. */

import { bytes, floats, quantised, words } from "./decode.js";
import { themeColour } from "./dom.js";
import { linear } from "./format.js";
import { paintField } from "./heat.js";

const BLACK = 64; // a colour whose channels are all below this is called black, and a dark page would hide it
const TRAIL = 100; // steps over which a trail fades, as in the figures
const AGENTS = ["agent", "adversary"]; // the roles of what acts
const SMALLEST = 0.014; // least radius of an agent, in the picture's width, as in the figures
const [WIDER, RING] = [0.45, 3.5]; // how much larger an agent is drawn for each one on it, in itself, and in pixels
const [FRESH, OLD] = [0.85, 0.3]; // how strong it is at first and in the end: stronger than on paper, for dark pages

/** World to pixels in a square or wider canvas, y upwards. */
export function viewOf([left, right, bottom, top], width) {
  const height = (width * (top - bottom)) / (right - left);
  const toX = linear([left, right], [0, width]);
  const toY = linear([bottom, top], [height, 0]);
  return { width, height, toX, toY, scale: width / (right - left) };
}

/** An extent of any shape over a square canvas. */
export function squareView([left, right, bottom, top], width) {
  const [toX, toY] = [linear([left, right], [0, width]), linear([bottom, top], [width, 0])];
  return { width, height: width, toX, toY, scale: 1 };
}

export class Episode {
  constructor(encoded) {
    Object.assign(this, encoded);
    this.places = quantised(encoded.places); // (steps, things, 2)
    this.circles = encoded.circles.map((circle) => ({ ...circle, visible: circle.visible && bytes(circle.visible) }));
    this.boxes = encoded.boxes.map((box) => ({ ...box, angle: box.angle && floats(box.angle) }));
    this.rewards = floats(encoded.rewards ?? "");
    const cells = encoded.field;
    this.cells = cells && { ...cells, first: bytes(cells.first), changes: words(cells.changes) };
  }

  at(step, thing) {
    const index = 2 * (Math.min(step, this.steps - 1) * this.things + thing);
    return [this.places[index], this.places[index + 1]];
  }

  /** Mean reward of the team, summed up to a step. */
  earned(step) {
    let total = 0;
    for (let index = 0; index < Math.min(step, this.rewards.length); index++) total += this.rewards[index];
    return total;
  }

  draw(context, view, step, { trails = true, under = null } = {}) {
    const now = Math.min(step, this.steps - 1);
    if (under) under(context, view);
    else if (this.cells) this.drawCells(context, view, now);
    for (const line of this.lines) this.drawLine(context, view, line, now);
    for (const box of this.boxes) this.drawBox(context, view, box, now);
    const moving = this.circles.filter(({ moves }) => moves);
    if (trails) for (const circle of moving) this.drawTrail(context, view, circle, now);
    for (const circle of this.circles) this.drawCircle(context, view, circle, now, under !== null);
  }

  drawCells(context, view, step) {
    const { rows, columns, extent, first, changes } = this.cells;
    const values = first.slice();
    for (let index = 0; index < changes.length && changes[index] <= step; index += 3) {
      values[changes[index + 1]] = changes[index + 2];
    }
    const [empty, full] = [rgb(themeColour("cell-empty")), rgb(themeColour("cell-full"))];
    const colour = (share) => empty.map((value, k) => Math.round(value + share * (full[k] - value)));
    paintField(context, values, rows, columns, 255, colour, placeOf(extent, view), false);
  }

  /** Links are thin and dashed; what a task is made of, such as a wall or a beam, is thick. */
  drawLine(context, view, { role, colour, start, end }, step) {
    const [from, to] = [this.at(step, start), this.at(step, end)];
    context.beginPath();
    context.moveTo(view.toX(from[0]), view.toY(from[1]));
    context.lineTo(view.toX(to[0]), view.toY(to[1]));
    context.strokeStyle = seen(colour);
    context.lineWidth = role === "link" ? 1.4 : 3.5;
    context.setLineDash(role === "link" ? [3, 3] : []);
    context.stroke();
    context.setLineDash([]);
  }

  drawBox(context, view, { role, colour, filled, length, width, angle, place }, step) {
    const [x, y] = this.at(step, place);
    context.save();
    context.translate(view.toX(x), view.toY(y));
    if (angle) context.rotate(-angle[step]);
    const size = [-length / 2, -width / 2, length, width].map((value) => value * view.scale);
    context.lineWidth = role === "bounds" ? 1.5 : 3;
    context.strokeStyle = context.fillStyle = role === "bounds" ? themeColour("edge") : seen(colour);
    if (filled) context.fillRect(...size);
    else context.strokeRect(...size);
    context.restore();
  }

  drawTrail(context, view, { colour, place }, step) {
    context.lineCap = "butt"; // round ends would overlap, and show as dots
    for (let k = 1; k <= step; k++) {
      const [from, to] = [this.at(k - 1, place), this.at(k, place)];
      context.beginPath();
      context.moveTo(view.toX(from[0]), view.toY(from[1]));
      context.lineTo(view.toX(to[0]), view.toY(to[1]));
      context.strokeStyle = seen(colour);
      context.globalAlpha = FRESH + (OLD - FRESH) * Math.min((step - k) / TRAIL, 1);
      context.lineWidth = 2.5;
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  /** How many agents stand on another one and would hide it. */
  under(circle, radius, step) {
    const [x, y] = this.at(step, circle.place);
    const later = this.circles.slice(this.circles.indexOf(circle) + 1).filter(({ role }) => AGENTS.includes(role));
    const near = ([u, v]) => Math.hypot(x - u, y - v) < radius / 2;
    return later.filter(({ place }) => near(this.at(step, place))).length;
  }

  drawCircle(context, view, circle, step, mapped) {
    const { colour, filled, place, visible } = circle;
    let radius = circle.radius * view.scale;
    if (AGENTS.includes(circle.role)) {
      radius = Math.max(radius, SMALLEST * view.width);
      radius = widened(radius, this.under(circle, radius / view.scale, step));
    }
    const [x, y] = this.at(step, place);
    if (visible && !visible[step]) gone(context, view.toX(x), view.toY(y), radius, seen(colour));
    else disc(context, view.toX(x), view.toY(y), radius, seen(colour), filled, mapped);
  }
}

/** The radius in pixels of an agent that so many others stand on. */
export function widened(radius, under) {
  return radius + Math.max(WIDER * radius, RING) * under;
}

/** What is gone, such as food that was eaten, leaves a dotted ring. */
function gone(context, x, y, radius, colour) {
  context.beginPath();
  context.arc(x, y, Math.max(radius, 2.5), 0, 2 * Math.PI);
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.setLineDash([2, 2]);
  context.stroke();
  context.setLineDash([]);
}

/** Where an extent lies in a view: x, y, width, height in pixels. */
export function placeOf([left, right, bottom, top], { toX, toY }) {
  return [toX(left), toY(top), toX(right) - toX(left), toY(bottom) - toY(top)];
}

/** A disc, or a ring; outlined in white, more so where it lies on a map. */
export function disc(context, x, y, radius, colour, filled, outlined) {
  context.beginPath();
  context.arc(x, y, Math.max(radius, 2.5), 0, 2 * Math.PI);
  if (filled) {
    context.fillStyle = colour;
    context.fill();
  }
  if (outlined || filled) {
    context.strokeStyle = "#ffffff";
    context.lineWidth = filled ? (outlined ? 1.5 : 1) : 5;
    context.stroke();
  }
  if (!filled) {
    context.strokeStyle = colour;
    context.lineWidth = 2.5;
    context.stroke();
  }
}

function seen(colour) {
  return rgb(colour).every((channel) => channel < BLACK) ? themeColour("ink") : colour;
}

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}
