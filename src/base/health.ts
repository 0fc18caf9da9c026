/**
 * Health of the process: healthy only while every component is (spec 3.4).
 * Components are added by name; a name that was never added does not count.
 */
export class Health {
  readonly #components = new Map<string, boolean>();
  readonly #notes = new Map<string, string>();
  readonly #listeners = new Set<(healthy: boolean) => void>();

  /** Adds a component, or changes one that is there. Listeners hear only changes of the whole. */
  set(component: string, healthy: boolean): void {
    const before = this.healthy;
    this.#components.set(component, healthy);
    const after = this.healthy;
    if (before !== after) for (const listener of this.#listeners) listener(after);
  }

  get healthy(): boolean {
    for (const healthy of this.#components.values()) if (!healthy) return false;
    return true;
  }

  /** Says what is worth knowing about a component that is healthy all the same; null when nothing is any more. */
  note(component: string, text: string | null): void {
    if (text === null) this.#notes.delete(component);
    else this.#notes.set(component, text);
  }

  /** What is worth knowing, by component. */
  get notes(): ReadonlyMap<string, string> {
    return this.#notes;
  }

  /** Every component and whether it is healthy, in the order in which they were added. */
  get components(): ReadonlyMap<string, boolean> {
    return this.#components;
  }

  /** Calls `listener` on each change of the whole. Returns the function that ends it. */
  onChange(listener: (healthy: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
