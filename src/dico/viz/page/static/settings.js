/** How it was made: the command, the configuration and the machine. */

import { element, section } from "./dom.js";

const LEAD = "How to train it again, and what it was trained with.";
const SHORT = "The command, with what differs from its preset.";
const BIBTEX = `@inproceedings{bettini2024controlling,
  title = {Controlling Behavioral Diversity in Multi-Agent Reinforcement Learning},
  author = {Bettini, Matteo and Kortvelesy, Ryan and Prorok, Amanda},
  booktitle = {International Conference on Machine Learning},
  year = {2024},
  eprint = {2405.15054},
  archivePrefix = {arXiv},
}`;

export function settings(report) {
  const whose = ({ name }) => (report.runs.length > 1 ? ` of ${name}` : ""); // regions have names of their own
  const runs = report.runs.map((run) => element("div", { class: "panel" },
    report.runs.length > 1 ? element("h3", {}, run.name) : null,
    run.folder === run.name ? null : element("p", { class: "muted" }, run.folder),
    ...commands(run, whose(run)),
    details("Configuration", run.config, "none", whose(run)),
    run.machine ? details("Machine", run.machine, "unknown", whose(run)) : element("p", {}, report.missing.machine)));
  const cite = element("details", {}, element("summary", {}, "Cite the paper"), copied(BIBTEX, "Copy the BibTeX"));
  return section("settings", "Reproduce", LEAD, runs, element("div", { class: "panel" }, cite));
}

/** The command that trains a run again: short where a preset says the rest, and written out. */
function commands({ how, command, short }, whose) {
  if (command === null) return [element("p", {}, how)];
  if (short === null) return [element("p", {}, how), copied(command, "Copy the command", whose)];
  const whole = element("details", {}, element("summary", {}, "With every setting written out"),
    element("p", {}, how), copied(command, "Copy the whole command", whose));
  return [element("p", {}, SHORT), copied(short, "Copy the command", whose), whole];
}

/** A text to be copied; the options of a command stay whole where lines break. */
function copied(text, label, whose = "") {
  const button = element("button", { type: "button", onclick: () => copy(text, button, code, label) }, label);
  const options = () => text.split(/ (?=--)/).flatMap((part) => [element("span", {}, part), " "]);
  const parts = text.includes("\n") ? [text] : options();
  const code = element("code", {}, parts);
  const look = { tabindex: "0", role: "region", "aria-label": label.replace("Copy the", "The") + whose };
  return element("div", { class: "command" }, element("pre", look, code), button);
}

/** Pages opened from a file may be refused the clipboard: then the text is selected, ready for Ctrl-C. */
async function copy(text, button, code, label) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected: press Ctrl-C";
  }
  setTimeout(() => (button.textContent = label), 2500);
}

/** A table of names and values that opens on request; `absent` stands for what has no value. */
function details(title, values, absent, whose) {
  const text = (value) => (Array.isArray(value) ? value.join(", ") || "none" : String(value ?? absent));
  const rows = Object.entries(values).map(([name, value]) =>
    element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, text(value))));
  const table = element("table", { class: "settings" }, element("tbody", {}, rows));
  const look = { class: "scroll", tabindex: "0", role: "region", "aria-label": title + whose };
  return element("details", {}, element("summary", {}, title), element("div", look, table));
}
