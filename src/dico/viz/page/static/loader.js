/** Networks made ready when they are first asked for, here and in the engine. */

import { Team } from "./team.js";

const teams = new Map(); // by network: as the page holds it
let count = 0;

export class Loader {
  constructor(engine) {
    this.engine = engine;
  }

  /** A member's policies on its task. */
  team(run, network) {
    if (!teams.has(network)) {
      const { task, settings, groups, controlled } = run.live;
      const live = { task, settings, groups, controlled };
      const key = `network ${count++}`;
      teams.set(network, { key, team: new Team(live, network) });
      this.engine.ask({ job: "load", key, live, network });
    }
    return teams.get(network).team;
  }

  /** What the engine calls it. */
  key(network) {
    return teams.get(network).key;
  }
}
