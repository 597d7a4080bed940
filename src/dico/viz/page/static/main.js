/** Puts the page together. */

import { curves } from "./curves.js";
import { report } from "./data.js";
import { decision } from "./decision.js";
import { differences } from "./differences.js";
import { distances } from "./distances.js";
import { element, section } from "./dom.js";
import { decimalsOf, interval } from "./format.js";
import { explainStatic, glossed } from "./glossary.js";
import { live } from "./live.js";
import { maps } from "./maps.js";
import { Policy, sndAt } from "./networks.js";
import { player } from "./player.js";
import { Random } from "./random.js";
import { legend, paintColours, Selection } from "./selection.js";
import { settings } from "./settings.js";
import { heading, summary } from "./summary.js";
import { TASKS } from "./tasks.js";
import { themeButton } from "./theme.js";

const selection = new Selection(report.grouping.few);
paintColours(report);
document.getElementById("heading").append(...heading(report));
const tools = { class: "bar-inner", role: "toolbar", "aria-label": "Legend" };
const bar = element("div", tools, legend(report, selection), themeButton());
document.getElementById("toolbar").append(bar);
const alive = report.runs.some((run) => run.live?.networks.length); // else it only says why not, and that can wait
const [first, last] = alive ? [[["live", live]], []] : [[], [["live", live]]];
const parts = [
  ...first, ["summary", summary], ["differences", differences], ["curves", curves], ["decision", decision],
  ["maps", maps], ["episodes", player], ["distances", distances], ...last, ["settings", settings],
].map(([id, build]) => built(id, build)).filter((part) => part !== null);
document.getElementById("report").append(...parts);
document.getElementById("contents").append(...parts.map((part) =>
  element("a", { href: `#${part.id}` }, part.querySelector("h2").textContent)));
document.getElementById("footer").textContent = report.footer;
document.getElementById("over-box").hidden = !report.runs.some((run) => run.curves.snd_box);
document.getElementById("project").append(...projectLink(report.project));
explainStatic();

/** The project's name and version, with its address if that is known. */
function projectLink({ version, url }) {
  const name = `dico ${version}`.trim();
  return ["· Made with ", url ? element("a", { href: url }, name) : name];
}

/** A section, whose first words explain themselves. One that fails says so in its place, and leaves the others be. */
function built(id, build) {
  try {
    const part = build(report, selection);
    const lead = part?.querySelector(".lead");
    lead?.replaceChildren(...glossed(lead.textContent));
    return part;
  } catch (error) {
    console.error(error);
    const title = id[0].toUpperCase() + id.slice(1);
    return section(id, title, `This part could not be drawn (${error.message}): please report it as a bug.`);
  }
}

/** For whoever wants the numbers, from the console: the data, and the networks by their level. */
window.dico = {
  report,
  Policy,
  Random,
  sndAt,
  TASKS,
  format: { decimalsOf, interval },
  policy: (level, run = 0) => {
    const { networks, controlled } = report.runs[run].live;
    return new Policy(networks.find((network) => network.level === level).policies[controlled]);
  },
};
