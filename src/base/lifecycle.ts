/**
 * Something that lives longer than a call: a listener, a watcher, a store client, a timer.
 *
 * `stop` before `start` and a second `stop` do nothing. `stop` while `start` runs cancels long waits of the start, but
 * does not have to wait until the start has settled. The start may open resources after that. {@link ServiceStack}
 * therefore calls `stop` again when the start has settled. A `stop` that does not overlap with a start releases all
 * resources.
 */
export interface Service {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface Entry {
  readonly service: Service;
  /** Settles with the start; null when the start has settled. */
  starting: Promise<void> | null;
}

/**
 * Starts services in order and stops them once, in reverse order. After `stop`, no service can be started. If a service
 * fails to start, the services that were started before it are stopped, and then the failure is thrown.
 */
export class ServiceStack {
  readonly #entries: Entry[] = [];
  #stopping: Promise<void> | null = null;

  /**
   * @throws Error if the service fails to start, or `stop` is called before or during the start. It does not run then.
   */
  async start(service: Service): Promise<void> {
    if (this.#stopping !== null) throw new Error(`cannot start ${service.name} during shutdown`);
    const entry: Entry = { service, starting: service.start() };
    this.#entries.push(entry);
    try {
      await entry.starting;
    } catch (failure) {
      entry.starting = null;
      // The caller needs the first failure. Failures to stop are often a consequence of it.
      await this.stop().catch(() => {});
      throw failure;
    }
    entry.starting = null;
    if (this.#stopping !== null) throw new Error(`${service.name} was stopped while it started`);
  }

  /**
   * Stops all services in reverse order, including a service that is still starting. If a service fails to stop, the
   * others are stopped nevertheless.
   *
   * @throws AggregateError with all failures, after all services have been stopped
   */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  async #stopAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let entry = this.#entries.pop(); entry !== undefined; entry = this.#entries.pop()) {
      try {
        await stopEntry(entry);
      } catch (failure) {
        failures.push(failure);
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'some services did not stop cleanly');
  }
}

async function stopEntry({ service, starting }: Entry): Promise<void> {
  // Both results are ignored here: the caller of `start` receives a failed start, and the `stop` below is the final
  // one.
  if (starting !== null) await Promise.allSettled([service.stop(), starting]);
  await service.stop();
}
