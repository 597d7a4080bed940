/** Recorded episodes: two members side by side, in step. */

import { chooser, element, redraw, sceneKey, section, sharp, tickBox } from "./dom.js";
import { levelLabel, number } from "./format.js";
import { colourScale } from "./heat.js";
import { fieldOf, paintMap } from "./maps.js";
import { Episode, viewOf } from "./scene.js";

const LEAD = "One episode of each level, from the same start, acting by their means, without exploration noise.";
const CHOOSE = "Choose two and play them in step.";
const STEPS_PER_SECOND = 10; // a step is a tenth of a second in the tasks

export function player(report) {
  const recorded = report.runs.flatMap((run) => (run.episodes ?? []).map((episode) => ({ run, episode })));
  if (!recorded.length) return section("episodes", "Episodes", report.missing.episodes);
  const names = recorded.map(({ run, episode }) =>
    `${levelLabel(episode.level)} · seed ${episode.seed}${report.runs.length > 1 ? ` · ${run.name}` : ""}`);
  const choices = names.map((name, index) => [String(index), name]);
  const mapped = recorded.some(({ run }) => run.lasts);
  const state = { step: 0, playing: false, speed: 1, trails: true, map: mapped, last: 0 };
  const sides = recorded.length > 1 ? [["left", 0], ["right", recorded.length - 1]] : [["episode", 0]];
  const screens = sides.map(([side, index]) =>
    screen(report, recorded, { side, choices, index }, state, refresh));
  const length = () => Math.max(...screens.map((each) => each.episode().steps));

  const scrub = element("input", {
    type: "range", min: "0", max: "1", step: "1", value: "0", class: "scrub", "aria-label": "Step of the episode",
  });
  const clock = element("output", { class: "clock" });
  const play = element("button", { type: "button", class: "primary", "aria-label": "Play" }, "Play");

  function refresh() {
    scrub.max = String(length() - 1);
    state.step = Math.min(state.step, length() - 1);
    scrub.value = String(Math.floor(state.step));
    clock.textContent = `step ${Math.floor(state.step)} of ${length() - 1}`;
    screens.forEach((each) => each.draw());
  }

  function setPlaying(playing) {
    state.playing = playing;
    play.textContent = playing ? "Pause" : "Play";
    play.setAttribute("aria-label", play.textContent);
    if (!playing) return;
    if (state.step >= length() - 1) state.step = 0;
    state.last = performance.now();
    requestAnimationFrame(tick);
  }

  function tick(now) {
    if (!state.playing) return;
    state.step += ((now - state.last) / 1000) * STEPS_PER_SECOND * state.speed;
    state.last = now;
    if (state.step >= length() - 1) {
      state.step = length() - 1;
      setPlaying(false);
    }
    refresh();
    requestAnimationFrame(tick);
  }

  play.addEventListener("click", () => setPlaying(!state.playing));
  scrub.addEventListener("input", () => {
    setPlaying(false);
    state.step = Number(scrub.value);
    refresh();
  });
  const speeds = ["0.25", "0.5", "1", "2", "4"].map((value) => [value, `${value} ×`]);
  const speed = chooser("speed", speeds, "1", (value) => (state.speed = Number(value)));
  const option = (label, name) => tickBox(label, true, (shown) => {
    state[name] = shown;
    refresh();
  });
  const options = [option("trails", "trails"), ...(mapped ? [option("map underneath", "map")] : [])];
  const lead = [LEAD, ...(recorded.length > 1 ? [CHOOSE] : []), report.taken].join(" ");
  const node = section("episodes", "Episodes", lead,
    element("div", { class: report.runs.length > 1 ? "screens compared" : "screens" },
      screens.map((each) => each.node)), sceneKey(recorded[0].run.key),
    element("div", { class: "row controls" }, play, scrub, clock, speed, options));
  refresh();
  return node;
}

function screen(report, recorded, { side, choices, index: opening }, state, refresh) {
  const colour = colourScale(report.scale);
  const canvas = element("canvas", { role: "img", "aria-label": "The episode chosen" });
  const earned = element("span", { class: "muted" });
  let episode, field;
  const choose = (index) => {
    const { run, episode: encoded } = recorded[Number(index)];
    episode = new Episode(encoded);
    const under = run.lasts ? run.under ?? run.maps : null;
    const panel = under?.panels.find(({ level }) => level === encoded.level);
    field = panel ? { ...fieldOf(panel, under), most: under.most } : null;
  };
  choose(opening);
  const picker = chooser(side, choices, String(opening), (index) => {
    choose(index);
    refresh();
  });
  const draw = () => {
    if (!canvas.clientWidth) return;
    const view = viewOf(episode.extent, canvas.clientWidth);
    canvas.style.height = `${view.height}px`;
    const under = field && state.map ? (context) => paintMap(context, field, field.most, colour, view) : null;
    const step = Math.floor(state.step);
    episode.draw(sharp(canvas, view.width, view.height), view, step, { trails: state.trails, under });
    const over = step >= episode.steps - 1 && episode.ended ? " · done" : "";
    const told = episode.rewards.length ? `reward so far ${number(episode.earned(step))}` : ""; // a summary has none
    earned.textContent = `${told}${over}`;
  };
  redraw(canvas, draw);
  const node = element("figure", { class: "screen" }, element("figcaption", {}, picker, earned), canvas);
  return { node, draw, episode: () => episode };
}
