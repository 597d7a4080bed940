/** Numbers as people read them, and axes that fall on round ones. */

export const MISSING = "–";

/** At most `digits` significant ones, without trailing zeros. */
export function number(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return MISSING;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e6) return value.toExponential(digits - 2).replace("e+", "e").replaceAll("-", "−");
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
  const text = value.toFixed(Math.min(decimals, 8));
  return (text.includes(".") ? text.replace(/\.?0+$/, "") : text).replace("-", "−");
}

/** The numbers among some values: null, undefined and NaN are none. */
export function known(values) {
  return values.filter((value) => Number.isFinite(value ?? NaN));
}

export function percent(value) {
  return Number.isFinite(value ?? NaN) ? `${number(100 * value, 100 * value < 10 ? 2 : 3)} %` : MISSING;
}

/** 240 k, 1.5 M. */
export function frames(value) {
  if (value >= 1e6) return `${number(value / 1e6)} M`;
  return value >= 1e3 ? `${number(value / 1e3)} k` : number(value);
}

/** Least and greatest of any many values; those that are no numbers do not count. */
export function extremes(values) {
  let [least, greatest] = [Infinity, -Infinity];
  for (const value of values) {
    if (!Number.isFinite(value ?? NaN)) continue;
    if (value < least) least = value;
    if (value > greatest) greatest = value;
  }
  return [least, greatest];
}

/** Decimals that give the largest of some numbers `digits` significant ones. */
export function decimalsFor(values, digits) {
  const [, largest] = extremes([0, ...values].map((value) => Math.abs(value)));
  return largest > 0 ? Math.min(Math.max(digits - 1 - Math.floor(Math.log10(largest)), 0), 8) : 0;
}

/** Decimals for some intervals: two significant digits of the middle one in width, three of what has none, and from
 * three to `most` of the largest. */
export function decimalsOf(intervals, most = 5) {
  const halves = known(intervals.map(([, low, high]) => ((low ?? NaN) < high ? (high - low) / 2 : NaN)));
  const sizes = [...intervals.map(([centre]) => centre), ...halves];
  const middle = halves.sort((a, b) => a - b)[Math.floor((halves.length - 1) / 2)];
  const wanted = halves.length ? decimalsFor([middle], 2) : 0;
  const bare = intervals.filter(([, low, high]) => !((low ?? NaN) < high));
  const alone = bare.map(([centre]) => decimalsFor([centre], 3));
  return Math.min(Math.max(wanted, ...alone, decimalsFor(sizes, 3)), decimalsFor(sizes, most));
}

/** A centre and its interval, to as many decimals: ± where it is symmetric, else its ends. */
export function interval([centre, low, high], decimals = decimalsOf([[centre, low, high]])) {
  const show = (value) => value.toFixed(decimals).replace(/^-(?=[0.]*$)/, "").replace("-", "−"); // no −0.00
  if (!Number.isFinite(centre ?? NaN)) return MISSING;
  if (!Number.isFinite(low ?? NaN) || low === high) return show(centre);
  const half = (high - low) / 2;
  const tiny = Number(half.toFixed(decimals)) === 0; // not zero, whatever the decimals have room for
  if (tiny && decimals < decimalsFor([half], 1)) return interval([centre, low, high], decimalsFor([half], 1));
  const symmetric = Math.abs(high + low - 2 * centre) <= 1e-4 * Math.max(high - low, 1e-12);
  if (tiny || symmetric) return `${show(centre)} ±\u00a0${tiny ? number(half, 2) : show(half)}`;
  return `${show(centre)} [${show(low)}, ${show(high)}]`;
}

/** The same, of shares in per cent, and decimals for several. */
export function percentInterval(values, decimals = percentDecimals([values])) {
  const text = interval(inPercent(values), decimals);
  return text === MISSING ? text : `${text}\u00a0%`;
}

export function percentDecimals(intervals) {
  return Math.min(Math.max(decimalsOf(intervals.map(inPercent)), 1), 3);
}

function inPercent(values) {
  return values.map((value) => (value === null ? null : 100 * value));
}

/** Round numbers within [low, high], about as many as asked for. */
export function ticks(low, high, wanted = 5) {
  const rough = (high - low) / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  const count = Math.max(last - first + 1, 0);
  return Array.from({ length: count }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** [low, high] widened a little, never empty. */
export function widened(low, high, share = 0.06) {
  if (!(low <= high)) return [0, 1];
  const room = low === high ? Math.abs(low) * 0.1 || 0.05 : (high - low) * share;
  return [low - room, high + room];
}

export function plural(count, thing) {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** A straight map of one interval to another. */
export function linear([a, b], [from, to]) {
  return (value) => from + ((value - a) / (b - a)) * (to - from);
}

/** The same of their logarithms. */
export function logarithmic([a, b], range) {
  const along = linear([Math.log(a), Math.log(b)], range);
  return (value) => along(Math.log(value));
}

/** A level's text, as short as a legend wants it: a desired diversity, or numbers by name, or both; of a function of
 *  frames its module without packages. */
export function levelLabel(text) {
  return text.replace(">=", "≥ ").replace("<=", "≤ ").replace("..", " to ")
    .replaceAll("->", " → ").replaceAll("@", " @ ")
    .replace(/^(cos|step|seek):(?![a-z_])/i, "$1: ").replace(/^(?:\w+\.)+(?=\w+:[a-z_])/i, "");
}

/** A level below a heading that names what it is a value of. */
export function levelUnder({ grouping: { title } }, text) {
  return levelLabel(text.startsWith(`${title}=`) ? text.slice(title.length + 1) : text);
}

/** A level with the name of what it is a value of, unless its text names that. */
export function levelName({ grouping, metric }, text, between = " ") {
  return grouping.desired ? `desired ${metric}${between}${levelLabel(text)}` : levelLabel(text);
}
