/** Long arrays, back from base64: the counterpart of `dico.viz.page.encode`. */

export function bytes(text) {
  const characters = atob(text);
  const values = new Uint8Array(characters.length);
  for (let index = 0; index < values.length; index++) values[index] = characters.charCodeAt(index);
  return values;
}

/** Little-endian single-precision numbers. */
export function floats(text) {
  return new Float32Array(bytes(text).buffer);
}

/** Little-endian 16-bit whole numbers from 0 up. */
export function words(text) {
  return new Uint16Array(bytes(text).buffer);
}

/** Numbers stored as `low + step * word`. */
export function quantised({ low, step, words: text }) {
  return Float64Array.from(words(text), (word) => low + step * word);
}

/** Signed whole numbers of `bits` bits each, at most 24, packed without gaps, the highest bit first. */
export function packed(text, bits, count) {
  const source = bytes(text);
  const values = new Int32Array(count);
  const [offset, mask] = [2 ** (bits - 1), 2 ** bits - 1];
  let held = 0;
  let have = 0;
  let next = 0;
  for (let index = 0; index < count; index++) {
    while (have < bits) {
      held = (held << 8) | source[next++]; // what was read before falls off the upper end
      have += 8;
    }
    have -= bits;
    values[index] = ((held >>> have) & mask) - offset;
  }
  return values;
}
