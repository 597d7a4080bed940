/** Sampling as `dico.tasks.sampling` has it: agents collect the values of cells, each cell once. */

import { clamp, move, placed, pushesOf, zeros } from "./physics.js";

const EDGE = 1;
const CELL = 0.05;
const CELLS = 40;
const AGENT_RADIUS = 0.025;
const BOUND = EDGE - AGENT_RADIUS;
const AROUND = [0, 1, 2, 3, 5, 6, 7, 8].map((k) => [CELL * ((k % 3) - 1), CELL * (Math.floor(k / 3) - 1)]);

export const sampling = {
  perAgent: false,
  hint: "Coloured discs: agents. Cross: where the value is greatest. Pale: cells that were visited.",

  reset(random, { n_agents: agents }) {
    const [centre] = random.places(1, -EDGE, EDGE);
    return { position: zeros(agents), velocity: zeros(agents), centre, visited: new Uint8Array(CELLS * CELLS) };
  },

  step({ position, velocity, centre, visited }, actions, settings) {
    const next = { ...move(position, velocity, pushesOf(actions), { bound: BOUND }), centre, visited: visited.slice() };
    const highest = nearestCorner(centre);
    let total = 0;
    for (const place of next.position) {
      const cell = cellOf(place);
      if (!next.visited[cell]) total += valueAt(place, centre, highest, settings);
      next.visited[cell] = 1;
    }
    return { state: next, rewards: next.position.map(() => total), done: false };
  },

  observe(state, settings) {
    return [sampling.seenAt(state, 0, state.position, settings)];
  },

  /** Each point, and the values one cell away in the eight directions. */
  seenAt(state, agent, points, settings) {
    const highest = nearestCorner(state.centre);
    const out = new Float64Array(points.length * (2 + AROUND.length));
    points.forEach(([x, y], row) => {
      const at = row * (2 + AROUND.length);
      out[at] = x;
      out[at + 1] = y;
      AROUND.forEach(([dx, dy], k) => (out[at + 2 + k] = left(state, [x + dx, y + dy], highest, settings)));
    });
    return out;
  },

  layout({ position, centre, visited }) {
    return {
      things: [
        { role: "peak", index: 0, place: centre },
        ...position.map((place, index) => ({ role: "agent", index, place, agent: index })),
      ],
      cells: { rows: CELLS, columns: CELLS, gone: visited },
    };
  },

  drag(state, role, index, place) {
    if (role === "peak") return { ...state, centre: place.map((value) => clamp(value, -EDGE, EDGE)) };
    return placed(state, index, place.map((value) => clamp(value, -BOUND, BOUND)));
  },
};

/** What an agent would collect at a point. */
function left({ centre, visited }, point, highest, settings) {
  if (point.some((value) => Math.abs(value) > EDGE)) return 0;
  const place = point.map((value) => clamp(value, -BOUND, BOUND));
  return visited[cellOf(place)] ? 0 : valueAt(place, centre, highest, settings);
}

function valueAt([x, y], [u, v], highest, { covariance }) {
  return Math.exp((highest - (x - u) ** 2 - (y - v) ** 2) / (2 * covariance));
}

/** Squared distance to the nearest lower corner of a cell, of those where agents can stand: there the value is 1. */
function nearestCorner(centre) {
  const corners = Array.from({ length: CELLS }, (_, k) => Math.max(k * CELL - EDGE, -BOUND));
  return centre.reduce((total, value) => total + Math.min(...corners.map((corner) => (corner - value) ** 2)), 0);
}

/** The index of the cell a point is in, row by row; in single precision, as the task has it. */
function cellOf([x, y]) {
  const along = (value) =>
    clamp(Math.trunc(Math.fround(Math.fround(Math.fround(value) / Math.fround(CELL)) + CELLS / 2)), 0, CELLS - 1);
  return along(y) * CELLS + along(x);
}
