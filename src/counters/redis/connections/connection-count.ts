import type { Counter } from '../../../stats/registry.ts';

interface ConnectionCounters {
  /** Connections that came up. */
  readonly opened: Counter;
  /** Those of them that ended, for whatever reason. */
  readonly closed: Counter;
}

/** The connections of one instance of Redis: all of its pool, to all of its nodes. */
export class ConnectionCount {
  readonly #counters: ConnectionCounters;
  readonly #onChange: (connected: boolean) => void;
  #active = 0;

  /** @param onChange told when the first connection comes up and when the last one ends */
  constructor(counters: ConnectionCounters, onChange: (connected: boolean) => void = () => {}) {
    this.#counters = counters;
    this.#onChange = onChange;
  }

  get active(): number {
    return this.#active;
  }

  opened(): void {
    this.#counters.opened.add(1);
    if (++this.#active === 1) this.#onChange(true);
  }

  closed(): void {
    this.#counters.closed.add(1);
    if (--this.#active === 0) this.#onChange(false);
  }
}
