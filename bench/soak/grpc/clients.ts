import { setTimeout as sleep } from 'node:timers/promises';
import { SoakClient } from './client.ts';
import type { Tally } from './tally.ts';

const TICK_MS = 10;

/** A server that has not let go of its connections by then does not. */
const PATIENCE_MS = 10_000;

/** All callers. They stop and start again any number of times. */
export class SoakClients {
  readonly #clients: readonly SoakClient[];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: {
    readonly port: number;
    readonly connections: number;
    readonly seed: number;
    readonly tally: Tally;
  }) {
    const { port, connections, seed, tally } = options;
    this.#clients = Array.from(
      { length: connections },
      (_, i) => new SoakClient({ port, tally, seed: seed * 1_000 + i }),
    );
  }

  start(): void {
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      for (const client of this.#clients) client.tick(nowMs);
    }, TICK_MS);
  }

  /** Leaves all connections and waits until they are closed. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    for (const client of this.#clients) client.stop();
    const untilMs = performance.now() + PATIENCE_MS;
    while (this.#clients.some(client => client.isConnected)) {
      if (performance.now() > untilMs)
        throw new Error(`connections are still open ${PATIENCE_MS / 1_000} s after the clients left them`);
      await sleep(TICK_MS);
    }
  }
}
