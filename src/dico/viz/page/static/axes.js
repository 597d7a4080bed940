/** The frame of a chart: grid, ticks, labels, and the scales to draw with. */

import { svg } from "./dom.js";
import { linear, number, ticks } from "./format.js";

const LEFT = 54, NAMED = 22, RIGHT = 24, TOP = 12, BOTTOM = 42;
let clips = 0;

export function axes({ width, height, x, y, xLabel, yLabel, xFormat = number, yFormat = number }) {
  const left = yLabel ? LEFT + NAMED : LEFT;
  const toX = linear(x, [left, width - RIGHT]);
  const toY = linear(y, [height - BOTTOM, TOP]);
  const clip = `clip-${clips++}`;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "chart", "aria-hidden": "true" });
  picture.append(svg("clipPath", { id: clip },
    svg("rect", { x: left, y: TOP - 4, width: width - left - RIGHT + 4, height: height - TOP - BOTTOM + 8 })));
  for (const value of ticks(...y, Math.max(2, Math.round(height / 55)))) {
    const at = toY(value);
    picture.append(svg("line", { x1: left, x2: width - RIGHT, y1: at, y2: at, class: "grid" }));
    picture.append(svg("text", { x: left - 8, y: at, class: "tick-label", "text-anchor": "end", "dominant-baseline": "middle" }, yFormat(value)));
  }
  for (const value of ticks(...x, Math.max(2, Math.round(width / 110)))) {
    const at = toX(value);
    picture.append(svg("line", { x1: at, x2: at, y1: height - BOTTOM, y2: height - BOTTOM + 4, class: "axis" }));
    picture.append(svg("text", { x: at, y: height - BOTTOM + 17, class: "tick-label", "text-anchor": "middle" }, xFormat(value)));
  }
  picture.append(svg("line", { x1: left, x2: width - RIGHT, y1: height - BOTTOM, y2: height - BOTTOM, class: "axis" }));
  picture.append(svg("text", { x: (left + width - RIGHT) / 2, y: height - 6, class: "axis-name", "text-anchor": "middle" }, xLabel));
  if (yLabel) {
    const middle = (TOP + height - BOTTOM) / 2;
    picture.append(svg("text", { x: 12, y: middle, class: "axis-name", "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, yLabel));
  }
  const plot = svg("g", { "clip-path": `url(#${clip})` });
  picture.append(plot);
  return { picture, plot, toX, toY, left, right: width - RIGHT, top: TOP, bottom: height - BOTTOM };
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
