/** Navigation as the tasks define it: what agents see, and how forces move them. */

export const AGENT_RADIUS = 0.1;
export const GOAL_RADIUS = 0.05;
const DT = 0.1;
const DRAG = 0.25;
const SUBSTEPS = 2;

/** Each point relative to every goal: (points, goals, 2), flat. */
export function observe(points, goals) {
  const out = new Float64Array(points.length * goals.length * 2);
  points.forEach(([x, y], row) => {
    goals.forEach(([goalX, goalY], goal) => {
      const at = 2 * (row * goals.length + goal);
      out[at] = x - goalX;
      out[at + 1] = y - goalY;
    });
  });
  return out;
}

/** One step of 0.1 s: drag once, then semi-implicit Euler in substeps. */
export function move({ position, velocity }, action) {
  const h = DT / SUBSTEPS;
  const next = { position: [...position], velocity: velocity.map((v) => v * (1 - DRAG)) };
  for (let substep = 0; substep < SUBSTEPS; substep++) {
    for (const k of [0, 1]) {
      next.velocity[k] += Math.min(Math.max(action[k], -1), 1) * h;
      next.position[k] += next.velocity[k] * h;
    }
  }
  return next;
}

/** All agents one step on, by their mean actions. */
export function step(policy, agents, goals, desired) {
  const actions = policy.act(observe(agents.map((agent) => agent.position), goals), desired);
  return agents.map((agent, index) => move(agent, actions[index]));
}

/** Where each agent goes in the next steps, from where it is to where all are on their goals. */
export function ahead(policy, agents, goals, desired, steps) {
  const paths = agents.map(({ position }) => [position]);
  let now = agents;
  for (let k = 0; k < steps && !arrived(now, goals); k++) {
    now = step(policy, now, goals, desired);
    now.forEach(({ position }, index) => paths[index].push(position));
  }
  return paths;
}

/** Whether every agent is on its goal: the episode's end. */
export function arrived(agents, goals) {
  return agents.every(({ position }, index) => distance(position, goals[index]) < AGENT_RADIUS);
}

function distance([x, y], [u, v]) {
  return Math.hypot(x - u, y - v);
}
