import { MAX_NODES } from './bounds.ts';
import { type CodePoints, WORD_CHARACTERS } from './code-points.ts';
import type { Expression, Place } from './expression.ts';
import { tooLarge } from './pattern-fault.ts';

/**
 * A node of a nondeterministic automaton (Thompson's construction). `next` is the number of the node that follows; a
 * split is followed by two.
 */
type Node =
  /** Reads a code point of the set with this number. */
  | { readonly kind: 'one'; readonly set: number; readonly next: number }
  | { readonly kind: 'split'; next: number; readonly other: number }
  /** Reads nothing, and is passed only at such a place. */
  | { readonly kind: 'place'; readonly place: Place; readonly next: number }
  | { readonly kind: 'match' };

/** The nondeterministic automaton of a pattern. */
export interface Nfa {
  readonly nodes: readonly Node[];
  readonly start: number;
  readonly sets: readonly CodePoints[];
  /** The number of the set of characters of words, or -1 if it makes no difference where words start and end. */
  readonly words: number;
}

/** @throws PatternFault if the automaton would be too large */
export function nfaOf(expression: Expression): Nfa {
  const builder = new NfaBuilder();
  const start = builder.build(expression, builder.add({ kind: 'match' }));
  const { nodes } = builder;
  const words = nodes.some(node => node.kind === 'place' && node.place.endsWith('boundary'))
    ? builder.setNumber(WORD_CHARACTERS)
    : -1;
  return { nodes, start, sets: builder.sets, words };
}

class NfaBuilder {
  readonly nodes: Node[] = [];
  readonly sets: CodePoints[] = [];
  readonly #numbers = new Map<string, number>();
  #built = 0;

  add(node: Node): number {
    if (this.nodes.length >= MAX_NODES) throw tooLarge();
    return this.nodes.push(node) - 1;
  }

  setNumber(set: CodePoints): number {
    const key = set.join();
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    this.#numbers.set(key, this.sets.length);
    return this.sets.push(set) - 1;
  }

  /** Adds the nodes of an expression that is followed by the node `next`. Returns the number of the first one. */
  build(expression: Expression, next: number): number {
    // Copies of an empty group add no nodes, but take time as well.
    if (++this.#built > MAX_NODES) throw tooLarge();
    switch (expression.kind) {
      case 'one':
        return this.add({ kind: 'one', set: this.setNumber(expression.of), next });
      case 'place':
        return this.add({ kind: 'place', place: expression.place, next });
      case 'sequence':
        return expression.parts.reduceRight((entry, part) => this.build(part, entry), next);
      case 'choice':
        return expression.options
          .map(option => this.build(option, next))
          .reduceRight((other, entry) => this.add({ kind: 'split', next: entry, other }));
      case 'repeat':
        return this.#repeat(expression, next);
    }
  }

  #repeat({ part, least, most }: Expression & { kind: 'repeat' }, next: number): number {
    let entry = next;
    let copies = 0;
    if (most === Number.POSITIVE_INFINITY) {
      const loop: Node = { kind: 'split', next: 0, other: next };
      entry = this.add(loop);
      loop.next = this.build(part, entry);
      if (least > 0) {
        entry = loop.next;
        copies = 1;
      }
    } else {
      for (let i = least; i < most; i++) {
        entry = this.add({ kind: 'split', next: this.build(part, entry), other: next });
      }
    }
    for (; copies < least; copies++) entry = this.build(part, entry);
    return entry;
  }
}
