/** Light or dark: as the system says, until the reader chooses. */

import { element } from "./dom.js";

export function themeButton() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const turn = () => choose(dark() ? "light" : "dark");
  const button = element("button", { type: "button", class: "quiet theme", onclick: turn });
  const label = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to the ${button.textContent.toLowerCase()} theme`);
    document.dispatchEvent(new Event("theme"));
  };
  const choose = (theme) => {
    document.documentElement.dataset.theme = theme;
    label();
  };
  system.addEventListener("change", label);
  label();
  return button;
}
