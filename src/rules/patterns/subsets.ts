import { MAX_STATES, MAX_STEPS, MAX_TRANSITIONS } from './bounds.ts';
import { ALWAYS, type Dfa, NEVER } from './dfa.ts';
import type { Place } from './expression.ts';
import type { Nfa } from './nfa.ts';
import { tooLarge } from './pattern-fault.ts';
import type { Symbols } from './symbols.ts';

/** What is before or after a place in a text. */
type Side = 'nothing' | 'word' | 'other';

/** Where the search may be, and what it has read last. */
interface Subset {
  /** Nodes that read a code point. */
  readonly nodes: Uint16Array;
  /** Nodes of places that depend on what follows. */
  readonly places: Uint16Array;
  readonly before: Side;
}

/**
 * The deterministic automaton that searches a text for the pattern. Its states are sets of nodes (subset construction).
 * Its symbols are those of the pattern.
 *
 * @throws PatternFault if it would be too large
 */
export function dfaOf(nfa: Nfa, symbols: Symbols): Dfa {
  return new Subsets(nfa, symbols).dfa();
}

class Subsets {
  readonly #nfa: Nfa;
  readonly #width: number;
  /** The symbols of each set. */
  readonly #symbolsOf: readonly (readonly number[])[];
  readonly #sides: readonly Side[];
  /** By state, except for the two that every automaton has. */
  readonly #subsets: (Subset | null)[] = [null, null];
  readonly #numbers = new Map<string, number>();
  /** By node: the last visit. */
  readonly #visited: Int32Array;
  #visit = 0;
  #steps = 0;

  constructor(nfa: Nfa, symbols: Symbols) {
    this.#nfa = nfa;
    this.#width = symbols.count;
    this.#symbolsOf = nfa.sets.map(set => symbols.of(set));
    const words = new Set(nfa.words < 0 ? [] : this.#symbolsOf[nfa.words]);
    this.#sides = Array.from({ length: symbols.count }, (_, symbol) =>
      words.has(symbol) ? 'word' : 'other',
    );
    this.#visited = new Int32Array(nfa.nodes.length);
  }

  dfa(): Dfa {
    const rows: number[][] = [NEVER, ALWAYS].map(state => new Array<number>(this.#width).fill(state));
    const atEnd = [0, 1];
    const start = this.#enter([], 'nothing');
    for (let state = rows.length; state < this.#subsets.length; state++) {
      const subset = this.#subsets[state] as Subset;
      rows.push(this.#leave(subset));
      atEnd.push(this.#resolve(subset, 'nothing') === null ? 1 : 0);
      if (rows.length * this.#width > MAX_TRANSITIONS) throw tooLarge();
    }
    return { start, width: this.#width, next: Int32Array.from(rows.flat()), atEnd: Uint8Array.from(atEnd) };
  }

  /** The states that follow a subset, by symbol. */
  #leave(subset: Subset): number[] {
    const reached: number[][] = Array.from({ length: this.#width }, () => []);
    this.#read(subset.nodes, reached, null);
    const matched = new Set<Side>();
    if (subset.places.length > 0) {
      for (const after of ['word', 'other'] as const) {
        const further = this.#resolve(subset, after);
        if (further === null) matched.add(after);
        else this.#read(further, reached, after);
      }
    }
    const rest = new Map<Side, number>();
    return reached.map((entries, symbol) => {
      const side = this.#sides[symbol];
      if (matched.has(side)) return ALWAYS;
      if (entries.length > 0) return this.#enter(entries, side);
      const state = rest.get(side) ?? this.#enter(entries, side);
      rest.set(side, state);
      return state;
    });
  }

  /** Adds what follows these nodes to `reached`, by symbol. With `after`, only symbols of this kind are read. */
  #read(nodes: Iterable<number>, reached: readonly number[][], after: Side | null): void {
    for (const number of nodes) {
      const node = this.#nfa.nodes[number];
      if (node.kind !== 'one') continue;
      const symbols = this.#symbolsOf[node.set];
      this.#spend(symbols.length);
      for (const symbol of symbols) {
        if (after === null || this.#sides[symbol] === after) reached[symbol].push(node.next);
      }
    }
  }

  /**
   * The state of a search that has reached these nodes. A match may also begin here, so the start of the pattern is always
   * among them.
   */
  #enter(entries: readonly number[], before: Side): number {
    const nodes: number[] = [];
    const places: number[] = [];
    const stack = [...entries, this.#nfa.start];
    this.#visit++;
    while (stack.length > 0) {
      const number = stack.pop() as number;
      if (!this.#isFirstVisit(number)) continue;
      const node = this.#nfa.nodes[number];
      if (node.kind === 'match') return ALWAYS;
      if (node.kind === 'split') stack.push(node.next, node.other);
      else if (node.kind === 'one') nodes.push(number);
      else if (node.place !== 'start') places.push(number);
      else if (before === 'nothing') stack.push(node.next);
    }
    if (nodes.length + places.length === 0) return NEVER;
    return this.#numberOf(nodes, places, before);
  }

  #numberOf(nodes: readonly number[], places: readonly number[], before: Side): number {
    const subset: Subset = { nodes: sorted(nodes), places: sorted(places), before };
    // Without places, it makes no difference what is before.
    const kind = places.length > 0 ? before : '';
    const key = `${kind}${places.length}/${textOf(subset.places)}${textOf(subset.nodes)}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    if (this.#subsets.length >= MAX_STATES) throw tooLarge();
    this.#numbers.set(key, this.#subsets.length);
    return this.#subsets.push(subset) - 1;
  }

  /**
   * The nodes that a subset reaches through its places, now that it is known what follows. Returns null if this is a match.
   */
  #resolve(subset: Subset, after: Side): number[] | null {
    const further: number[] = [];
    const stack = [...subset.places];
    this.#visit++;
    while (stack.length > 0) {
      const number = stack.pop() as number;
      if (!this.#isFirstVisit(number)) continue;
      const node = this.#nfa.nodes[number];
      if (node.kind === 'match') return null;
      if (node.kind === 'split') stack.push(node.next, node.other);
      else if (node.kind === 'one') further.push(number);
      else if (isPlace(node.place, subset.before, after)) stack.push(node.next);
    }
    return further;
  }

  #isFirstVisit(node: number): boolean {
    this.#spend(1);
    if (this.#visited[node] === this.#visit) return false;
    this.#visited[node] = this.#visit;
    return true;
  }

  #spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > MAX_STEPS) throw tooLarge();
  }
}

function sorted(numbers: readonly number[]): Uint16Array {
  return new Uint16Array(numbers).sort();
}

/** A short text that only equal numbers have. */
function textOf(numbers: Uint16Array): string {
  return Buffer.from(numbers.buffer).toString('latin1');
}

function isPlace(place: Place, before: Side, after: Side): boolean {
  switch (place) {
    case 'start':
      return before === 'nothing';
    case 'end':
      return after === 'nothing';
    case 'boundary':
      return (before === 'word') !== (after === 'word');
    case 'no boundary':
      return (before === 'word') === (after === 'word');
  }
}
