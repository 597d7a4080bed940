/** Dispersion as `dico.tasks.dispersion` has it: agents start together and eat the food around them. */

import { clamp, distance, minus, move, placed, pushesOf, replaced, zeros } from "./physics.js";

const BOUND = 1;
const AGENT_RADIUS = 0.035;

export const dispersion = {
  perAgent: false,
  hint: "Coloured discs: agents. Grey discs: food; dotted where it was eaten, and back when you move it.",

  reset(random, { n_agents: agents }) {
    return {
      position: zeros(agents), velocity: zeros(agents), food: random.places(agents, -BOUND, BOUND),
      eaten: Array.from({ length: agents }, () => false),
    };
  },

  step({ position, velocity, food, eaten }, actions, { food_radius: radius, share_reward: shared }) {
    const next = move(position, velocity, pushesOf(actions), { bound: BOUND });
    const rewards = next.position.map(() => 0);
    const left = food.map((place, index) => {
      const biting = next.position.map((agent) => !eaten[index] && distance(agent, place) < AGENT_RADIUS + radius);
      const count = biting.filter(Boolean).length;
      biting.forEach((bites, agent) => {
        if (shared) rewards[agent] += count > 0 ? 1 : 0;
        else if (bites) rewards[agent] += 1 / count;
      });
      return count === 0;
    });
    const gone = eaten.map((was, index) => was || !left[index]);
    return { state: { ...next, food, eaten: gone }, rewards, done: gone.every(Boolean) };
  },

  observe(state) {
    return [dispersion.seenAt(state, 0, state.position)];
  },

  /** For each food: where it is from the point, and 1 if it was eaten. */
  seenAt({ food, eaten }, agent, points) {
    return Float64Array.from(points.flatMap((point) =>
      food.flatMap((place, index) => [...minus(place, point), eaten[index] ? 1 : 0])));
  },

  sameMap(before, after) {
    return before.food === after.food && before.eaten.every((eaten, index) => eaten === after.eaten[index]);
  },

  layout({ position, food, eaten }) {
    return {
      things: [
        ...food.map((place, index) => ({ role: "food", index, place, gone: eaten[index] })),
        ...position.map((place, index) => ({ role: "agent", index, place, agent: index })),
      ],
    };
  },

  drag(state, role, index, place) {
    const within = place.map((value) => clamp(value, -BOUND, BOUND));
    if (role === "agent") return placed(state, index, within);
    return { ...state, food: replaced(state.food, index, within), eaten: replaced(state.eaten, index, false) };
  },
};
