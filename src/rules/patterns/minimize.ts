import { ALWAYS, type Dfa, NEVER } from './dfa.ts';

/**
 * The smallest automaton that matches the same texts (Hopcroft's algorithm). A state from which nothing can match becomes
 * {@link NEVER}, and one from which everything matches becomes {@link ALWAYS}.
 */
export function minimized(dfa: Dfa): Dfa {
  const blocks = new Blocks(dfa.atEnd);
  const sources = new Sources(dfa);
  const waiting = [0, 1];
  const isWaiting = [true, true];
  while (waiting.length > 0) {
    const splitter = waiting.pop() as number;
    isWaiting[splitter] = false;
    const members = blocks.members(splitter);
    for (let symbol = 0; symbol < dfa.width; symbol++) {
      for (const state of members) {
        const end = sources.end(symbol, state);
        for (let i = sources.begin(symbol, state); i < end; i++) blocks.mark(sources.states[i]);
      }
      for (const { block, created } of blocks.split()) {
        const next = isWaiting[block] || blocks.size(created) <= blocks.size(block) ? created : block;
        isWaiting[created] = false;
        isWaiting[next] = true;
        waiting.push(next);
      }
    }
  }
  return renumbered(dfa, blocks);
}

/** The states that lead to a state, by symbol. */
class Sources {
  readonly states: Int32Array;
  readonly #begins: Int32Array;
  readonly #count: number;

  constructor({ next, width, atEnd }: Dfa) {
    this.#count = atEnd.length;
    this.#begins = new Int32Array(width * this.#count + 1);
    this.states = new Int32Array(next.length);
    for (let i = 0; i < next.length; i++) this.#begins[(i % width) * this.#count + next[i] + 1]++;
    for (let i = 1; i < this.#begins.length; i++) this.#begins[i] += this.#begins[i - 1];
    const filled = this.#begins.slice();
    for (let i = 0; i < next.length; i++) {
      this.states[filled[(i % width) * this.#count + next[i]]++] = Math.floor(i / width);
    }
  }

  begin(symbol: number, state: number): number {
    return this.#begins[symbol * this.#count + state];
  }

  end(symbol: number, state: number): number {
    return this.#begins[symbol * this.#count + state + 1];
  }
}

/**
 * The states in blocks that are split until all states of a block are equivalent. The states of a block are beside each
 * other, the marked ones first.
 */
class Blocks {
  readonly blockOf: Int32Array;
  readonly #states: Int32Array;
  readonly #places: Int32Array;
  readonly #begins = [0];
  readonly #ends: number[];
  readonly #marked = [0];
  #touched: number[] = [];

  /** Divides the states into two blocks: those whose value is 0, and the others. There are states of both kinds. */
  constructor(values: Uint8Array) {
    this.blockOf = new Int32Array(values.length);
    this.#states = Int32Array.from(values.keys());
    this.#places = Int32Array.from(values.keys());
    this.#ends = [values.length];
    values.forEach((value, state) => {
      if (value !== 0) this.mark(state);
    });
    this.split();
  }

  members(block: number): Int32Array {
    return this.#states.slice(this.#begins[block], this.#ends[block]);
  }

  size(block: number): number {
    return this.#ends[block] - this.#begins[block];
  }

  /** Marks a state, once. */
  mark(state: number): void {
    const block = this.blockOf[state];
    const place = this.#begins[block] + this.#marked[block];
    if (this.#places[state] < place) return;
    if (this.#marked[block] === 0) this.#touched.push(block);
    const other = this.#states[place];
    this.#swap(state, other);
    this.#marked[block]++;
  }

  /** Divides the blocks that have marked states and others: the marked ones get a new block. Removes all marks. */
  split(): { block: number; created: number }[] {
    const divided: { block: number; created: number }[] = [];
    for (const block of this.#touched) {
      const begin = this.#begins[block];
      const end = begin + this.#marked[block];
      this.#marked[block] = 0;
      if (end === this.#ends[block]) continue;
      const created = this.#begins.push(begin) - 1;
      this.#ends.push(end);
      this.#marked.push(0);
      this.#begins[block] = end;
      for (let place = begin; place < end; place++) this.blockOf[this.#states[place]] = created;
      divided.push({ block, created });
    }
    this.#touched = [];
    return divided;
  }

  #swap(a: number, b: number): void {
    const placeOfA = this.#places[a];
    this.#places[a] = this.#places[b];
    this.#places[b] = placeOfA;
    this.#states[this.#places[a]] = a;
    this.#states[placeOfA] = b;
  }
}

/** The automaton with one state for each block that the start can reach, numbered by their distance from it. */
function renumbered(dfa: Dfa, blocks: Blocks): Dfa {
  const { width } = dfa;
  const numbers = new Map([
    [blocks.blockOf[NEVER], NEVER],
    [blocks.blockOf[ALWAYS], ALWAYS],
  ]);
  const examples = [NEVER, ALWAYS];
  const numberOf = (state: number): number => {
    const block = blocks.blockOf[state];
    const known = numbers.get(block);
    if (known !== undefined) return known;
    numbers.set(block, examples.length);
    return examples.push(state) - 1;
  };
  const start = numberOf(dfa.start);
  const next: number[] = [];
  for (let number = 0; number < examples.length; number++) {
    const row = examples[number] * width;
    for (let symbol = 0; symbol < width; symbol++) next.push(numberOf(dfa.next[row + symbol]));
  }
  const atEnd = Uint8Array.from(examples, state => dfa.atEnd[state]);
  return { start, width, next: Int32Array.from(next), atEnd };
}
