/** The frame of a chart: grid, ticks, labels, and the scales to draw with. */

import { svg } from "./dom.js";
import { linear, logarithmic, number, ticks } from "./format.js";

const LEFT = 54, NAMED = 22, RIGHT = 24, TOP = 12, BOTTOM = 42;
const TICK_ROOM = 44; // pixels from one number below the axis to the next, at least
let clips = 0;

/** `x` and `y` are from where to where; `xTicks` are values to name instead of round ones, on an axis that may be
 * logarithmic; `room` is kept free on the right. */
export function axes(asked) {
  const { width, height, x, y, xLabel, yLabel, xFormat = number, yFormat = number, xTicks, xLog, room = 0 } = asked;
  const left = yLabel ? LEFT + NAMED : LEFT;
  const [right, bottom] = [width - RIGHT - room, height - BOTTOM];
  const toX = (xLog ? logarithmic : linear)(x, [left, right]);
  const toY = linear(y, [bottom, TOP]);
  const clip = `clip-${clips++}`;
  const inside = svg("rect", { x: left, y: TOP - 4, width: right - left + 4, height: bottom - TOP + 8 });
  const size = { width, height, viewBox: `0 0 ${width} ${height}` };
  const picture = svg("svg", { class: "chart", "aria-hidden": "true", ...size }, svg("clipPath", { id: clip }, inside));
  const label = (text, place) => picture.append(svg("text", { "text-anchor": "middle", ...place }, text));
  for (const value of ticks(...y, Math.max(2, Math.round(height / 55)))) {
    const at = toY(value);
    picture.append(svg("line", { x1: left, x2: right, y1: at, y2: at, class: "grid" }));
    const beside = { "text-anchor": "end", "dominant-baseline": "middle" };
    label(yFormat(value), { x: left - 8, y: at, class: "tick-label", ...beside });
  }
  for (const value of xTicks ? apart(xTicks, toX) : ticks(...x, Math.max(2, Math.round(width / 110)))) {
    const at = toX(value);
    picture.append(svg("line", { x1: at, x2: at, y1: bottom, y2: bottom + 4, class: "axis" }));
    label(xFormat(value), { x: at, y: bottom + 17, class: "tick-label" });
  }
  picture.append(svg("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }));
  label(xLabel, { x: (left + right) / 2, y: height - 6, class: "axis-name" });
  const middle = (TOP + bottom) / 2;
  if (yLabel) label(yLabel, { x: 12, y: middle, class: "axis-name", transform: `rotate(-90 12 ${middle})` });
  const plot = svg("g", { "clip-path": `url(#${clip})` });
  picture.append(plot);
  return { picture, plot, toX, toY, left, right, top: TOP, bottom };
}

/** Values, in order and without those that would stand too near the one before. */
function apart(values, toX) {
  const kept = [];
  for (const value of [...values].sort((a, b) => a - b)) {
    if (!kept.length || toX(value) - toX(kept.at(-1)) >= TICK_ROOM) kept.push(value);
  }
  return kept;
}

/** A line through the points, broken where a value is missing. */
export function path(xs, ys, toX, toY) {
  let text = "";
  let pen = "M";
  for (let index = 0; index < xs.length; index++) {
    if (!Number.isFinite(ys[index])) {
      pen = "M";
      continue;
    }
    text += `${pen}${toX(xs[index]).toFixed(1)} ${toY(ys[index]).toFixed(1)}`;
    pen = "L";
  }
  return text;
}

/** The area between two lines, over the stretches where both are known. */
export function band(xs, low, high, toX, toY) {
  let text = "";
  let from = 0;
  const known = (index) => Number.isFinite(low[index]) && Number.isFinite(high[index]);
  for (let index = 0; index <= xs.length; index++) {
    if (index < xs.length && known(index)) continue;
    if (index > from) {
      const range = Array.from({ length: index - from }, (_, k) => from + k);
      const there = range.map((k) => `${toX(xs[k]).toFixed(1)} ${toY(high[k]).toFixed(1)}`);
      const back = range.reverse().map((k) => `${toX(xs[k]).toFixed(1)} ${toY(low[k]).toFixed(1)}`);
      text += `M${there.join("L")}L${back.join("L")}Z`;
    }
    from = index + 1;
  }
  return text;
}
