/** A chart's picture and numbers as files: SVG, PNG and CSV, made here, without a network. */

import { element, svg } from "./dom.js";

const LOOKS = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity", "font-size", "font-family",
  "font-weight", "paint-order",
];
const SHARPER = 2; // pixels of a PNG for each of the page's
const [ROW, GAP, LETTER, MARK] = [22, 18, 7.2, 26]; // of the legend below a picture, in pixels

/** Three buttons: `picture()` is the chart now, `legend()` its [colour, dashes, name] lines and `table()` its rows. */
export function downloads(name, { picture, legend, table }) {
  const button = (kind, save) => element("button", {
    type: "button", class: "quiet small", "aria-label": `Download ${name} as ${kind}`, onclick: save,
  }, kind);
  const file = (kind) => `${name.replace(/[^\w-]+/g, "-").toLowerCase()}.${kind}`;
  return element("div", { class: "downloads" },
    picture ? button("PNG", async () => save(file("png"), await pixels(standalone(picture(), legend())))) : null,
    picture ? button("SVG", () => save(file("svg"), vector(standalone(picture(), legend())))) : null,
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

/** A copy of a chart that looks the same outside the page, with a legend below. */
function standalone(chart, lines) {
  const copy = chart.cloneNode(true);
  const [originals, copies] = [chart, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  originals.forEach((node, index) => {
    const style = getComputedStyle(node);
    for (const look of LOOKS) copies[index].setAttribute(look, style.getPropertyValue(look));
  });
  copies.filter((node) => node.classList.contains("target")).forEach((node) => node.remove());
  const [width, height] = ["width", "height"].map((side) => chart[side].baseVal.value);
  const style = getComputedStyle(chart);
  const entries = placed(lines, width);
  const whole = height + 8 + ROW * entries.rows;
  copy.removeAttribute("aria-hidden");
  copy.setAttribute("height", whole);
  copy.setAttribute("viewBox", `0 0 ${width} ${whole}`);
  const ink = { fill: style.color, "font-size": "13px", "font-family": style.fontFamily };
  copy.append(...entries.places.map(({ x, y, line: [colour, dashes, text] }) => svg("g", {
    transform: `translate(${x} ${height + 8 + y})`,
  }, svg("line", { x2: 20, y1: -4, y2: -4, stroke: resolved(colour), "stroke-width": 2.4, "stroke-dasharray": dashes }),
  svg("text", { x: MARK, ...ink }, text))));
  const ground = getComputedStyle(document.documentElement).getPropertyValue("--panel").trim();
  copy.prepend(svg("rect", { width, height: whole, fill: ground }));
  return { copy, width, height: whole };
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

async function pixels(drawn) {
  const address = URL.createObjectURL(vector(drawn));
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = element("canvas", { width: SHARPER * drawn.width, height: SHARPER * drawn.height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function save(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
