/** What is known of a part of the process. */
interface ComponentHealth {
  /** Whether it works. */
  readonly ok: boolean;
  /** Whether the process is unhealthy while it does not. */
  readonly decides: boolean;
  /** What is worth knowing about it, most often why it does not work; null for nothing. */
  readonly note: string | null;
}

/**
 * Health of the process: healthy only while every component that decides is (spec 3.4). Other components are only told.
 * Components are added by name; a name that was never added does not count.
 */
export class Health {
  readonly #components = new Map<string, ComponentHealth>();
  readonly #listeners = new Set<(healthy: boolean) => void>();

  /** Adds a component that decides, or changes it. Listeners hear only changes of the whole. */
  set(component: string, ok: boolean, note: string | null = null): void {
    const before = this.healthy;
    this.#components.set(component, { ok, decides: true, note });
    const after = this.healthy;
    if (before !== after) for (const listener of this.#listeners) listener(after);
  }

  /** Adds a component that does not decide, or changes it. */
  tell(component: string, ok: boolean, note: string | null = null): void {
    this.#components.set(component, { ok, decides: false, note });
  }

  get healthy(): boolean {
    for (const { ok, decides } of this.#components.values()) if (decides && !ok) return false;
    return true;
  }

  /** Every component, in the order in which they were added. */
  get components(): ReadonlyMap<string, ComponentHealth> {
    return this.#components;
  }

  /** Calls `listener` on each change of the whole. Returns the function that ends it. */
  onChange(listener: (healthy: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
