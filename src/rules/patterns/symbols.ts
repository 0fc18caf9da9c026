import { type CodePoints, STRAY_BYTE } from './code-points.ts';
import { Partition } from './partition.ts';

/**
 * The alphabet of a pattern. Code points that no set of the pattern tells apart are one symbol, so that the automaton has
 * a few symbols instead of a million characters.
 */
export class Symbols {
  /** The first code point of each range. All code points of a range are the same symbol. */
  readonly #starts: readonly number[];
  readonly #partition: Partition;

  constructor(sets: readonly CodePoints[]) {
    const starts = new Set([0, STRAY_BYTE]);
    for (const set of sets) {
      for (let i = 0; i < set.length; i += 2) starts.add(set[i]).add(set[i + 1] + 1);
    }
    starts.delete(STRAY_BYTE + 1);
    this.#starts = [...starts].sort((a, b) => a - b);
    this.#partition = new Partition(this.#starts.length);
    for (const set of sets) {
      const inside = this.#inside(set);
      this.#partition.refine(range => inside[range]);
    }
  }

  get count(): number {
    return this.#partition.count;
  }

  /** The symbols of a set that the alphabet was made for. */
  of(set: CodePoints): number[] {
    const symbols = new Set<number>();
    this.#inside(set).forEach((inside, range) => {
      if (inside === 1) symbols.add(this.#partition.classOf[range]);
    });
    return [...symbols];
  }

  /** The symbol of a code point, or of a stray byte. */
  at(codePoint: number): number {
    return this.#partition.classOf[this.#rangeAt(codePoint)];
  }

  /** Whether all code points from `first` to `last` are in one range, and so the same symbol. */
  areOne(first: number, last: number): boolean {
    return this.#rangeAt(first) === this.#rangeAt(last);
  }

  /** 1 for each range that is in the set. */
  #inside(set: CodePoints): Uint8Array {
    const inside = new Uint8Array(this.#starts.length);
    for (let i = 0, range = 0; i < set.length; i += 2) {
      while (this.#starts[range] < set[i]) range++;
      for (; this.#starts[range] <= set[i + 1]; range++) inside[range] = 1;
    }
    return inside;
  }

  #rangeAt(codePoint: number): number {
    let low = 0;
    let high = this.#starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.#starts[middle] <= codePoint) low = middle;
      else high = middle;
    }
    return low;
  }
}
