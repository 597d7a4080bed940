/** DiCo's policies in the browser: what `DiCo.everyone` computes in PyTorch, from the same weights. */

import { floats, packed } from "./decode.js";

const SMALLEST = 1e-8; // measured diversity counts as no less, so that the scale stays finite
const MIN_STD = 0.01; // of the shared standard deviation

function softplus(x) {
  return x > 20 ? x : Math.log1p(Math.exp(x));
}

function decodeLayer({ inputs, outputs, bits, weight, step, bias }) {
  const steps = floats(step);
  const whole = packed(weight, bits, inputs * outputs);
  const values = new Float64Array(whole.length);
  for (let row = 0, at = 0; row < inputs; row++) {
    for (let column = 0; column < outputs; column++, at++) values[at] = whole[at] * steps[column];
  }
  return { inputs, outputs, weight: values, bias: Float64Array.from(floats(bias)) };
}

/** An MLP with tanh between its layers: (rows, inputs) -> (rows, outputs). */
function evaluate(layers, input, rows) {
  let values = input;
  layers.forEach(({ inputs, outputs, weight, bias }, depth) => {
    const next = new Float64Array(rows * outputs);
    for (let row = 0; row < rows; row++) {
      const out = next.subarray(row * outputs, (row + 1) * outputs);
      out.set(bias);
      addProduct(out, values, row * inputs, inputs, weight, outputs);
      if (depth < layers.length - 1) for (let j = 0; j < outputs; j++) out[j] = Math.tanh(out[j]);
    }
    values = next;
  });
  return values;
}

/** out += input · weight, four inputs at a time: the loop that all the time goes into. */
function addProduct(out, input, start, inputs, weight, outputs) {
  let i = 0;
  for (; i + 3 < inputs; i += 4) {
    const a = input[start + i], b = input[start + i + 1], c = input[start + i + 2], d = input[start + i + 3];
    const w = i * outputs, x = w + outputs, y = x + outputs, z = y + outputs;
    for (let j = 0; j < outputs; j++) {
      out[j] += a * weight[w + j] + b * weight[x + j] + c * weight[y + j] + d * weight[z + j];
    }
  }
  for (; i < inputs; i++) {
    const a = input[start + i], w = i * outputs;
    for (let j = 0; j < outputs; j++) out[j] += a * weight[w + j];
  }
}

/** Raw outputs (rows, raw) as means and standard deviations (rows, width), by the policy's kind. */
function meaning(raw, rows, actions, width, { std, least = 0 }) {
  if (width === actions) return raw;
  const rawWidth = raw.length / rows;
  const out = new Float64Array(rows * width);
  for (let row = 0; row < rows; row++) {
    for (let k = 0; k < actions; k++) {
      out[row * width + k] = raw[row * rawWidth + k];
      if (!std) continue;
      const spread = softplus(raw[row * rawWidth + actions + k] + Math.log(Math.expm1(1 - least)));
      out[row * width + actions + k] = spread + least;
    }
  }
  return out;
}

/** Mean distance between the agents of each row: (rows, agents, width) -> (rows). */
export function sndAt(params, rows, agents, width) {
  const values = new Float64Array(rows);
  const pairs = (agents * (agents - 1)) / 2;
  for (let row = 0; row < rows; row++) {
    let total = 0;
    for (let i = 0; i < agents; i++) {
      for (let j = i + 1; j < agents; j++) {
        let squared = 0;
        const first = (row * agents + i) * width, second = (row * agents + j) * width;
        for (let k = 0; k < width; k++) squared += (params[first + k] - params[second + k]) ** 2;
        total += Math.sqrt(squared);
      }
    }
    values[row] = pairs ? total / pairs : 0;
  }
  return values;
}

function average(values) {
  return values.reduce((total, value) => total + value, 0) / values.length;
}

export class Policy {
  constructor(encoded) {
    const { agents, actions, kind, shared, deviations } = encoded;
    Object.assign(this, { agents, actions, kind, squash: encoded.squash, low: encoded.low, high: encoded.high });
    this.estimate = encoded.estimate;
    this.least = encoded.least;
    this.most = encoded.most ?? Infinity;
    this.degree = encoded.degree;
    this.lone = encoded.lone; // the scale of a lone agent, who has no diversity
    this.dial = encoded.dial; // of one set of networks for all levels: the levels, and the estimate at each
    this.toldAlways = encoded.told; // what networks that are told a desired diversity are told, if not what is desired
    this.width = kind === "deterministic" ? actions : 2 * actions;
    this.shared = shared.map(decodeLayer);
    this.deviations = deviations.map((layers) => layers.map(decodeLayer));
  }

  /** The diversity it was trained to have: its constraint applied to its own estimate. */
  get trained() {
    return Math.min(Math.max(this.estimate, this.least), this.most);
  }

