import type { Functions } from './functions.ts';

/** For how long it is known when something is to be done, unless this process writes: others may write meanwhile. */
const KNOWN_MS = 1_000;
/** A look writes as well if nothing was written for this long, to see that it is possible. */
const WRITE_AFTER_MS = 1_400;
/** For how long it is known that something can be written. */
const WRITABLE_MS = 2_900;
/** For how long the clock of the server is not asked again. */
const CLOCK_KNOWN_MS = 10_000;

/** What there can be to do, for all tenants. */
type Work = 'wakeups' | 'overdue' | 'documents';

/** Values of `look`: the time of the server, and when there is something to do first; null for never. */
type Times = readonly [now: number, wakeups: number | null, overdue: number | null, documents: number | null];

const PLACE: Readonly<Record<Work, 1 | 2 | 3>> = { wakeups: 1, overdue: 2, documents: 3 };

/**
 * Knows when there will be something to do, and what time it is, so that an idle process asks the server about once a second
 * for all tenants together. It asks again when this process has written something.
 */
export class Lookout {
  readonly #functions: Functions;
  readonly #monotonicMs: () => number;
  #times: Times | null = null;
  #askedMs = Number.NEGATIVE_INFINITY;
  #writes = -1;
  #asking: Promise<Times> | null = null;
  /** The time of the server minus monotonic time, and when that was found. */
  #differenceMs: number | null = null;
  #clockMs = Number.NEGATIVE_INFINITY;
  /** When something was written. */
  #writableMs = Number.NEGATIVE_INFINITY;

  /** @param monotonicMs milliseconds of a monotonic clock */
  constructor(functions: Functions, monotonicMs: () => number) {
    this.#functions = functions;
    this.#monotonicMs = monotonicMs;
  }

  /** Whether there may be work of this kind by a time of the server; by default now. */
  async isAny(work: Work, until?: number): Promise<boolean> {
    const times = await this.#known();
    const at = times[PLACE[work]];
    return at !== null && at <= (until ?? this.#nowMs());
  }

  /** The time of the server. */
  async now(): Promise<number> {
    if (this.#monotonicMs() - this.#clockMs >= CLOCK_KNOWN_MS) await this.#ask(false);
    return this.#nowMs();
  }

  /** Resolves if the server replies and accepts writes, now or a moment ago. */
  async ping(): Promise<void> {
    if (this.#monotonicMs() - this.#writableMs >= WRITABLE_MS) await this.#ask(true);
  }

  #nowMs(): number {
    return this.#functions.ownTime() ?? Math.floor(this.#monotonicMs() + (this.#differenceMs as number));
  }

  async #known(): Promise<Times> {
    const isKnown =
      this.#monotonicMs() - this.#askedMs < KNOWN_MS &&
      this.#writes === this.#functions.writes &&
      this.#times;
    if (isKnown) return isKnown;
    const writes = this.#monotonicMs() - this.#writableMs >= WRITE_AFTER_MS;
    this.#asking ??= this.#ask(writes).finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  /** @param isWrite whether to see that something can be written */
  async #ask(isWrite: boolean): Promise<Times> {
    const { writes } = this.#functions;
    const askedMs = this.#monotonicMs();
    const times = await this.#look(isWrite);
    const receivedMs = this.#monotonicMs();
    if (isWrite) this.#writableMs = askedMs;
    // A slow reply must not move the clock.
    const [least, most] = [times[0] - receivedMs, times[0] - askedMs];
    this.#differenceMs = Math.min(Math.max(this.#differenceMs ?? most, least), most);
    this.#clockMs = askedMs;
    if (askedMs >= this.#askedMs) {
      this.#times = times;
      this.#askedMs = askedMs;
      this.#writes = writes;
    }
    return times;
  }

  async #look(isWrite: boolean): Promise<Times> {
    try {
      return (await (isWrite ? this.#functions.ping() : this.#functions.look())) as Times;
    } catch (failure) {
      this.#writableMs = Number.NEGATIVE_INFINITY;
      throw failure;
    }
  }
}
