/** A member's policies on its task: what the agents do at a state, and where that leads. */

import { Policy } from "./networks.js";
import { TASKS } from "./tasks.js";

export class Team {
  /** `live` tells of the task, its settings and groups; `network` holds the policies of a member's groups. */
  constructor({ task, settings, groups, controlled }, { policies }) {
    this.task = TASKS[task];
    Object.assign(this, { settings, groups, controlled });
    this.policies = policies.map((encoded) => new Policy(encoded));
  }

  /** The policy whose diversity is controlled. */
  get policy() {
    return this.policies[this.controlled];
  }

  /** The group that is controlled. */
  get group() {
    return this.groups[this.controlled];
  }

  /** Every agent's mean action at a state, in the agents' order. */
  act(state, desired) {
    const actions = [];
    this.task.observe(state, this.settings).forEach((seen, k) => {
      const policy = this.policies[k];
      const own = policy.act(seen, k === this.controlled ? desired : policy.trained);
      this.groups[k].agents.forEach((agent, row) => (actions[agent] = own[row]));
    });
    return actions;
  }

  /** Every agent's mean action at a state, as `act` has it, and the mean SND at what the controlled group sees there,
   * of outputs and of executed actions.
   * Each network is asked once, and not again while only the desired diversity moves. */
  survey(state, desired) {
    const { policy } = this;
    if (this.surveyed?.state !== state || policy.dial) this.surveyed = { state, ...this.look(state, desired) };
    const { terms, others } = this.surveyed;
    const params = policy.scaled(terms, desired);
    const actions = [...others];
    this.group.agents.forEach((agent, row) => {
      const own = (row * policy.agents + row) * policy.width; // what the agent itself would do at its own observation
      actions[agent] = policy.inBox(params.subarray(own, own + policy.width));
    });
    return { actions, ...policy.meanSnd(params) };
  }

  /** The controlled policy's terms at what its group sees, and what the other groups do. */
  look(state, desired) {
    const others = [];
    let terms = null;
    this.task.observe(state, this.settings).forEach((seen, k) => {
      if (k === this.controlled) {
        terms = this.policy.terms(seen, this.policy.agents, desired);
        return;
      }
      const own = this.policies[k].act(seen, this.policies[k].trained);
      this.groups[k].agents.forEach((agent, row) => (others[agent] = own[row]));
    });
    return { terms, others };
  }

  /** The next state, the mean reward of the controlled group, and whether the task ended. */
  step(state, desired) {
    const { state: next, rewards, done } = this.task.step(state, this.act(state, desired), this.settings);
    const own = this.group.agents.map((agent) => rewards[agent]);
    return { state: next, reward: own.reduce((total, value) => total + value, 0) / own.length, done };
  }

  /** Where each agent goes in the next steps, from where it is to the end of the task: places for each agent. */
  ahead(state, desired, steps) {
    const paths = state.position.map((place) => [place]);
    let now = { state, done: false };
    for (let k = 0; k < steps && !now.done; k++) {
      now = this.step(now.state, desired);
      now.state.position.forEach((place, agent) => paths[agent].push(place));
    }
    return paths;
  }
}
