/** Reverse transport as `dico.tasks.reverse_transport` has it: agents inside a hollow package push it to a goal. */

import { clamp, distance, minus, move, placed, pushesOf, sphereContacts, touchesBox } from "./physics.js";
import { wallContact, zeros } from "./physics.js";

const SPAWN = 1;
const AGENT_RADIUS = 0.03;
const GOAL_RADIUS = 0.09;
const STRENGTH = 0.5;
const PROGRESS = 100;
const SUBSTEPS = 5;
const STIFFNESS = 500;
const MARGIN = 6e-3;

export const reverseTransport = {
  perAgent: true,
  hint: "Coloured discs: agents. Red box: the package around them, which they push. Ring: its goal.",

  reset(random, settings) {
    const [package_, goal] = random.places(2, -SPAWN, SPAWN);
    const inside = halfOf(settings).map((half) =>
      zeros(settings.n_agents).map(() => random.uniform(AGENT_RADIUS - half, half - AGENT_RADIUS)));
    const position = zeros(settings.n_agents).map((_, agent) => package_.map((value, k) => value + inside[k][agent]));
    return { position, velocity: zeros(settings.n_agents), package: package_, package_velocity: [0, 0], goal };
  },

  step(state, actions, settings) {
    const half = halfOf(settings);
    const next = move([...state.position, state.package], [...state.velocity, state.package_velocity],
      [...pushesOf(actions, () => STRENGTH), [0, 0]], {
        substeps: SUBSTEPS, contacts: (places) => contacts(places, half),
        mass: (body) => (body < state.position.length ? 1 : settings.package_mass),
      });
    const after = {
      position: next.position.slice(0, -1), velocity: next.velocity.slice(0, -1),
      package: next.position.at(-1), package_velocity: next.velocity.at(-1), goal: state.goal,
    };
    const done = touchesBox(state.goal, GOAL_RADIUS, after.package, half);
    const progress = distance(state.package, state.goal) - distance(after.package, state.goal);
    const reward = done ? 0 : progress * PROGRESS;
    return { state: after, rewards: state.position.map(() => reward), done };
  },

  observe(state) {
    const each = state.position.map((place, agent) => [...reverseTransport.seenAt(state, agent, [place])]);
    return [Float64Array.from(each.flat())];
  },

  /** Own place and velocity, and the package's velocity, place, and place from the goal. */
  seenAt({ velocity, package: package_, package_velocity: moving, goal }, agent, points) {
    return Float64Array.from(points.flatMap((point) =>
      [...point, ...velocity[agent], ...moving, ...minus(package_, point), ...minus(package_, goal)]));
  },

  layout({ position, package: package_, goal }) {
    return {
      things: [
        { role: "package", index: 0, place: package_ },
        { role: "goal", index: 0, place: goal },
        ...position.map((place, index) => ({ role: "agent", index, place, agent: index })),
      ],
    };
  },

  /** Agents stay in the package; the package takes them along. */
  drag(state, role, index, place, settings) {
    if (role === "goal") return { ...state, goal: place };
    if (role === "package") {
      const [dx, dy] = minus(place, state.package);
      const position = state.position.map(([x, y]) => [x + dx, y + dy]);
      return { ...state, position, velocity: zeros(position.length), package: place, package_velocity: [0, 0] };
    }
    const room = halfOf(settings).map((half) => half - AGENT_RADIUS);
    const within = place.map((value, k) => clamp(value, state.package[k] - room[k], state.package[k] + room[k]));
    return placed(state, index, within);
  },
};

function halfOf({ package_length: length, package_width: width }) {
  return [length / 2, width / 2];
}

/** Agents push each other and the walls; the package, last of the bodies, gets what its walls get. */
function contacts(places, half) {
  const [agents, package_] = [places.slice(0, -1), places.at(-1)];
  const among = sphereContacts(agents, agents, () => 2 * AGENT_RADIUS, STIFFNESS, MARGIN);
  const walls = agents.map((agent) => wallContact(agent, AGENT_RADIUS, package_, half, STIFFNESS, MARGIN));
  const back = walls.reduce(([x, y], [dx, dy]) => [x - dx, y - dy], [0, 0]);
  return [...among.map(([x, y], agent) => [x + walls[agent][0], y + walls[agent][1]]), back];
}
