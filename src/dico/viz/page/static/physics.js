/** The physics that the tasks share, as `dico.tasks.physics` has it: points with drag, spheres that push each other and
 * the walls of a hollow box. Places, velocities and forces are [x, y]. */

const DT = 0.1; // seconds in a step
const DRAG = 0.25; // share of its velocity that a body loses in a step
const WALL = 4 / 600; // half the thickness of a box's wall
const COINCIDENT = 1e-6; // two bodies nearer than this have no direction to push each other in

/** One step: where bodies are and how fast, after `pushes` act for `DT` seconds. Drag acts once, then semi-implicit
 * Euler in substeps. `contacts(places)` gives the forces among the bodies anew in each; `bound` stops places, not
 * velocities; `mass` and `maxSpeed` are functions of a body's index. */
export function move(position, velocity, pushes, { substeps = 1, contacts, mass, maxSpeed, bound = Infinity } = {}) {
  const h = DT / substeps;
  const places = position.map((place) => [...place]);
  const speeds = velocity.map(([x, y]) => [x * (1 - DRAG), y * (1 - DRAG)]);
  for (let substep = 0; substep < substeps; substep++) {
    const forces = contacts?.(places);
    places.forEach((place, body) => {
      const gain = h / (mass?.(body) ?? 1);
      for (const k of [0, 1]) speeds[body][k] += (pushes[body][k] + (forces?.[body][k] ?? 0)) * gain;
      if (maxSpeed) limit(speeds[body], maxSpeed(body));
      for (const k of [0, 1]) place[k] = clamp(place[k] + speeds[body][k] * h, -bound, bound);
    });
  }
  return { position: places, velocity: speeds };
}

/** Shortens a velocity to at most `most`. */
function limit(velocity, most) {
  const speed = Math.hypot(...velocity);
  if (speed > most) for (const k of [0, 1]) velocity[k] *= most / speed;
}

/** Force on a body that is `apart` from another one, while they are within `reach`: a spring with a soft start. */
function repulsion([x, y], reach, stiffness, margin) {
  const distance = Math.hypot(x, y);
  const depth = (reach - distance) / margin;
  if (!(depth >= 0) || distance < COINCIDENT) return [0, 0];
  const force = (stiffness * margin * (depth > 20 ? depth : Math.log1p(Math.exp(depth)))) / distance;
  return [x * force, y * force];
}

/** Force on each sphere from all the `others`; `reach(i, j)` is the sum of the radii of a pair. */
export function sphereContacts(places, others, reach, stiffness, margin) {
  return places.map((place, i) => others.reduce(([x, y], other, j) => {
    const [dx, dy] = repulsion(minus(place, other), reach(i, j), stiffness, margin);
    return [x + dx, y + dy];
  }, [0, 0]));
}

/** Force on a sphere from the walls of a hollow box around `centre`. */
export function wallContact(place, radius, centre, half, stiffness, margin) {
  return repulsion(minus(place, nearestWallPoint(place, centre, half)), radius + WALL, stiffness, margin);
}

/** The nearest point of the outline of a box with sides along the axes and half sizes `half`. */
function nearestWallPoint(point, centre, half) {
  const from = minus(point, centre);
  const gap = half.map((size, k) => size - Math.abs(from[k]));
  const inside = gap[0] > 0 && gap[1] > 0;
  const nearest = inside && gap[0] <= gap[1] ? 0 : 1;
  return centre.map((middle, k) => {
    const wall = from[k] < 0 ? -half[k] : half[k];
    return middle + (inside && k === nearest ? wall : clamp(from[k], -half[k], half[k]));
  });
}

/** Whether a sphere is inside a box or touches its walls. */
export function touchesBox(point, radius, centre, half) {
  const wall = nearestWallPoint(point, centre, half);
  return distance(point, centre) < distance(wall, centre) || distance(point, wall) < radius + WALL;
}

export function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

/** Actions in the box [-1, 1], times what a full one is worth. */
export function pushesOf(actions, strength = () => 1) {
  return actions.map((action, agent) => action.map((value) => clamp(value, -1, 1) * strength(agent)));
}

export function minus([x, y], [u, v]) {
  return [x - u, y - v];
}

export function distance([x, y], [u, v]) {
  return Math.hypot(x - u, y - v);
}

/** As many places at the origin, or velocities at rest. */
export function zeros(count) {
  return Array.from({ length: count }, () => [0, 0]);
}

/** A list with another value at an index. */
export function replaced(list, index, value) {
  return list.map((old, k) => (k === index ? value : old));
}

/** An agent put somewhere, at rest. */
export function placed(state, index, place) {
  return { ...state, position: replaced(state.position, index, place),
    velocity: replaced(state.velocity, index, [0, 0]) };
}
