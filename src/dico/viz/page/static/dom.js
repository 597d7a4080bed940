/** Elements in one call: attributes, listeners (`onclick`) and children. */

const SVG = "http://www.w3.org/2000/svg";

export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

/** A square in the colour of a level. */
export function swatch(colour) {
  return element("span", { class: "swatch", style: `background:${colour}` });
}

/** A labelled choice; `choices` are [value, text] pairs. */
export function chooser(label, choices, chosen, onchange) {
  const options = choices.map(([value, text]) => element("option", { value, selected: value === chosen }, text));
  const select = element("select", { onchange: () => onchange(select.value) }, options);
  return element("label", { class: "control" }, element("span", {}, label), select);
}

/** A labelled tick box. */
export function tickBox(label, checked, onchange) {
  const input = element("input", { type: "checkbox", checked, onchange: () => onchange(input.checked) });
  return element("label", { class: "control tick" }, input, element("span", {}, label));
}

/** A section with a heading, a sentence that says what it shows, and its content. */
export function section(id, title, lead, ...children) {
  const heading = element("h2", { id: `${id}-title` }, title);
  const about = element("p", { class: "lead" }, lead);
  return element("section", { id, "aria-labelledby": `${id}-title` }, heading, about, children);
}

/** What the shapes of a scene are; the tasks' black is grey on a dark page. */
export function sceneKey(parts) {
  const [first, ...others] = parts.join(", ").split("black");
  const black = () => [element("span", { class: "if-light" }, "black"), element("span", { class: "if-dark" }, "grey")];
  return element("p", { class: "hint" }, first, others.flatMap((part) => [...black(), part]));
}

/** A canvas of a size in CSS pixels, sharp on any screen; returns its context in those pixels. */
export function sharp(canvas, width, height) {
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** The value of a colour of the theme. */
export function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Calls `draw` when a node's width changes and when the theme does. */
export function redraw(node, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (node.clientWidth !== width && node.clientWidth > 0) {
      width = node.clientWidth;
      draw();
    }
  }).observe(node);
  document.addEventListener("theme", () => width > 0 && draw());
}
