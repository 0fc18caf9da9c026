/** Repeatable draws (mulberry32): the same seed gives the same values on every run. */
export class Draws {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** A whole number from 0 to `below` - 1. */
  number(below: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return Math.floor((((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32) * below);
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.number(choices.length)];
  }

  list<T>(atMost: number, make: () => T): T[] {
    return Array.from({ length: this.number(atMost + 1) }, make);
  }

  shuffled<T>(items: readonly T[]): T[] {
    const order = [...items];
    for (let i = order.length - 1; i > 0; i--) {
      const j = this.number(i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }
}
