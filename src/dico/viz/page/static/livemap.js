/** The map under the live part: coarse while something is dragged, fine soon after. */

import { extremes } from "./format.js";
import { observe } from "./navigation.js";
import { sndAt } from "./networks.js";

const COARSE_COST = 2.5e7; // multiplications in one go, so that dragging stays smooth
const FINE_COST = 4e8;
const SLICE_MS = 20;

export class LiveMap {
  constructor(ready) {
    this.ready = ready;
    this.field = null;
    this.task = 0;
  }

  /** Starts over for other goals or another policy. */
  compute(policy, goals, extent, desired, settled) {
    const cost = multiplications(policy);
    Object.assign(this, { policy, goals, extent, desired, task: this.task + 1 });
    const [coarse, fine] = [side(COARSE_COST / cost, 9, 41), side(FINE_COST / cost, 29, 61)];
    const points = grid(extent, coarse);
    this.terms = policy.terms(observe(points, goals), points.length);
    this.show(coarse);
    if (settled && fine > coarse) this.refine(fine, this.task);
  }

  /** The fine map, row by row between frames; given up when something moves. */
  refine(size, task) {
    const { policy, goals } = this;
    const points = grid(this.extent, size);
    const parts = [];
    let row = 0;
    const slice = () => {
      if (task !== this.task) return;
      const start = performance.now();
      while (row < size && performance.now() - start < SLICE_MS) {
        parts.push(policy.terms(observe(points.slice(row * size, (row + 1) * size), goals), size));
        row += 1;
      }
      if (row < size) {
        setTimeout(slice);
        return;
      }
      const whole = (name) => joined(parts.map((part) => part[name]));
      this.terms = { rows: points.length, homogeneous: whole("homogeneous"), deviation: whole("deviation") };
      this.show(size);
    };
    setTimeout(slice);
  }

  /** Another desired diversity: only the scale changes, so that nothing is computed anew. */
  rescale(desired) {
    this.desired = desired;
    if (this.terms) this.show(this.size);
  }

  show(size) {
    this.size = size;
    const { agents, width } = this.policy;
    const values = sndAt(this.policy.scaled(this.terms, this.desired), this.terms.rows, agents, width);
    const mean = values.reduce((total, value) => total + value, 0) / values.length;
    const [, most] = extremes(values);
    this.field = { values, mean, most, rows: size, columns: size, extent: this.extent };
    this.ready();
  }

  /** What each agent would do at the middles of `count` by `count` cells. */
  arrows(count) {
    const { policy, goals, extent, desired } = this;
    const points = grid(extent, count);
    const params = policy.everyone(observe(points, goals), points.length, desired);
    return points.flatMap(([x, y], row) => Array.from({ length: policy.agents }, (_, agent) => {
      const first = (row * policy.agents + agent) * policy.width;
      return { x, y, agent, action: policy.inBox(params.subarray(first, first + policy.width)) };
    }));
  }
}

/** The middles of a square grid of cells over an extent, row by row from the least y. */
export function grid([left, right, bottom, top], size) {
  const along = (low, high) => Array.from({ length: size }, (_, k) => low + ((high - low) * (k + 0.5)) / size);
  return along(bottom, top).flatMap((y) => along(left, right).map((x) => [x, y]));
}

function multiplications({ shared, deviations }) {
  return [shared, ...deviations].flat().reduce((total, { inputs, outputs }) => total + inputs * outputs, 0);
}

function side(points, least, most) {
  return Math.round(Math.min(Math.max(Math.sqrt(points), least), most));
}

function joined(parts) {
  const whole = new Float64Array(parts.reduce((total, part) => total + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