  /** The diversity of the unscaled deviations: of a dial, interpolated between its levels. */
  estimateAt(desired) {
    if (!this.dial) return this.estimate;
    const { levels, estimates } = this.dial;
    const told = this.toldAt(desired);
    const above = levels.findIndex((level) => level > told);
    const next = above < 0 ? levels.length - 1 : above;
    const share = (told - levels[next - 1]) / (levels[next] - levels[next - 1]);
    return estimates[next - 1] + share * (estimates[next] - estimates[next - 1]);
  }

  /** The factor on the deviations for a desired diversity. */
  scale(desired = this.trained) {
    if (this.agents === 1) return this.lone;
    return (desired / Math.max(this.estimateAt(desired), SMALLEST)) ** (1 / this.degree);
  }

  /** What a dial's networks are told: what is desired, within what they were trained for. */
  toldAt(desired) {
    const { levels } = this.dial;
    return Math.min(Math.max(desired, levels[0]), levels.at(-1));
  }

  /** The networks' inputs: observations, and of a dial the desired diversity beside each. */
  inputs(obs, rows, desired) {
    const told = this.dial ? this.toldAt(desired) : this.toldAlways;
    if (told === null || told === undefined) return obs;
    const width = obs.length / rows;
    const out = new Float64Array(rows * (width + 1)).fill(told);
    for (let row = 0; row < rows; row++) out.set(obs.subarray(row * width, (row + 1) * width), row * (width + 1));
    return out;
  }

  homogeneous(inputs, rows) {
    const raw = evaluate(this.shared, inputs, rows);
    const out = meaning(raw, rows, this.actions, this.width, { std: this.kind !== "agent_std_paper", least: MIN_STD });
    if (!this.squash) return out;
    for (let row = 0; row < rows; row++) {
      for (let k = 0; k < this.actions; k++) {
        const at = row * this.width + k;
        out[at] = this.low[k] + ((this.high[k] - this.low[k]) * (Math.tanh(out[at]) + 1)) / 2;
      }
    }
    return out;
  }

  deviation(agent, inputs, rows) {
    const raw = evaluate(this.deviations[agent], inputs, rows);
    return meaning(raw, rows, this.actions, this.width, { std: this.kind.startsWith("agent_std") });
  }

  /** The two terms at each row, before any scale: they stay the same while the desired diversity moves, unless the
   * networks are a dial's. */
  terms(obs, rows, desired = this.trained) {
    const inputs = this.inputs(obs, rows, desired);
    const deviation = new Float64Array(rows * this.agents * this.width);
    for (let agent = 0; agent < this.agents; agent++) {
      const own = this.deviation(agent, inputs, rows);
      for (let row = 0; row < rows; row++) {
        deviation.set(own.subarray(row * this.width, (row + 1) * this.width), (row * this.agents + agent) * this.width);
      }
    }
    return { rows, homogeneous: this.homogeneous(inputs, rows), deviation };
  }

  /** Every agent's output at every row, scaled: (rows, agents, width). */
  scaled({ rows, homogeneous, deviation }, desired = this.trained) {
    const scale = this.scale(desired);
    const { agents, width } = this;
    const team = agents * width;
    return deviation.map((value, at) => homogeneous[Math.floor(at / team) * width + (at % width)] + scale * value);
  }

  /** Outputs (rows, agents, width) as the mean actions that are executed: (rows, agents, actions). */
  executed(params) {
    const { width, actions } = this;
    const out = new Float64Array((params.length / width) * actions);
    for (let at = 0, to = 0; at < params.length; at += width, to += actions) {
      out.set(this.inBox(params.subarray(at, at + actions)), to);
    }
    return out;
  }

  /** Mean SND of outputs (rows, agents, width), and that of the mean actions that are executed. */
  meanSnd(params) {
    const rows = params.length / (this.agents * this.width);
    return {
      snd: average(sndAt(params, rows, this.agents, this.width)),
      executed: average(sndAt(this.executed(params), rows, this.agents, this.actions)),
    };
  }

  everyone(obs, rows, desired = this.trained) {
    return this.scaled(this.terms(obs, rows, desired), desired);
  }

  /** The mean action in the action box, as the agents act without noise: (agents, obs) -> (agents, actions). */
  act(obs, desired = this.trained) {
    const scale = this.scale(desired);
    const inputs = this.inputs(obs, this.agents, desired);
    const width = inputs.length / this.agents;
    const actions = [];
    for (let agent = 0; agent < this.agents; agent++) {
      const own = inputs.subarray(agent * width, (agent + 1) * width);
      const shared = this.homogeneous(own, 1);
      const deviation = this.deviation(agent, own, 1);
      actions.push(this.inBox(shared.map((value, k) => value + scale * deviation[k])));
    }
    return actions;
  }

  /** A mean as an action: clamped if the policy is deterministic, else squashed by a tanh. */
  inBox(mean) {
    return this.low.map((low, k) => {
      const high = this.high[k];
      if (this.kind === "deterministic") return Math.min(Math.max(mean[k], low), high);
      return low + ((high - low) * (Math.tanh(mean[k]) + 1)) / 2;
    });
  }
}
