/** Navigation, and same goal, as `dico.tasks.navigation` has them: each agent goes to a goal. */

import { distance, minus, move, placed, pushesOf, replaced, zeros } from "./physics.js";

const SPAWN = 1;
const SEPARATION = 0.25; // least distance between any two things at the start
const AGENT_RADIUS = 0.1;
const GOAL_RADIUS = 0.05;
const SUBSTEPS = 2;
const MISS = 1e-9;
const MAX_CANDIDATES = 64;

export const navigation = {
  perAgent: false,
  hint: "Discs: agents. Rings: their goals.",

  reset(random, { n_agents: agents, distinct_goals: distinct }) {
    const places = spreadOut(agents + distinct, random);
    const goals = places.slice(agents);
    return {
      position: places.slice(0, agents), velocity: zeros(agents),
      goal: Array.from({ length: agents }, (_, agent) => goals[agent % distinct]),
    };
  },

  step({ position, velocity, goal }, actions, { final_reward: bonus }) {
    const next = { ...move(position, velocity, pushesOf(actions), { substeps: SUBSTEPS }), goal };
    const toGo = next.position.map((place, agent) => distance(place, goal[agent]));
    const farthest = Math.max(...toGo);
    const final = farthest < GOAL_RADIUS ? bonus : 0;
    const rewards = toGo.map((after, agent) => distance(position[agent], goal[agent]) - after + final);
    return { state: next, rewards, done: farthest < AGENT_RADIUS };
  },

  observe(state) {
    return [navigation.seenAt(state, 0, state.position)];
  },

  /** Each point relative to every goal. */
  seenAt({ goal }, agent, points) {
    return Float64Array.from(points.flatMap((point) => goal.flatMap((place) => minus(point, place))));
  },

  sameMap(before, after) {
    return before.goal === after.goal;
  },

  layout({ position, goal }, { distinct_goals: distinct }) {
    return {
      things: [
        ...goal.slice(0, distinct).map((place, index) => ({ role: "goal", index, place })),
        ...position.map((place, index) => ({ role: "agent", index, place, agent: index })),
      ],
      links: position.map((place, agent) => [place, goal[agent]]),
    };
  },

  drag(state, role, index, place, { distinct_goals: distinct }) {
    if (role === "agent") return placed(state, index, place);
    const goal = distinct === 1 ? state.goal.map(() => place) : replaced(state.goal, index, place);
    return { ...state, goal };
  },
};

/** Places at least `SEPARATION` from those before: each the first free one of several candidates, else the farthest. */
function spreadOut(things, random) {
  const places = random.places(1, -SPAWN, SPAWN);
  for (let placedSoFar = 1; placedSoFar < things; placedSoFar++) {
    const candidates = random.places(candidatesFor(placedSoFar), -SPAWN, SPAWN);
    const gaps = candidates.map((candidate) => Math.min(...places.map((place) => distance(candidate, place))));
    const free = gaps.findIndex((gap) => gap >= SEPARATION);
    places.push(candidates[free >= 0 ? free : gaps.indexOf(Math.max(...gaps))]);
  }
  return places;
}

function candidatesFor(count) {
  const taken = (count * Math.PI * SEPARATION ** 2) / (2 * SPAWN) ** 2;
  if (taken >= 1) return MAX_CANDIDATES;
  return Math.min(Math.ceil(Math.log(MISS) / Math.log(taken)), MAX_CANDIDATES);
}
