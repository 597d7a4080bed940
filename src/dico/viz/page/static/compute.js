/** What takes long, answered apart from the page: networks at many observations, and teams many steps ahead. */

import { Team } from "./team.js";

const teams = new Map();

const JOBS = {
  /** Takes a member's networks, to be asked about by their key. */
  load({ key, live, network }) {
    if (!teams.has(key)) teams.set(key, new Team(live, network));
    return null;
  },

  /** The controlled policy's two terms at each of some observations. */
  terms({ key, obs, rows, desired }) {
    const { homogeneous, deviation } = teams.get(key).policy.terms(obs, rows, desired);
    return { rows, homogeneous, deviation };
  },

  ahead({ key, state, desired, steps }) {
    return teams.get(key).ahead(state, desired, steps);
  },
};

export function answer({ job, ...asked }) {
  return JOBS[job](asked);
}
