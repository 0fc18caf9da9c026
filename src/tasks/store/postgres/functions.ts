import type { Clock } from '../../../base/clock.ts';
import type { Argument, Call } from './connection/calls.ts';
import type { PostgresClient } from './connection/postgres-client.ts';
import { type CalledFunction, FUNCTION_SCHEMA } from './layout/functions.ts';

/**
 * Calls the functions of the store. The first argument of those that need the time is the time of the store, or null for that
 * of the server.
 */
export class Functions {
  readonly #client: PostgresClient;
  readonly #time: Clock | null;
  #writes = 0;

  constructor(client: PostgresClient, time: Clock | null) {
    this.#client = client;
    this.#time = time;
  }

  /** Number of calls that may have written something. */
  get writes(): number {
    return this.#writes;
  }

  /** The time that the store was given; null if its time is that of the server. */
  ownTime(): number | null {
    return this.#time === null ? null : this.#time.nowMs();
  }

  /** Calls a function that reads and needs no time. */
  read(name: CalledFunction, args: readonly Argument[], tenant: string): Promise<unknown> {
    return this.#client.ask({ name, args, tenant, writes: false, items: null });
  }

  /** Calls a function that reads and needs the time. */
  readNow(name: CalledFunction, args: readonly Argument[], tenant: string): Promise<unknown> {
    return this.read(name, [this.ownTime(), ...args], tenant);
  }

  /** Calls a function that writes. */
  write(name: CalledFunction, args: readonly Argument[], tenant: string): Promise<unknown> {
    return this.#write({ name, args: [this.ownTime(), ...args], tenant, writes: true, items: null });
  }

  /** Calls a function that writes several items, which answers with a list. Calls at the same time may be sent as one. */
  writeItems(
    name: CalledFunction,
    args: readonly Argument[],
    tenant: string,
    items: readonly string[],
  ): Promise<unknown> {
    return this.#write({ name, args: [this.ownTime(), ...args], tenant, writes: true, items });
  }

  /** Asks when there will be something to do. */
  look(): Promise<unknown> {
    return this.readNow('look', [], '');
  }

  /** The same; fails if nothing can be written. */
  ping(): Promise<unknown> {
    return this.writeAside('ping', [FUNCTION_SCHEMA], '');
  }

  /** Calls a function that writes, but no work for anybody. */
  writeAside(name: CalledFunction, args: readonly Argument[], tenant: string): Promise<unknown> {
    return this.#client.ask({ name, args: [this.ownTime(), ...args], tenant, writes: true, items: null });
  }

  async #write(call: Call): Promise<unknown> {
    try {
      return await this.#client.ask(call);
    } finally {
      this.#writes++;
    }
  }
}
