/** Random numbers from a seed and a counter, as `dico.random.Random` draws them: the same starts as in Python. */

const WORD = (1n << 64n) - 1n;
const GAMMA = 0x9e3779b97f4a7c15n;
const MIX = [[30n, 0xbf58476d1ce4e5b9n], [27n, 0x94d049bb133111ebn], [31n, 1n]];
const EPISODES = 1000n; // the stream that episodes start from, apart from those of any training

function hash(value) {
  return MIX.reduce((x, [shift, factor]) => ((x ^ (x >> shift)) * factor) & WORD, value);
}

export class Random {
  constructor(seed) {
    this.key = hash((hash(BigInt(seed)) + EPISODES) & WORD);
    this.counter = 0n;
  }

  /** One number in [low, high). */
  uniform(low, high) {
    const unit = Number(hash((this.key + this.counter * GAMMA) & WORD) >> 40n) / 2 ** 24;
    this.counter += 1n;
    return Math.fround(low + unit * (high - low));
  }

  /** As many places with both coordinates in [low, high). */
  places(count, low, high) {
    return Array.from({ length: count }, () => [this.uniform(low, high), this.uniform(low, high)]);
  }
}
