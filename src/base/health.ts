/** Health of one part of the process. */
interface ComponentHealth {
  /** Whether the component works. */
  readonly ok: boolean;
  /** Whether the process is unhealthy while the component does not work. */
  readonly decides: boolean;
  /** Details, usually why the component does not work; null if there are no details. */
  readonly note: string | null;
}

/** Components by name, in the order in which they were added. They can be sent to another thread. */
export type HealthComponents = ReadonlyMap<string, ComponentHealth>;

/**
 * Health of the process (spec 3.4). The process is healthy while every component with `decides` works. Other components
 * are only reported. Components are added by name.
 */
export class Health {
  readonly #components = new Map<string, ComponentHealth>();
  readonly #listeners = new Set<(healthy: boolean) => void>();
  readonly #componentListeners = new Set<() => void>();

  /** Adds or changes a component that decides. */
  set(component: string, ok: boolean, note: string | null = null): void {
    this.#change(component, { ok, decides: true, note });
  }

  /** Adds or changes a component that does not decide. */
  report(component: string, ok: boolean, note: string | null = null): void {
    this.#change(component, { ok, decides: false, note });
  }

  /** Adopts the components of another thread, so that this object shows the same health. */
  mirror(components: HealthComponents): void {
    const before = this.healthy;
    this.#components.clear();
    for (const [name, component] of components) this.#components.set(name, component);
    this.#tell(before);
  }

  get healthy(): boolean {
    for (const { ok, decides } of this.#components.values()) if (decides && !ok) return false;
    return true;
  }

  /** Every component. */
  get components(): HealthComponents {
    return this.#components;
  }

  /** Calls `listener` when the health of the process changes. Returns a function that removes the listener. */
  onChange(listener: (healthy: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls `listener` when a component is added or changes, whether or not it decides. Returns a function that removes
   * the listener.
   */
  onComponentChange(listener: () => void): () => void {
    this.#componentListeners.add(listener);
    return () => this.#componentListeners.delete(listener);
  }

  #change(name: string, component: ComponentHealth): void {
    const known = this.#components.get(name);
    if (known !== undefined && isSame(known, component)) return;
    const before = this.healthy;
    this.#components.set(name, component);
    this.#tell(before);
  }

  #tell(before: boolean): void {
    const after = this.healthy;
    for (const listener of this.#componentListeners) listener();
    if (before !== after) for (const listener of this.#listeners) listener(after);
  }
}

function isSame(one: ComponentHealth, other: ComponentHealth): boolean {
  return one.ok === other.ok && one.decides === other.decides && one.note === other.note;
}
