/**
 * Tables that find the interval in which a number lies: networks and ranges. Overlaps are resolved when a table is built, so a
 * lookup is one binary search, however many intervals overlap.
 *
 * A table is a list of words: {@link TABLE}, the starts of the intervals in ascending order, each of `keyWords` unsigned
 * words with the most significant one first, then by interval its entry + 1 (0: no entry), and an index of the starts by some
 * bits of their first word if there are many.
 */

/** What is in the intervals of a table. */
export interface Span {
  /** The first and the last number. */
  readonly from: bigint;
  readonly to: bigint;
  /** Of several spans with the same number, the one with the least size applies. */
  readonly size: number;
  readonly entry: number;
}

/** Words before the starts. */
const TABLE = { count: 0, skippedBits: 1, indexBits: 2, prefix: 3, words: 4 } as const;

/** From this number of intervals on, there is an index. */
const INDEXED = 256;
const INDEX_BITS = 16;

/** A start of an interval, and the entry that applies from there on; -1 for none. */
interface Start {
  readonly at: bigint;
  readonly entry: number;
}

/** Resolves overlaps: of several spans with the same number, the smallest one applies, and of spans of the same size the first one. */
export function flattened(spans: readonly Span[]): readonly Start[] {
  const order = spans.map((_, i) => i).sort((a, b) => compare(spans[a].size, spans[b].size) || a - b);
  const rank = new Int32Array(spans.length);
  order.forEach((span, i) => {
    rank[span] = i;
  });
  const byFrom = spans.map((_, i) => i).sort((a, b) => compare(spans[a].from, spans[b].from));
  // Not a set, because V8 hashes the low bits of a bigint only, which are the same in all networks.
  const ends = spans.map(({ to }) => to + 1n).sort(compare);
  const active = new Ranks(order, spans);
  const starts: Start[] = [];
  let [nextFrom, nextEnd] = [0, 0];
  while (nextEnd < ends.length) {
    const from = nextFrom < byFrom.length ? spans[byFrom[nextFrom]].from : null;
    const at = from !== null && from < ends[nextEnd] ? from : ends[nextEnd];
    while (ends[nextEnd] === at) nextEnd++;
    while (nextFrom < byFrom.length && spans[byFrom[nextFrom]].from === at)
      active.add(rank[byFrom[nextFrom++]]);
    const entry = active.bestAt(at);
    if (starts.at(-1)?.entry !== entry && (entry >= 0 || starts.length > 0)) starts.push({ at, entry });
  }
  return starts;
}

/** The spans that have begun, by rank: a binary heap, from which spans that have ended are removed when they are met. */
class Ranks {
  readonly #order: readonly number[];
  readonly #spans: readonly Span[];
  readonly #heap: number[] = [];

  constructor(order: readonly number[], spans: readonly Span[]) {
    this.#order = order;
    this.#spans = spans;
  }

  add(rank: number): void {
    const heap = this.#heap;
    let at = heap.push(rank) - 1;
    for (let above = (at - 1) >> 1; at > 0 && heap[above] > rank; above = (at - 1) >> 1) {
      heap[at] = heap[above];
      at = above;
    }
    heap[at] = rank;
  }

  /** The entry of the best span that includes a number; -1 if there is none. */
  bestAt(number: bigint): number {
    const heap = this.#heap;
    for (;;) {
      if (heap.length === 0) return -1;
      const { to, entry } = this.#spans[this.#order[heap[0]]];
      if (to >= number) return entry;
      this.#removeFirst();
    }
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = at * 2 + 1;
      if (below >= heap.length) break;
      if (below + 1 < heap.length && heap[below + 1] < heap[below]) below++;
      if (heap[below] >= last) break;
      heap[at] = heap[below];
      at = below;
    }
    heap[at] = last;
  }
}

function compare<N extends number | bigint>(a: N, b: N): number {
  return a < b ? -1 : Number(a > b);
}

/** The words of a table. */
export function intervalTable(all: readonly Start[], keyWords: number): Int32Array {
  // The end of a span that includes the greatest number is no number.
  const starts = all.filter(({ at }) => at < 1n << BigInt(32 * keyWords));
  const firstWords = starts.map(({ at }) => wordOf(at, keyWords, 0) >>> 0);
  const skippedBits = starts.length === 0 ? 0 : Math.clz32(firstWords[0] ^ firstWords[firstWords.length - 1]);
  const indexBits = starts.length >= INDEXED ? Math.min(INDEX_BITS, 32 - skippedBits) : 0;
  const indexWords = indexBits === 0 ? 0 : (1 << indexBits) + 1;
  const entriesAt = TABLE.words + starts.length * keyWords;
  const words = new Int32Array(entriesAt + starts.length + indexWords);
  words[TABLE.count] = starts.length;
  words[TABLE.skippedBits] = skippedBits;
  words[TABLE.indexBits] = indexBits;
  words[TABLE.prefix] = starts.length === 0 ? 0 : firstWords[0];
  starts.forEach(({ at, entry }, i) => {
    for (let word = 0; word < keyWords; word++)
      words[TABLE.words + i * keyWords + word] = wordOf(at, keyWords, word);
    words[entriesAt + i] = entry + 1;
  });
  const index = entriesAt + starts.length;
  for (let bucket = 0, start = 0; bucket < indexWords; bucket++) {
    while (start < starts.length && bucketOf(firstWords[start], skippedBits, indexBits) < bucket) start++;
    words[index + bucket] = start;
  }
  return words;
}

function wordOf(number: bigint, keyWords: number, word: number): number {
  return Number(BigInt.asIntN(32, number >> BigInt(32 * (keyWords - 1 - word))));
}

/** The bits of a first word that select a part of the index. */
function bucketOf(firstWord: number, skippedBits: number, indexBits: number): number {
  return (firstWord << skippedBits) >>> (32 - indexBits);
}

/**
 * The entry of the interval in which a number lies, or -1.
 *
 * @param table index of the first word of the table
 * @param key the number, with the most significant word first
 */
export function findInterval(words: Int32Array, table: number, keyWords: number, key: Int32Array): number {
  const count = words[table + TABLE.count];
  const starts = table + TABLE.words;
  const entries = starts + count * keyWords;
  /** The starts before `low` are not after the number, and those from `high` on are. */
  let [low, high] = [0, count];
  const indexBits = words[table + TABLE.indexBits];
  const skippedBits = words[table + TABLE.skippedBits];
  // A number with other first bits than all starts is before or after all of them: few numbers, so they are searched for.
  if (indexBits > 0 && Math.clz32(key[0] ^ words[table + TABLE.prefix]) >= skippedBits) {
    const index = entries + count + bucketOf(key[0], skippedBits, indexBits);
    low = words[index];
    high = words[index + 1];
  }
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isAfter(words, starts + middle * keyWords, key, keyWords)) high = middle;
    else low = middle + 1;
  }
  return low === 0 ? -1 : words[entries + low - 1] - 1;
}

/** Whether the start at an index is after a number. */
function isAfter(words: Int32Array, at: number, key: Int32Array, keyWords: number): boolean {
  for (let word = 0; word < keyWords; word++)
    if (words[at + word] !== key[word]) return isLess(key[word], words[at + word]);
  return false;
}

/** Compares words without a sign. */
function isLess(a: number, b: number): boolean {
  return a >>> 0 < b >>> 0;
}
