/** Values over the plane as colours: the map under a scene, and its colour bar. */

import { element, redraw, sharp } from "./dom.js";
import { number } from "./format.js";

/** A scale from [0, 1] to [red, green, blue], from evenly spaced colours. */
export function colourScale(hexes) {
  const stops = hexes.map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return (share) => {
    const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
    const from = Math.min(Math.floor(at), stops.length - 2);
    return stops[from].map((value, k) => Math.round(value + (at - from) * (stops[from + 1][k] - value)));
  };
}

/** Paints (rows, columns), row 0 at the least y, over a rectangle of a canvas; smooth between the points. */
export function paintField(context, values, rows, columns, most, colour, [x, y, width, height], smooth = true) {
  const small = new OffscreenCanvas(columns, rows);
  const image = new ImageData(columns, rows);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const at = 4 * ((rows - 1 - row) * columns + column);
      image.data.set(colour(most > 0 ? values[row * columns + column] / most : 0), at);
      image.data[at + 3] = 255;
    }
  }
  small.getContext("2d").putImageData(image, 0, 0);
  context.save();
  context.imageSmoothingEnabled = smooth;
  context.imageSmoothingQuality = "high";
  context.drawImage(small, x, y, width, height);
  context.restore();
}

/** The colour bar, with the name of what it measures. */
export function colourBar(name, colour, most) {
  const canvas = element("canvas", { class: "bar", "aria-hidden": "true" });
  const ends = element("div", { class: "bar-ends" });
  const node = element("div", { class: "colour-bar" }, element("span", { class: "bar-name" }, name), canvas, ends);
  const draw = () => {
    const context = sharp(canvas, canvas.clientWidth, canvas.clientHeight);
    for (let x = 0; x < canvas.clientWidth; x++) {
      context.fillStyle = `rgb(${colour(x / (canvas.clientWidth - 1))})`;
      context.fillRect(x, 0, 1, canvas.clientHeight);
    }
  };
  const label = (value) => {
    const texts = value > 0 ? [0, 0.5, 1].map((share) => number(share * value)) : ["0 everywhere"];
    ends.replaceChildren(...texts.map((text) => element("span", {}, text)));
    node.setAttribute("aria-label", `${name}: colours from 0 to ${number(value)}`);
  };
  label(most);
  redraw(canvas, draw);
  return { node, label };
}
