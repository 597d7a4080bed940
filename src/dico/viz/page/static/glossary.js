/** What the page's words mean, told where they stand: on hover, focus or tap. */

import { element } from "./dom.js";

const WORDS = {
  SND: "System Neural Diversity: the mean distance between the actions (of stochastic policies, their distributions) "
    + "that every two agents would choose at the same observation. 0: all behave alike.",
  desired: "What the team is held to during training and play: a value, bounds, or nothing (free).",
  "executed SND": "SND of the mean actions as the team executes them, within the action box.",
  measured: "What came out, on the observations that the team collected.",
  free: "Unconstrained: the agents differ as much as their learning makes them.",
  "tracking error": "How far the measured diversity is from the desired one, relative to it.",
  scale: "The factor on the agents' deviations: desired diversity over that of the deviations before scaling.",
  deviations: "What each agent's own network adds to the policy that all share.",
  homogeneous: "Agents that all have the same policy: SND 0.",
  member: "One team of a population, with its desired diversity and seed; all members train side by side.",
  members: "Teams of a population, each with its desired diversity and seed, that train side by side.",
  seed: "The number that all randomness of a member comes from: members that differ in it alone are repeats.",
  level: "Members that differ in their seeds alone: a desired diversity.",
  frames: "Steps of the task that a member has learned from, all its environments together.",
  dial: "One set of networks for a range of desired diversities, which are told the desired one as an input.",
  rescaled: "With networks that were trained for another desired diversity, only their scale is changed.",
  "bootstrap interval": "What the statistic would be for other seeds, by drawing from those there are.",
  "mean actions": "What agents do without exploration noise.",
};
const FINDER = new RegExp(`\\b(${Object.keys(WORDS).sort((a, b) => b.length - a.length).join("|")})\\b`);
const ROOM = 8; // pixels to the edges of the window

const box = element("div", { class: "gloss", role: "tooltip", id: "gloss", hidden: true });

/** A text in which the first of the glossary's words explain themselves, at most `most` of them. */
export function glossed(text, most = 2) {
  const parts = [];
  const told = new Set();
  let rest = text;
  while (told.size < most) {
    const found = rest.match(FINDER);
    if (!found) break;
    const [word] = found;
    parts.push(rest.slice(0, found.index), told.has(word) ? word : term(word));
    told.add(word);
    rest = rest.slice(found.index + word.length);
  }
  return [...parts, rest];
}

/** A word that tells what it means; `shown` is how it is written here. */
function term(word, shown = word) {
  const node = element("button", {
    type: "button", class: "term", onpointerleave: () => hide(node), onblur: () => hide(node),
    onkeydown: ({ key }) => key === "Escape" && hide(node),
  }, shown);
  for (const name of ["pointerenter", "focus", "click"]) node.addEventListener(name, () => show(node, WORDS[word]));
  return node;
}

/** Makes terms of the page's own words that ask for it (`data-term`). */
export function explainStatic() {
  document.body.append(box);
  for (const node of document.querySelectorAll("[data-term]")) {
    node.replaceWith(term(node.dataset.term, node.textContent));
  }
}

function show(node, text) {
  box.textContent = text;
  box.hidden = false;
  node.setAttribute("aria-describedby", "gloss");
  const at = node.getBoundingClientRect();
  const left = Math.min(at.left, document.documentElement.clientWidth - box.offsetWidth - ROOM);
  const below = at.bottom + ROOM + box.offsetHeight < window.innerHeight;
  box.style.left = `${Math.max(left, ROOM)}px`;
  box.style.top = `${below ? at.bottom + 6 : at.top - box.offsetHeight - 6}px`;
}

function hide(node) {
  box.hidden = true;
  node.removeAttribute("aria-describedby");
}
