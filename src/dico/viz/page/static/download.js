/** A chart's picture and numbers as files: SVG, PNG and CSV, made here, without a network. */

import { element, svg } from "./dom.js";

const LOOKS = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-size", "font-family",
  "font-weight", "paint-order",
];
const SHARPER = 2; // pixels of a PNG for each of the page's
const [ROW, GAP, LETTER, MARK] = [22, 18, 7.2, 26]; // of the legend below a picture, in pixels
const [HEAD, BESIDE] = [30, 22]; // for the title above it and for what the vertical axis shows, in pixels
const PANEL = 300; // width of each panel of a picture of several, in pixels

/** Buttons: `picture()` is the chart now, `up` what its vertical axis shows if it does not say so, `legend()` its
 * [colour, dashes, name] lines and `table()` its rows; or `panels()` are several pictures, each with its name. */
export function downloads(name, { picture, up, legend, panels, table }) {
  const button = (kind, save) => element("button", {
    type: "button", class: "quiet small", "aria-label": `Download ${name} as ${kind}`, onclick: save,
  }, kind);
  const file = (kind) => `${name.replace(/[^\w-]+/g, "-").replace(/^-|-$/g, "").toLowerCase()}.${kind}`;
  const alone = () => standalone(picture(), legend(), name, up);
  return element("div", { class: "downloads" },
    picture ? button("PNG", async () => save(file("png"), await pixels(alone()))) : null,
    panels ? button("PNG", async () => save(file("png"), await together(name, panels()))) : null,
    picture ? button("SVG", () => save(file("svg"), vector(alone()))) : null,
    button("CSV", () => save(file("csv"), new Blob([csv(table())], { type: "text/csv" }))));
}

/** Rows as text; what holds commas, quotes or lines is quoted. */
function csv(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined || Number.isNaN(value) ? "" : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** A copy of a chart that looks the same outside the page, with its title above and a legend below. */
function standalone(chart, lines = [], title = "", up = "") {
  const copy = chart.cloneNode(true);
  const [originals, copies] = [chart, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  originals.forEach((node, index) => {
    const style = getComputedStyle(node);
    for (const look of LOOKS) copies[index].setAttribute(look, style.getPropertyValue(look));
    copies[index].removeAttribute("style"); // which would win, and names colours that only the page has
  });
  copies.filter((node) => node.classList.contains("target")).forEach((node) => node.remove());
  const [width, height] = ["width", "height"].map((side) => chart[side].baseVal.value);
  const style = getComputedStyle(chart);
  const entries = placed(lines, width);
  const legend = entries.rows ? 8 + ROW * entries.rows : 0;
  const [left, top] = [up ? BESIDE : 0, title ? HEAD : 0];
  const [wide, high] = [left + width, top + height + legend];
  copy.removeAttribute("aria-hidden");
  copy.setAttribute("width", wide);
  copy.setAttribute("height", high);
  copy.setAttribute("viewBox", `${-left} ${-top} ${wide} ${high}`);
  const ink = { fill: style.color, "font-size": "13px", "font-family": style.fontFamily };
  copy.append(...entries.places.map(({ x, y, line: [colour, dashes, text] }) => svg("g", {
    transform: `translate(${x} ${height + 8 + y})`,
  }, svg("line", { x2: 20, y1: -4, y2: -4, stroke: resolved(colour), "stroke-width": 2.4, "stroke-dasharray": dashes }),
  svg("text", { x: MARK, ...ink }, text))));
  const large = { ...ink, "font-size": "15px", "font-weight": 600 };
  if (title) copy.append(svg("text", { x: 8 - left, y: 20 - top, ...large }, title));
  const turned = { x: 12 - left, y: height / 2, transform: `rotate(-90 ${12 - left} ${height / 2})` };
  if (up) copy.append(svg("text", { ...ink, ...turned, "text-anchor": "middle" }, up));
  copy.prepend(svg("rect", { x: -left, y: -top, width: wide, height: high, fill: ground() }));
  return { copy, width: wide, height: high };
}

function ground() {
  return getComputedStyle(document.documentElement).getPropertyValue("--panel").trim();
}

/** Several pictures, canvases or SVGs, in one: in rows, each with its name above, and a line that says more below. */
async function together(title, { items, note }) {
  const imageAt = ({ node }) => (node instanceof SVGElement ? imageOf(standalone(node)) : node);
  const images = await Promise.all(items.map(imageAt));
  const columns = Math.min(items.length, 4);
  const sizes = images.map(({ width, height }) => Math.round((PANEL * height) / width));
  const tall = Math.max(...sizes) + HEAD;
  const [width, height] = [columns * (PANEL + GAP) + GAP, HEAD + Math.ceil(items.length / columns) * tall + HEAD];
  const canvas = element("canvas", { width: SHARPER * width, height: SHARPER * height });
  const context = canvas.getContext("2d");
  const { color, fontFamily } = getComputedStyle(document.body);
  const write = (text, x, y, look) => {
    context.font = `${look} ${fontFamily}`;
    context.fillText(text, x, y, width - x - GAP);
  };
  context.scale(SHARPER, SHARPER);
  context.fillStyle = ground();
  context.fillRect(0, 0, width, height);
  context.fillStyle = color;
  write(title, GAP, 20, "600 15px");
  write(note, GAP, height - 10, "13px");
  images.forEach((image, k) => {
    const [x, y] = [GAP + (k % columns) * (PANEL + GAP), HEAD + Math.floor(k / columns) * tall];
    write(items[k].name, x, y + 18, "13px");
    context.drawImage(image, x, y + HEAD - 4, PANEL, sizes[k]);
  });
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** Where the entries of a legend go, row by row. */
function placed(lines, width) {
  let [x, row] = [8, 0];
  const places = lines.map((line) => {
    const wide = MARK + LETTER * line[2].length + GAP;
    if (x > 8 && x + wide > width) [x, row] = [8, row + 1];
    const place = { x, y: ROW * (row + 1) - 6, line };
    x += wide;
    return place;
  });
  return { places, rows: lines.length ? row + 1 : 0 };
}

/** A colour of the theme as a colour. */
function resolved(colour) {
  const probe = element("span", { style: `color:${colour}`, hidden: true });
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

function vector({ copy }) {
  return new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" });
}

async function imageOf(drawn) {
  const address = URL.createObjectURL(vector(drawn));
  const image = new Image(drawn.width, drawn.height);
  image.src = address;
  await image.decode();
  URL.revokeObjectURL(address);
  return image;
}

async function pixels(drawn) {
  const image = await imageOf(drawn);
  const canvas = element("canvas", { width: SHARPER * drawn.width, height: SHARPER * drawn.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function save(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
