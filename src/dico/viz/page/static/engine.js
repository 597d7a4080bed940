/** Long computations in a thread of their own; where a browser gives a file none, between the page's frames. */

import { answer } from "./compute.js";

const SCRIPT = "worker"; // the element that holds the thread's script

export class Engine {
  constructor() {
    this.waiting = new Map();
    this.asked = 0;
    this.worker = startWorker();
    this.worker?.addEventListener("message", ({ data }) => this.finish(data));
    this.worker?.addEventListener("error", () => this.giveUp());
  }

  /** The answer to a job of `compute.js`, as a promise. */
  ask(asked) {
    const id = this.asked++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { asked, resolve, reject });
      if (this.worker) this.worker.postMessage({ id, asked });
      else setTimeout(() => this.finish(here(id, asked)));
    });
  }

  finish({ id, found, failed }) {
    const { resolve, reject } = this.waiting.get(id);
    this.waiting.delete(id);
    if (failed === undefined) resolve(found);
    else reject(new Error(failed));
  }

  /** Goes on without the thread: what it was asked is answered here. */
  giveUp() {
    this.worker = null;
    for (const [id, { asked }] of this.waiting) setTimeout(() => this.finish(here(id, asked)));
  }
}

/** Asks for one thing at a time; of those that are wanted meanwhile, only the last is asked for. */
export class Latest {
  constructor(ask) {
    Object.assign(this, { ask, busy: false, next: null });
  }

  /** `done` gets the answer, and whether something newer is wanted by then. */
  async want(asked, done) {
    this.next = { asked, done };
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.next) {
        const { asked: now, done: then } = this.next;
        this.next = null;
        then(await this.ask(now), this.next !== null);
      }
    } finally {
      this.busy = false;
    }
  }
}

function here(id, asked) {
  return { id, found: answer(asked) };
}

function startWorker() {
  try {
    const source = document.getElementById(SCRIPT).textContent;
    return new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  } catch {
    return null;
  }
}
