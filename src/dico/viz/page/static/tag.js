/** Tag as `dico.tasks.tag` has it: slower red agents chase a faster green one, the last, among obstacles. */

import { clamp, distance, minus, move, placed, pushesOf, replaced, sphereContacts, zeros } from "./physics.js";

const BOUND = 1;
const OBSTACLES = 2;
const OBSTACLE_RADIUS = 0.2;
const OBSTACLE_BOUND = BOUND - 0.1;
const RADIUS = [0.075, 0.05]; // of a red agent and of the green one; so too below
const STRENGTH = [3, 4];
const MAX_SPEED = [1, 1.3];
const SUBSTEPS = 10;
const STIFFNESS = 500;
const MARGIN = 1e-3;

export const tag = {
  perAgent: true,
  hint: "Warm colours: the adversaries, which chase and whose diversity is controlled. Green: the one that flees, "
    + "which is not controlled. Dark discs: obstacles.",

  reset(random, { n_agents: agents }) {
    const position = random.places(agents, -BOUND, BOUND);
    return { position, velocity: zeros(agents), obstacle: random.places(OBSTACLES, -OBSTACLE_BOUND, OBSTACLE_BOUND) };
  },

  step({ position, velocity, obstacle }, actions, { catch_reward: paid }) {
    const last = position.length - 1;
    const own = ([red, green]) => (agent) => (agent < last ? red : green);
    const radius = (body) => (body > last ? OBSTACLE_RADIUS : own(RADIUS)(body));
    const reach = (i, j) => radius(i) + radius(j);
    const next = move(position, velocity, pushesOf(actions, own(STRENGTH)), {
      substeps: SUBSTEPS, maxSpeed: own(MAX_SPEED), bound: BOUND,
      contacts: (places) => sphereContacts(places, [...places, ...obstacle], reach, STIFFNESS, MARGIN),
    });
    const near = (place) => distance(place, next.position[last]) < RADIUS[0] + RADIUS[1];
    const catches = next.position.slice(0, last).filter(near).length;
    const rewards = position.map((_, agent) => catches * own([paid, -paid])(agent));
    return { state: { ...next, obstacle }, rewards, done: false };
  },

  observe(state) {
    const each = state.position.map((place, agent) => [...tag.seenAt(state, agent, [place])]);
    return [Float64Array.from(each.slice(0, -1).flat()), Float64Array.from(each.at(-1))];
  },

  /** Own velocity and place, obstacles and other agents from there, and to the red ones the green one's velocity. */
  seenAt({ position, velocity, obstacle }, agent, points) {
    const others = position.filter((_, index) => index !== agent);
    const last = position.length - 1;
    return Float64Array.from(points.flatMap((point) => [
      ...velocity[agent], ...point, ...[...obstacle, ...others].flatMap((place) => minus(place, point)),
      ...(agent < last ? velocity[last] : []),
    ]));
  },

  layout({ position, obstacle }) {
    const last = position.length - 1;
    const role = (agent) => (agent < last ? { role: "adversary", index: agent } : { role: "agent", index: 0 });
    return {
      things: [
        ...obstacle.map((place, index) => ({ role: "obstacle", index, place })),
        ...position.map((place, agent) => ({ ...role(agent), place, agent })),
      ],
    };
  },

  drag(state, role, index, place) {
    const within = place.map((value) => clamp(value, -BOUND, BOUND));
    if (role === "obstacle") return { ...state, obstacle: replaced(state.obstacle, index, within) };
    return placed(state, role === "agent" ? state.position.length - 1 : index, within);
  },
};
