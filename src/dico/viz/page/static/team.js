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
