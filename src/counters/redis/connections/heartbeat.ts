import type { Clock, Timer } from '../../../base/clock.ts';
import { mayEndWithNewConnection, RedisReplyError } from '../protocol/reply-error.ts';
import type { RedisLink } from './redis-link.ts';

/** Servers and load balancers close what is idle for a minute or more; a batch should not be what finds out. */
const EVERY_MS = 5_000;

/** Asks connections that nobody uses for a PONG, so that they are not closed as idle, and leave a server that is gone. */
export class Heartbeat {
  readonly #clock: Clock;
  readonly #links: Iterable<RedisLink>;
  /** Those that have not answered yet: without a time-out they may never do. */
  readonly #asked = new Set<RedisLink>();
  #timer: Timer | null = null;

  /** @param links those that are up and unused, at any time */
  constructor(clock: Clock, links: Iterable<RedisLink>) {
    this.#clock = clock;
    this.#links = links;
  }

  /** Once, however often it is called. */
  start(): void {
    if (this.#timer === null) this.#wait();
  }

  stop(): void {
    this.#timer?.cancel();
  }

  #wait(): void {
    this.#timer = this.#clock.after(EVERY_MS, () => {
      this.#wait();
      for (const link of this.#links) if (!this.#asked.has(link)) void this.#ask(link);
    });
  }

  /** A batch that is lent the connection meanwhile just follows: answers come in the order of the questions. */
  async #ask(link: RedisLink): Promise<void> {
    this.#asked.add(link);
    try {
      await link.send('PING', []);
    } catch (failure) {
      // Every other failure has ended the connection.
      if (failure instanceof RedisReplyError && mayEndWithNewConnection(failure.message)) {
        link.renew(failure.message);
      }
    } finally {
      this.#asked.delete(link);
    }
  }
}
