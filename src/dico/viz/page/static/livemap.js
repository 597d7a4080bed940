/** Diversity over a plane of observations: coarse while something is moved, fine soon after. */

import { Latest } from "./engine.js";
import { extremes } from "./format.js";
import { sndAt } from "./networks.js";

const COARSE_COST = 2.5e7; // multiplications in one go, so that what is moved is answered soon
const FINE_COST = 4e8;
const [COARSE, FINE] = [[9, 41], [29, 61]]; // cells along each side, from the largest networks to the smallest

export class LiveMap {
  /** `ready()` is called when there is another field to paint. */
  constructor(engine, ready) {
    Object.assign(this, { engine, ready, field: null, shown: null, terms: null, version: 0 });
    this.coarse = new Latest((wanted) => this.ask(wanted, wanted.size, 0, wanted.size));
  }

  /** Starts over: `observe(points)` gives the observations at points of the `extent`, for the networks of a `key`, with
   * the controlled `policy`. Fine follows coarse once it is `settled`. */
  compute(wanted) {
    const cost = multiplications(wanted.policy);
    const sized = { ...wanted, size: side(COARSE_COST / cost, COARSE), version: ++this.version };
    this.coarse.want(sized, (terms, newer) => {
      this.show(sized, sized.size, terms);
      if (!newer && sized.settled) this.refine(sized, side(FINE_COST / cost, FINE), Math.ceil(COARSE_COST / cost));
    });
  }

  /** Some rows of a grid of `size` by `size` cells. */
  ask({ key, extent, observe, desired }, size, from, to) {
    const points = grid(extent, size).slice(from * size, to * size);
    return this.engine.ask({ job: "terms", key, obs: observe(points), rows: points.length, desired });
  }

  /** The fine map, some rows at a time; given up when something moves. */
  async refine(wanted, size, points) {
    const parts = [];
    const rows = Math.max(1, Math.floor(points / size));
    for (let row = 0; row < size; row += rows) {
      parts.push(await this.ask(wanted, size, row, Math.min(row + rows, size)));
      if (wanted.version !== this.version) return;
    }
    const whole = (name) => joined(parts.map((part) => part[name]));
    const terms = { rows: size * size, homogeneous: whole("homogeneous"), deviation: whole("deviation") };
    this.show(wanted, size, terms);
  }

  /** Another desired diversity: only the scale changes, so that nothing is computed anew. */
  rescale(desired) {
    if (!this.shown) return;
    this.shown.desired = desired;
    this.show(this.shown, this.size, this.terms);
  }

  show(wanted, size, terms) {
    const { policy, extent, desired } = wanted;
    Object.assign(this, { shown: wanted, size, terms });
    const params = policy.scaled(terms, desired);
    const values = sndAt(params, terms.rows, policy.agents, policy.width);
    const { snd: mean, executed } = policy.meanSnd(params);
    const [, most] = extremes(values);
    this.field = { values, mean, executed, most, rows: size, columns: size, extent };
    this.ready();
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

function side(points, [least, most]) {
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
