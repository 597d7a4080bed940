/** Puts the page together. */

import { curves } from "./curves.js";
import { report } from "./data.js";
import { decision } from "./decision.js";
import { element } from "./dom.js";
import { live } from "./live.js";
import { maps } from "./maps.js";
import { Policy, sndAt } from "./networks.js";
import { player } from "./player.js";
import { legend, paintLevels, Selection } from "./selection.js";
import { settings } from "./settings.js";
import { heading, summary } from "./summary.js";
import { themeButton } from "./theme.js";

const selection = new Selection();
paintLevels(report);
document.getElementById("heading").append(...heading(report));
document.getElementById("toolbar").append(element("div", { class: "bar-inner" }, legend(report, selection), themeButton()));
const parts = [summary(report), curves(report, selection), decision(report, selection), live(report), maps(report, selection), player(report), settings(report)];
document.getElementById("report").append(...parts);
document.getElementById("contents").append(...parts.map((part) =>
  element("a", { href: `#${part.id}` }, part.querySelector("h2").textContent)));
document.getElementById("footer").textContent = report.footer;

/** For whoever wants the numbers: the networks of this page, from the console. */
window.dico = {
  report,
  /** Every agent's output at each row of observations, as `DiCo.everyone` gives it. */
  everyone(level, rows, desired, run = 0) {
    const policy = policyOf(level, run);
    return Array.from(policy.everyone(Float64Array.from(rows.flat()), rows.length, desired ?? policy.trained));
  },
  /** SND at each row of observations. */
  sndAt(level, rows, desired, run = 0) {
    const policy = policyOf(level, run);
    return Array.from(sndAt(Float64Array.from(this.everyone(level, rows, desired, run)), rows.length, policy.agents, policy.width));
  },
};

function policyOf(level, run) {
  return new Policy(report.runs[run].live.networks.find((network) => network.level === level));
}
