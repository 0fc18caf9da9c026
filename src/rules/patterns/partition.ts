/** More than any value by which items are told apart. */
const VALUES = 2 ** 24;

/** Items that are divided into classes, step by step: items of a class have had the same value each time. */
export class Partition {
  readonly classOf: Int32Array;
  count = 1;

  constructor(items: number) {
    this.classOf = new Int32Array(items);
  }

  /**
   * Divides each class by the value of its items, from -1 to 16 million. Classes are numbered in the order of their first
   * items.
   */
  refine(value: (item: number) => number): void {
    const numbers = new Map<number, number>();
    for (let item = 0; item < this.classOf.length; item++) {
      const key = this.classOf[item] * VALUES + value(item) + 1;
      const known = numbers.get(key);
      if (known === undefined) numbers.set(key, numbers.size);
      this.classOf[item] = known ?? numbers.size - 1;
    }
    this.count = numbers.size;
  }

  /** One item of each class, by class. */
  examples(): number[] {
    const examples: number[] = [];
    for (let item = this.classOf.length - 1; item >= 0; item--) examples[this.classOf[item]] = item;
    return examples;
  }
}
