/** The box beside the pointer that tells the numbers there. */

import { element } from "./dom.js";

/** Follows what points at a node: a mouse while it is there, a finger by a tap that stays until another one. */
export function pointing(node, follow, leave) {
  for (const name of ["pointermove", "pointerdown"]) node.addEventListener(name, follow);
  node.addEventListener("pointerleave", ({ pointerType }) => pointerType === "touch" || leave());
  node.addEventListener("blur", leave);
  document.addEventListener("pointerdown", ({ target }) => node.contains(target) || leave());
}

export class Tip {
  constructor(box) {
    this.box = box;
    this.node = element("div", { class: "tip", hidden: true, role: "status" });
  }

  hide() {
    this.node.hidden = true;
  }

  /** A title and rows of cells, on the side of x where there is room. */
  show(x, title, rows) {
    const row = (cells) => element("tr", {}, cells.map((cell) => element("td", {}, cell)));
    this.node.replaceChildren(element("strong", {}, title), element("table", {}, rows.map(row)));
    const width = this.box.clientWidth;
    this.node.style.left = x > width / 2 ? "" : `${x + 16}px`;
    this.node.style.right = x > width / 2 ? `${width - x + 16}px` : "";
    this.node.hidden = false;
  }
}
