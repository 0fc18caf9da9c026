import type { Clock } from '../../../base/clock.ts';
import type { Argument } from './connection/calls.ts';
import type { PostgresClient } from './connection/postgres-client.ts';
import type { CalledFunction } from './layout/functions.ts';

/**
 * Calls the functions of the store. The first argument of those that need the time is the time of the store, or null for that
 * of the server.
 */
export class Functions {
  readonly #client: PostgresClient;
  readonly #time: Clock | null;

  constructor(client: PostgresClient, time: Clock | null) {
    this.#client = client;
    this.#time = time;
  }

  /** Calls a function that reads and needs no time. */
  read(name: CalledFunction, args: readonly Argument[], tenant: string): Promise<unknown> {
    return this.#client.ask({ name, args, tenant, writes: false, items: null });
  }

  /** Calls a function that reads and needs the time. */
  readNow(name: CalledFunction, args: readonly Argument[], tenant: string): Promise<unknown> {
    return this.#client.ask({ name, args: [this.#now(), ...args], tenant, writes: false, items: null });
  }

  /** Calls a function that writes. */
  write(name: CalledFunction, args: readonly Argument[], tenant: string): Promise<unknown> {
    return this.#client.ask({ name, args: [this.#now(), ...args], tenant, writes: true, items: null });
  }

  /** Calls a function that writes several items, which answers with a list. Calls at the same time may be sent as one. */
  writeItems(
    name: CalledFunction,
    args: readonly Argument[],
    tenant: string,
    items: readonly string[],
  ): Promise<unknown> {
    return this.#client.ask({ name, args: [this.#now(), ...args], tenant, writes: true, items });
  }

  #now(): number | null {
    return this.#time === null ? null : this.#time.nowMs();
  }
}
