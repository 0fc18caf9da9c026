import type { Cluster } from 'ioredis';
import type { Clock, Timer } from '../../../../base/clock.ts';

/** How often the map of a cluster is read again. */
const REFRESH_MS = 1_000;

/**
 * Reads again and again which server of a cluster has which keys, so that a failover is noticed.
 *
 * The client library can do it, too (`slotsRefreshInterval`). But a read that is in progress when the client
 * disconnects starts the library's timer again, for ever, and keeps the process from ending.
 */
export class ClusterMap {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  #timer: Timer | null = null;

  constructor(cluster: Cluster, clock: Clock) {
    this.#cluster = cluster;
    this.#clock = clock;
  }

  start(): void {
    this.#timer = this.#clock.after(REFRESH_MS, () => {
      // Does nothing while an earlier read is in progress. A client that is not connected reads the map when it connects.
      if (this.#cluster.status === 'ready') this.#cluster.refreshSlotsCache();
      this.start();
    });
  }

  stop(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }
}
