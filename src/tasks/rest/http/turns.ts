/** A queue in which tenants take turns: the next item is the oldest one of the tenant that was served longest ago. */
export class Turns<T> {
  readonly #tenants = new Map<string, Set<T>>();

  get isEmpty(): boolean {
    return this.#tenants.size === 0;
  }

  add(tenant: string, item: T): void {
    const items = this.#tenants.get(tenant);
    if (items === undefined) this.#tenants.set(tenant, new Set([item]));
    else items.add(item);
  }

  /** Removes an item from the queue. Returns false if the item is not in the queue. */
  remove(tenant: string, item: T): boolean {
    const items = this.#tenants.get(tenant);
    if (items?.delete(item) !== true) return false;
    if (items.size === 0) this.#tenants.delete(tenant);
    return true;
  }

  next(): T | null {
    for (const [tenant, items] of this.#tenants) {
      this.#tenants.delete(tenant);
      for (const item of items) {
        items.delete(item);
        if (items.size > 0) this.#tenants.set(tenant, items);
        return item;
      }
    }
    return null;
  }
}
