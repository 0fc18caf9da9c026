import type { ThreadFigures } from './thread-figures.ts';

/** Below this busy share, 0 to 1, a thread answers quickly, so its connections stay where they are. */
const BUSY = 0.7;

/** A thread with this much less to do could take over a connection. */
const DIFFERENCE = 0.25;

/** Number of looks in a row with the same uneven load, because a burst is over sooner. */
const LASTING_LOOKS = 5;

/** Number of looks after a move without another one. Callers need time to reconnect, and figures to show the result. */
const REST_LOOKS = 10;

/** A connection that should move to another thread. */
interface Move {
  /** Index of the thread that has the connection. */
  readonly from: number;
  /** The largest part of the work of the thread, 0 to 1, that may move: a larger one would only move the overload. */
  readonly mostShare: number;
}

/**
 * Finds a thread whose connections cause much more work than those of others.
 *
 * The kernel distributes connections at random, so with few connections one thread has several busy ones while another
 * has none. Of 8 equal connections on 4 threads, the busiest thread has 44 % at first instead of 25 %; when one of its
 * connections reconnects every ten seconds, it has 30 % after a minute (`bench/part/connection-balance.ts`).
 */
export class Balance {
  readonly #figures: Pick<ThreadFigures, 'all'>;
  #busiest = -1;
  #looks = 0;
  #rest = 0;

  constructor(figures: Pick<ThreadFigures, 'all'>) {
    this.#figures = figures;
  }

  /** Call once a second. Returns the move that should be made now; null for none. */
  look(): Move | null {
    const threads = this.#figures.all();
    const shares = threads.map(({ busy }) => busy);
    const most = Math.max(...shares);
    const least = Math.min(...shares);
    const busiest = shares.indexOf(most);
    const isUneven = most >= BUSY && most - least >= DIFFERENCE && threads[busiest].connections > 1;
    this.#looks = isUneven && busiest === this.#busiest ? this.#looks + 1 : isUneven ? 1 : 0;
    this.#busiest = busiest;
    if (this.#rest > 0) this.#rest--;
    if (this.#rest > 0 || this.#looks < LASTING_LOOKS) return null;
    this.#looks = 0;
    this.#rest = REST_LOOKS;
    return { from: busiest, mostShare: (most - least) / most };
  }
}
