import type { Clock } from '../../../base/clock.ts';
import type { Argument } from './connection/calls.ts';
import type { PostgresClient } from './connection/postgres-client.ts';

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
  read(name: string, args: readonly Argument[], tenant: string): Promise<unknown> {
    return this.#client.ask({ name, args, tenant, writes: false });
  }

  /** Calls a function that reads and needs the time. */
  readNow(name: string, args: readonly Argument[], tenant: string): Promise<unknown> {
    return this.#client.ask({ name, args: [this.#now(), ...args], tenant, writes: false });
  }

  /** Calls a function that writes. */
  write(name: string, args: readonly Argument[], tenant: string): Promise<unknown> {
    return this.#client.ask({ name, args: [this.#now(), ...args], tenant, writes: true });
  }

  #now(): number | null {
    return this.#time === null ? null : this.#time.nowMs();
  }
}
