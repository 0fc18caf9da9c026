import { MAX_TRANSITIONS } from './bounds.ts';
import { STRAY_BYTE } from './code-points.ts';
import { ALWAYS, type Dfa, NEVER } from './dfa.ts';
import { Partition } from './partition.ts';
import { tooLarge } from './pattern-fault.ts';
import type { Symbols } from './symbols.ts';
import {
  continuationOf,
  following,
  ILL_FORMED,
  isContinuationByte,
  type Utf8Tree,
  utf8Tree,
} from './utf8-tree.ts';

/**
 * The automaton that reads the bytes of UTF-8 instead of symbols.
 *
 * The characters of a text are taken from left to right: where the next bytes are a well-formed character, this one,
 * otherwise one stray byte. That bytes are not well-formed is known only later, so a state of this automaton is a state of
 * the other one before a character, and what is known of the character. If the bytes turn out to be ill-formed, each of
 * them is a stray byte.
 *
 * @throws PatternFault if it would be too large
 */
export function overBytes(dfa: Dfa, symbols: Symbols): { readonly dfa: Dfa; readonly bytes: Partition } {
  const tree = utf8Tree(symbols);
  const bytes = byteClasses(tree);
  return { dfa: new ByteStates(dfa, symbols, tree).dfa(bytes.examples()), bytes };
}

/** The classes of bytes that say the same everywhere in a character. */
function byteClasses({ leads, continuations }: Utf8Tree): Partition {
  // Values that are not symbols are negative.
  const offset = continuations.length + 2;
  const bytes = new Partition(leads.length);
  bytes.refine(byte => leads[byte] + offset);
  bytes.refine(byte => (isContinuationByte(byte) ? 1 : 0));
  for (const continuation of continuations) {
    if (continuation.next.every(value => value === continuation.next[0])) continue;
    bytes.refine(byte => following(continuation, byte) + offset);
  }
  return bytes;
}

class ByteStates {
  readonly #dfa: Dfa;
  readonly #tree: Utf8Tree;
  readonly #strayByte: number;
  /** By continuation: what the character can be. */
  readonly #symbolsOf: readonly (readonly number[])[];
  readonly #numbers = new Map<number, number>();
  /** By state: the state of the other automaton, and the number of the continuation or -1. */
  readonly #states: { readonly state: number; readonly continuation: number }[] = [];

  constructor(dfa: Dfa, symbols: Symbols, tree: Utf8Tree) {
    this.#dfa = dfa;
    this.#tree = tree;
    this.#strayByte = symbols.at(STRAY_BYTE);
    this.#symbolsOf = symbolsOf(tree);
    this.#number(NEVER, -1);
    this.#number(ALWAYS, -1);
  }

  /** @param examples a byte of each class */
  dfa(examples: readonly number[]): Dfa {
    const start = this.#number(this.#dfa.start, -1);
    const next: number[] = [];
    const atEnd: number[] = [];
    for (let number = 0; number < this.#states.length; number++) {
      const { state, continuation } = this.#states[number];
      for (const byte of examples) next.push(this.#read(state, continuation, byte));
      const last = continuation < 0 ? state : this.#asStrayBytes(state, continuation);
      atEnd.push(this.#dfa.atEnd[last]);
      if (next.length > MAX_TRANSITIONS) throw tooLarge();
    }
    return { start, width: examples.length, next: Int32Array.from(next), atEnd: Uint8Array.from(atEnd) };
  }

  #read(state: number, continuation: number, byte: number): number {
    if (continuation < 0) return this.#after(state, this.#tree.leads[byte]);
    const value = following(this.#tree.continuations[continuation], byte);
    if (value !== ILL_FORMED) return this.#after(state, value);
    return this.#read(this.#asStrayBytes(state, continuation), -1, byte);
  }

  /** The number of the state after a byte that says `value`. */
  #after(state: number, value: number): number {
    if (value === ILL_FORMED) return this.#number(this.#next(state, this.#strayByte), -1);
    if (value >= 0) return this.#number(this.#next(state, value), -1);
    return this.#number(state, continuationOf(value));
  }

  /**
   * The state that follows whatever the rest of a character is, also if it is ill-formed. Returns -1 if it makes a
   * difference. This saves most states of incomplete characters before they are created.
   */
  #settled(state: number, continuation: number): number {
    const settled = this.#next(state, this.#strayByte);
    const isSettled =
      this.#next(settled, this.#strayByte) === settled &&
      this.#symbolsOf[continuation].every(symbol => this.#next(state, symbol) === settled);
    return isSettled ? settled : -1;
  }

  /** The state after the known bytes of a character, if they are stray bytes. */
  #asStrayBytes(state: number, continuation: number): number {
    let after = state;
    for (let i = 0; i < this.#tree.continuations[continuation].known; i++) {
      after = this.#next(after, this.#strayByte);
    }
    return after;
  }

  #next(state: number, symbol: number): number {
    return this.#dfa.next[state * this.#dfa.width + symbol];
  }

  #number(state: number, continuation: number): number {
    const key = state * (this.#tree.continuations.length + 1) + continuation + 1;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const settled = continuation < 0 ? -1 : this.#settled(state, continuation);
    const number = settled < 0 ? this.#states.push({ state, continuation }) - 1 : this.#number(settled, -1);
    this.#numbers.set(key, number);
    return number;
  }
}

/** The symbols of the characters that begin with the bytes of a continuation, by continuation. */
function symbolsOf({ continuations }: Utf8Tree): number[][] {
  const symbols: number[][] = [];
  // A continuation comes after those that it leads to.
  for (const { next } of continuations) {
    const reached = new Set<number>();
    for (const value of new Set(next)) {
      if (value >= 0) reached.add(value);
      else if (value !== ILL_FORMED) for (const symbol of symbols[continuationOf(value)]) reached.add(symbol);
    }
    symbols.push([...reached]);
  }
  return symbols;
}
