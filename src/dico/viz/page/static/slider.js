/** The slider of the desired diversity: marks where something was trained, and words that say what is done. */

import { element, redraw } from "./dom.js";
import { number } from "./format.js";
import { glossed } from "./glossary.js";

const MOVED = 0.005; // from here on a desired diversity counts as another one
const SNAP = 0.012; // of the slider: how near to a trained level a pointer lands on it
const THUMB = 8; // pixels: half the thumb, which the ends of the slider stop short by
const ROOM = 27; // pixels: how far apart the marks' numbers are, at least

export class Slider {
  constructor(metric, wanted) {
    this.wanted = wanted;
    this.levels = [];
    this.input = element("input", {
      type: "range", min: "0", step: "0.01", class: "desired-slider", "aria-label": `Desired ${metric}`,
      oninput: () => this.wanted(this.held ? this.snapped(Number(this.input.value)) : Number(this.input.value)),
      onpointerdown: () => (this.held = true), onpointerup: () => (this.held = false),
    });
    this.value = element("output", { class: "big" });
    this.tick = element("span", { class: "slider-tick", "aria-hidden": "true" });
    this.marks = element("div", { class: "slider-marks" });
    this.back = element("button", { type: "button", class: "quiet", onclick: () => this.wanted(this.trained) });
    this.mode = element("span", { class: "mode" });
    this.about = element("span");
    this.node = element("div", { class: "slider" },
      element("div", { class: "slider-head" }, element("span", {}, glossed(`desired ${metric}`)), this.value),
      element("div", { class: "slider-track" }, this.input, this.tick), this.marks,
      element("p", { class: "slider-says", role: "status" }, this.mode, this.about), this.back);
    redraw(this.input, () => this.mark());
  }

  /** From 0 to `reach`, with a mark at each trained level that leads there. */
  setUp(reach, levels) {
    this.levels = levels;
    this.input.max = String(Math.floor(100 * reach) / 100);
    this.mark();
  }

  /** The marks, with their numbers where there is room. */
  mark() {
    let last = -Infinity;
    this.marks.replaceChildren(...(this.levels.length > 1 ? this.levels : []).map((level) => {
      const share = level / Number(this.input.max);
      const crowded = (share - last) * this.input.clientWidth < ROOM;
      if (!crowded) last = share;
      return element("button", {
        type: "button", class: crowded ? "slider-mark crowded" : "slider-mark", onclick: () => this.wanted(level),
        "aria-label": `to the trained ${number(level)}`,
        style: `left:calc(${THUMB}px + ${share} * (100% - ${2 * THUMB}px))`,
      }, number(level));
    }));
  }

  snapped(value) {
    const near = SNAP * Number(this.input.max);
    return this.levels.find((level) => Math.abs(level - value) <= near) ?? value;
  }

  show(value, trained, [mode, about]) {
    this.trained = trained;
    const moved = Math.abs(value - trained) > MOVED;
    this.input.value = String(value);
    this.value.textContent = number(value);
    this.back.textContent = moved ? `back to the trained ${number(trained)}` : `as trained: ${number(trained)}`;
    this.back.disabled = !moved;
    this.tick.style.setProperty("--share", trained / Number(this.input.max));
    this.mode.textContent = mode;
    this.mode.dataset.mode = mode;
    this.about.textContent = ` ${about}`;
  }
}
