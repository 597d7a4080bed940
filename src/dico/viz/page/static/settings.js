/** How it was made: the command, the configuration and the machine. */

import { element, section } from "./dom.js";

const LEAD = "How to train it again, and what it was trained with.";

export function settings(report) {
  const runs = report.runs.map((run) => element("div", { class: "panel" },
    report.runs.length > 1 ? element("h3", {}, run.name) : null, element("p", { class: "muted" }, run.folder),
    element("p", {}, run.how), run.command === null ? null : command(run.command),
    details("Configuration", run.config, "none"),
    run.machine ? details("Machine", run.machine, "unknown") : element("p", {}, report.missing.machine)));
  return section("settings", "Reproduce", LEAD, runs);
}

function command(text) {
  const button = element("button", { type: "button", onclick: () => copy(text, button, code) }, "Copy the command");
  const options = text.split(/ (?=--)/).flatMap((option) => [element("span", {}, option), " "]);
  const code = element("code", {}, options);
  return element("div", { class: "command" }, element("pre", { tabindex: "0" }, code), button);
}

/** Pages opened from a file may be refused the clipboard: then the text is selected, ready for Ctrl-C. */
async function copy(text, button, code) {
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
  setTimeout(() => (button.textContent = "Copy the command"), 2500);
}

/** A table of names and values that opens on request; `absent` stands for what has no value. */
function details(title, values, absent) {
  const text = (value) => (Array.isArray(value) ? value.join(", ") || "none" : String(value ?? absent));
  const rows = Object.entries(values).map(([name, value]) =>
    element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, text(value))));
  const table = element("table", { class: "settings" }, element("tbody", {}, rows));
  return element("details", {}, element("summary", {}, title), element("div", { class: "scroll" }, table));
}
