/** The tasks whose physics the page has, by their names. Each is a set of pure functions, as in Python:
 *
 * `reset(random, settings)`, `step(state, actions, settings)`, `observe(state, settings)` (an array for each group),
 * `seenAt(state, agent, points, settings)`: what the agent would see at each point, all else as it is (`perAgent`:
 * whether that differs among agents; `sameMap(before, after)`: whether it stays the same), `layout(state, settings)`:
 * what stands where and can be moved, what links what and which cells are used up, and `drag(state, role, index, place,
 * settings)`: the state after a thing was moved. */

import { dispersion } from "./dispersion.js";
import { navigation } from "./navigation.js";
import { reverseTransport } from "./reverse_transport.js";
import { sampling } from "./sampling.js";
import { tag } from "./tag.js";

export const TASKS = {
  navigation, "same-goal": navigation, dispersion, sampling, tag, "reverse-transport": reverseTransport,
};
