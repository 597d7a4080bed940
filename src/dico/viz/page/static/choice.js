/** Which networks answer to a desired diversity, and in which way: as trained, rescaled, or turned like a dial. */

import { levelLabel, number } from "./format.js";

const SAME = 0.005; // a desired diversity no farther from another one counts as the same

/** What can be chosen: the networks of a seed by the slider's value, where several levels have one, and of a member. */
export function choicesOf(report) {
  return report.runs.flatMap((run) => {
    if (!run.live) return [];
    const whose = report.runs.length > 1 ? ` · ${run.name}` : "";
    const seeds = [...new Set(run.live.networks.map(({ seed }) => seed))];
    const families = seeds.map((seed) => new Family(run, familyOf(run, seed), `any level · seed ${seed}${whose}`));
    const nameOf = ({ level, seed }) => `${levelLabel(level)} · seed ${seed}${whose}`;
    const dials = run.live.networks.filter((network) => dialOf(run, network));
    const single = run.live.networks.filter((network) => !dials.includes(network));
    return [
      ...dials.map((network) => new Family(run, [network], `dial · seed ${network.seed}${whose}`)),
      ...families.filter(({ networks }) => networks.length > 1),
      ...single.map((network) => new Family(run, [network], nameOf(network))),
    ];
  });
}

/** The networks of a seed whose levels each desire one value, in order. */
function familyOf(run, wanted) {
  const own = run.live.networks.filter((network) => network.seed === wanted && !dialOf(run, network));
  return own.filter(({ value }) => value !== null).sort((a, b) => a.value - b.value);
}

function dialOf(run, { policies }) {
  return policies[run.live.controlled].dial;
}

class Family {
  constructor(run, networks, name) {
    Object.assign(this, { run, networks, name });
  }

  get dial() {
    return dialOf(this.run, this.networks[0]);
  }

  /** The greatest diversity that the slider offers. */
  get reach() {
    return Math.max(...this.networks.map(({ reach }) => reach));
  }

  /** The diversities that were trained, given the policy of each network. */
  trained(policyOf) {
    if (this.dial) return this.dial.levels;
    return this.networks.map((network) => (this.networks.length > 1 ? network.value : policyOf(network).trained));
  }

  /** The networks trained nearest to a desired diversity: by its ratio, as that is what rescaling changes. */
  nearest(desired) {
    const far = ({ value }) => Math.abs(Math.log((desired + SAME) / (value + SAME)));
    return this.networks.reduce((best, network) => (far(network) < far(best) ? network : best));
  }

  /** In words: what is done to have a desired diversity. */
  describe(desired, policy, network, metric) {
    const wanted = number(desired);
    const levels = this.trained(() => policy);
    const same = levels.find((level) => Math.abs(level - desired) <= SAME);
    const [least, most] = [Math.min(...levels), Math.max(...levels)];
    const outside = desired < least || desired > most;
    if (this.dial) {
      const told = `one set of networks for ${number(least)} to ${number(most)}, told the desired value`;
      if (same !== undefined) return ["as trained", `A dial: ${told}; ${wanted} is one of those it was trained at.`];
      if (!outside) return ["dial", `A dial: ${told}. It was trained at ${levels.map((x) => number(x)).join(", ")}.`];
      const end = number(policy.toldAt(desired));
      return ["rescaled", `A dial: ${told}. ${wanted} is beyond: it is told ${end}, then rescaled.`];
    }
    const whose = network.value === null ? levelLabel(network.level) : number(network.value);
    if (same !== undefined) return ["as trained", `These networks were trained for ${metric} ${whose}.`];
    const factor = number(policy.scale(desired) / policy.scale());
    const where = this.networks.length === 1 ? "They were not trained" : "No level was trained";
    const times = Number.isFinite(policy.scale(desired) / policy.scale()) ? `, ${factor} times as large` : "";
    return ["rescaled", `${where} for ${wanted}: the networks of ${whose}, their deviations rescaled${times}.`];
  }
}
