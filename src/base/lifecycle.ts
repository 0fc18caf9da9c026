/**
 * What lives longer than a call: listeners, watchers, store links, timers.
 *
 * `stop` before `start` and a second `stop` are harmless. `stop` while `start` runs ends the start where it would wait
 * for long, but need not wait for it: what the start opens later is closed by the next `stop`, after the start has
 * ended. {@link ServiceStack} does that, so a service need not. After a `stop` that no start overlapped nothing of it
 * is left running.
 */
export interface Service {
  readonly name: string;
  start(): Promise<void>;
  stop(): Promise<void>;
}

interface Entry {
  readonly service: Service;
  /** Settles as the start does; null once it has. */
  starting: Promise<void> | null;
}

/**
 * Starts services in order and stops them in reverse, once: after `stop` nothing is started any more.
 * When one fails to start, those already started are stopped before the failure is passed on.
 */
export class ServiceStack {
  readonly #entries: Entry[] = [];
  #stopping: Promise<void> | null = null;

  /** @throws Error when the service fails to start, or `stop` was called before or meanwhile: it does not run then */
  async start(service: Service): Promise<void> {
    if (this.#stopping !== null) throw new Error(`${service.name} is not started: all is being stopped`);
    const entry: Entry = { service, starting: service.start() };
    this.#entries.push(entry);
    try {
      await entry.starting;
    } catch (failure) {
      entry.starting = null;
      // The first failure is what the caller must learn; that others do not stop either often follows from it.
      await this.stop().catch(() => {});
      throw failure;
    }
    entry.starting = null;
    if (this.#stopping !== null) throw new Error(`${service.name} was stopped while it started`);
  }

  /**
   * Stops all that runs, last first, one that is still starting included. One that fails does not keep the others from
   * being stopped.
   *
   * @throws AggregateError with every failure, once all were stopped
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
  // Whoever started it hears why a start failed, and whether it stops is told by the stop below.
  if (starting !== null) await Promise.allSettled([service.stop(), starting]);
  await service.stop();
}
