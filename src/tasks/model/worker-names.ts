/** Names of statistics of single workers. Domains have no dots; names of workers may have some. */
const OF_WORKER = /^tasks\.worker\.([^.]+)\.(.+)\.(\w+)$/;

/** Stands for all workers beyond the bound. No domain and no worker can have this name, because of the `_`. */
const OTHER = '_other';

/**
 * The workers that have statistics of their own: the first ones that are asked for, up to a bound. All others share one
 * name, so that tenants cannot make statistics without end. A worker keeps its place until the process ends.
 */
export class WorkerNames {
  readonly #max: number;
  readonly #known = new Set<string>();

  /** @param max number of workers with statistics of their own; 0 for no statistics of workers */
  constructor(max: number) {
    this.#max = max;
  }

  /** Whether there are statistics of workers. */
  get isEnabled(): boolean {
    return this.#max > 0;
  }

  /** Whether a worker has statistics of its own. It gets a place if one is left. */
  has(tenant: string, worker: string): boolean {
    const name = `${tenant}.${worker}`;
    if (this.#known.has(name)) return true;
    if (this.#known.size >= this.#max) return false;
    this.#known.add(name);
    return true;
  }

  /** The beginning of the names of the statistics of a worker, with a dot at the end. */
  prefixOf(tenant: string, worker: string): string {
    return `tasks.worker.${this.has(tenant, worker) ? `${tenant}.${worker}` : `${OTHER}.${OTHER}`}.`;
  }

  /**
   * The name under which this thread shows a statistic of another thread, which has given its places to the workers that
   * it has seen. Names of other statistics stay the same. Null for an age of a worker without a place here, because ages
   * cannot be added up.
   */
  readonly nameHere = (name: string): string | null => {
    const [, tenant, worker, statistic] = OF_WORKER.exec(name) ?? [];
    if (tenant === undefined || tenant === OTHER) return name;
    if (statistic === 'oldest_due' && !this.has(tenant, worker)) return null;
    return `${this.prefixOf(tenant, worker)}${statistic}`;
  };
}
