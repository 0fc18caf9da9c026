import type { Clock, Timer } from '../../../base/clock.ts';
import type { RedisPool } from '../connections/pool.ts';
import type { Sentinels } from './sentinels.ts';

/**
 * How often sentinels are asked whether the master is still the same. After a failover that an operator asked for they
 * leave the old master as it is for eight seconds, and what is counted there is lost.
 */
const EVERY_MS = 1_000;

/**
 * Leaves a master that is none any more. A connection mostly ends with the mastership, and what counts on a replica is
 * told READONLY; a master that was cut off from the others goes on answering, and what it counts is lost.
 */
export class MasterWatch {
  readonly #sentinels: Sentinels;
  readonly #pool: RedisPool;
  readonly #clock: Clock;
  #timer: Timer | null = null;
  #stopped = false;

  constructor(sentinels: Sentinels, pool: RedisPool, clock: Clock) {
    this.#sentinels = sentinels;
    this.#pool = pool;
    this.#clock = clock;
  }

  start(): void {
    if (this.#stopped) return;
    this.#timer = this.#clock.after(EVERY_MS, () => {
      void this.#look();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    try {
      // While there is no connection each attempt to make one asks the sentinels.
      if (this.#pool.up) {
        const { shown } = await this.#sentinels.findMaster(true);
        if (!this.#stopped)
          this.#pool.leaveOthers(shown, `the sentinels say that ${shown} is the master now`);
      }
    } catch {
      // Which sentinel said what is in the log; the connection is kept.
    }
    this.start();
  }
}
