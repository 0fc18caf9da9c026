/** Health of one part of the process. */
interface ComponentHealth {
  /** Whether the component works. */
  readonly ok: boolean;
  /** Whether the process is unhealthy while the component does not work. */
  readonly decides: boolean;
  /** Details, usually why the component does not work; null if there are no details. */
  readonly note: string | null;
}

/**
 * Health of the process (spec 3.4). The process is healthy while every component with `decides` works. Other components
 * are only reported. Components are added by name.
 */
export class Health {
  readonly #components = new Map<string, ComponentHealth>();
  readonly #listeners = new Set<(healthy: boolean) => void>();

  /** Adds or changes a component that decides. Listeners are called only if the health of the process changes. */
  set(component: string, ok: boolean, note: string | null = null): void {
    const before = this.healthy;
    this.#components.set(component, { ok, decides: true, note });
    const after = this.healthy;
    if (before !== after) for (const listener of this.#listeners) listener(after);
  }

  /** Adds or changes a component that does not decide. */
  report(component: string, ok: boolean, note: string | null = null): void {
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

  /** Calls `listener` when the health of the process changes. Returns a function that removes the listener. */
  onChange(listener: (healthy: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
