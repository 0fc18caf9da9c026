interface WeightedTurnsOptions<T> {
  /** The amount of work of an item; at least 1. */
  readonly weightOf: (item: T) => number;
  /** Weight that a tenant is served in one turn. */
  readonly quantum: number;
}

/** Bounds of one {@link WeightedTurns.take}. */
interface TakeBounds {
  readonly items: number;
  /** Total weight of the items. A single item may exceed it. */
  readonly weight: number;
}

interface Line<T> {
  readonly tenant: string;
  readonly items: T[];
  /** Index of the oldest item that waits. */
  first: number;
  /** Weight that the tenant may still be served in this turn. Negative after an item that was heavier than the rest. */
  credit: number;
}

/** Taken items are removed from the array when there are this many of them. */
const MAX_TAKEN = 256;

/**
 * A queue of work in which tenants take turns by weight. A tenant that was served more than the quantum in one turn is
 * passed over until the other tenants have been served as much. An item of a tenant with nothing else in the queue
 * waits for one turn of each other tenant, however much they have queued. The items of a tenant stay in order.
 *
 * A tenant that is alone in the queue is never held back, and that work is not charged to it later.
 */
export class WeightedTurns<T> {
  readonly #options: WeightedTurnsOptions<T>;
  /** Tenants with items, in the order of their turns. */
  readonly #lines = new Map<string, Line<T>>();

  constructor(options: WeightedTurnsOptions<T>) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  add(tenant: string, item: T): void {
    const line = this.#lines.get(tenant);
    if (line !== undefined) line.items.push(item);
    else this.#lines.set(tenant, { tenant, items: [item], first: 0, credit: this.#options.quantum });
  }

  /** Removes the next items from the queue, at least one if there is any. */
  take(bounds: TakeBounds): T[] {
    const taken: T[] = [];
    let left = bounds.weight;
    for (const line of this.#lines.values()) {
      left = this.#serve(line, taken, bounds.items, left);
      if (left <= 0) break;
    }
    return taken;
  }

  /** Takes items of one tenant until its turn ends. Returns the weight that is left, 0 if nothing more may be taken. */
  #serve(line: Line<T>, taken: T[], most: number, weightLeft: number): number {
    const { weightOf, quantum } = this.#options;
    let left = weightLeft;
    while (line.first < line.items.length) {
      if (line.credit <= 0) {
        if (this.#lines.size > 1) {
          this.#endTurn(line);
          return left;
        }
        line.credit = quantum;
      }
      const item = line.items[line.first];
      const weight = weightOf(item);
      if (taken.length === most || (taken.length > 0 && weight > left)) {
        line.items.splice(0, line.first);
        line.first = 0;
        return 0;
      }
      taken.push(item);
      line.first++;
      line.credit -= weight;
      left -= weight;
    }
    this.#lines.delete(line.tenant);
    return left;
  }

  #endTurn(line: Line<T>): void {
    line.credit += this.#options.quantum;
    this.#lines.delete(line.tenant);
    this.#lines.set(line.tenant, line);
    if (line.first < MAX_TAKEN) return;
    line.items.splice(0, line.first);
    line.first = 0;
  }
}
