import type { Clock } from '../base/clock.ts';
import { asError } from '../base/fault.ts';
import type { Logger } from '../base/logger.ts';
import { RedisReplyError } from '../clients/redis/errors.ts';
import type { SendToRedis } from './steering-store.ts';

/** After this number of successive requests for the time without a reply, it is no longer asked for. */
const MAX_UNANSWERED = 3;
/** A difference of this size or more is logged. */
const TOLD_MS = 1_000;

/**
 * The clock of the Redis server. Records end by it, so that they end at the same moment in all processes, however the clocks
 * of the processes differ.
 *
 * The reply to TIME shows only that the difference was within a range, whose width is the time until the reply arrived. The
 * known difference is kept while it is in the range, so it settles at the narrowest range and does not follow delays.
 */
export class RecordClock {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #changed: (aheadMs: number) => void;
  #aheadMs = 0;
  #unanswered = 0;
  #isReported = false;

  /** @param changed called with {@link RecordClock.aheadMs} when it has changed */
  constructor(clock: Clock, logger: Logger, changed: (aheadMs: number) => void) {
    this.#clock = clock;
    this.#logger = logger;
    this.#changed = changed;
  }

  /** How many milliseconds the clock of Redis is ahead of that of this process. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /**
   * Asks Redis for its time. If Redis refuses this, or a proxy closes the connection, records end by the clock of this process.
   * @throws (rejects with) what `send` rejects with, except for error replies
   */
  async read(send: SendToRedis): Promise<void> {
    if (this.#unanswered >= MAX_UNANSWERED) return;
    this.#unanswered++;
    const sentMs = this.#clock.nowMs();
    try {
      const redisMs = timeOf(await send('TIME', []));
      this.#unanswered = 0;
      this.#take(redisMs, { sentMs, receivedMs: this.#clock.nowMs() });
    } catch (failure) {
      const isRefused = failure instanceof RedisReplyError;
      if (isRefused) this.#unanswered = MAX_UNANSWERED;
      if (this.#unanswered >= MAX_UNANSWERED) {
        this.#logger.warning(NO_TIME, { error: asError(failure).message });
      }
      if (!isRefused) throw failure;
    }
  }

  #take(
    redisMs: number,
    { sentMs, receivedMs }: { readonly sentMs: number; readonly receivedMs: number },
  ): void {
    const least = redisMs - receivedMs;
    const most = redisMs + 1 - sentMs;
    // The clock was set meanwhile.
    if (least > most) return;
    const aheadMs = Math.min(Math.max(this.#aheadMs, least), most);
    if (aheadMs === this.#aheadMs) return;
    this.#aheadMs = aheadMs;
    this.#changed(aheadMs);
    if (Math.abs(aheadMs) < TOLD_MS || this.#isReported) return;
    this.#isReported = true;
    this.#logger.warning(DIFFERENT, { ahead_seconds: aheadMs / 1_000 });
  }
}

/**
 * The time in a reply to TIME, in milliseconds since the epoch.
 * @throws Error if it is another reply
 */
export function timeOf(reply: unknown): number {
  const [seconds, microseconds] = Array.isArray(reply) ? reply.map(Number) : [];
  if (!(seconds > 0)) throw new Error('unexpected reply to TIME');
  return seconds * 1_000 + Math.floor(microseconds / 1_000);
}

const NO_TIME =
  'Redis does not tell its time; overrides, bans and passes end by the clock of this process. Allow TIME for this user';

const DIFFERENT =
  'The clocks of Redis and of this process differ; overrides, bans and passes end by the clock of Redis. ' +
  'Synchronize the clocks';
