/**
 * The first elements of a long list in some order, without sorting the list: a heap of the elements that are first so far,
 * with the last of them at its top.
 */
export class FirstOf<Element> {
  readonly #count: number;
  readonly #order: (a: Element, b: Element) => number;
  readonly #heap: Element[] = [];

  /**
   * @param count how many elements are wanted
   * @param order negative if `a` comes before `b`; never 0 for different elements
   */
  constructor(count: number, order: (a: Element, b: Element) => number) {
    this.#count = count;
    this.#order = order;
  }

  add(element: Element): void {
    const heap = this.#heap;
    if (heap.length < this.#count) {
      heap.push(element);
      this.#rise(heap.length - 1);
    } else if (this.#order(element, heap[0]) < 0) {
      heap[0] = element;
      this.#sink();
    }
  }

  sorted(): Element[] {
    return [...this.#heap].sort(this.#order);
  }

  #rise(start: number): void {
    const heap = this.#heap;
    for (let at = start; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (this.#order(heap[at], heap[parent]) < 0) return;
      [heap[at], heap[parent]] = [heap[parent], heap[at]];
      at = parent;
    }
  }

  #sink(): void {
    const heap = this.#heap;
    for (let at = 0; ; ) {
      let last = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heap.length && this.#order(heap[child], heap[last]) > 0) last = child;
      }
      if (last === at) return;
      [heap[at], heap[last]] = [heap[last], heap[at]];
      at = last;
    }
  }
}
