import type { Clock } from '../../base/clock.ts';
import { Fault } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { CounterBatch } from '../batch.ts';
import type { CounterStore } from '../store.ts';
import { type Chunk, groupChunks, slotChunks } from './chunks.ts';
import type { CountingCommands, Tally } from './counting-commands.ts';
import { FailureLog } from './failure-log.ts';
import { PipelinedCommands } from './pipelined-commands.ts';
import type { RedisLink } from './redis-link.ts';
import { blamesKey, mayEndWithNewConnection, RedisReplyError, refusesScripts } from './reply-error.ts';
import { ScriptedCommands } from './scripted-commands.ts';

export interface RedisCounterStoreParts {
  readonly link: RedisLink;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The longest text of Redis that is passed on. */
const MAX_REASON_CHARACTERS = 300;

/**
 * Counters in one Redis server. A batch is one command, unless it is very large; then its parts are sent one after the
 * other, and the first that fails ends it.
 */
export class RedisCounterStore implements CounterStore {
  readonly name = 'redis';
  readonly #link: RedisLink;
  readonly #scripted: CountingCommands;
  readonly #pipelined: CountingCommands;
  readonly #failures: FailureLog;

  constructor({ link, clock, logger }: RedisCounterStoreParts) {
    this.#link = link;
    this.#scripted = new ScriptedCommands(link);
    this.#pipelined = new PipelinedCommands(link);
    this.#failures = new FailureLog(clock, (reason, times) =>
      logger.error('Redis could not count', { address: link.address, reason, times }),
    );
  }

  start(): Promise<void> {
    return this.#link.start();
  }

  stop(): Promise<void> {
    return this.#link.stop();
  }

  async increment(batch: CounterBatch): Promise<void> {
    await this.#count(batch, slotChunks(batch), (commands, chunk) => commands.increment(batch, chunk));
    batch.spreadTotals();
  }

  incrementHoldingBack(batch: CounterBatch): Promise<void> {
    return this.#count(batch, groupChunks(batch), (commands, chunk) => commands.holdBack(batch, chunk));
  }

  async #count(
    batch: CounterBatch,
    chunks: Iterable<Chunk>,
    run: (commands: CountingCommands, chunk: Chunk) => Promise<Tally>,
  ): Promise<void> {
    try {
      for (const chunk of chunks) {
        const { counted, failure } = await run(
          this.#link.takesScripts ? this.#scripted : this.#pipelined,
          chunk,
        );
        if (failure === '') continue;
        if (counted === 0 && !blamesKey(failure)) throw new RedisReplyError(failure);
        batch.failureText ||= failure.slice(0, MAX_REASON_CHARACTERS);
      }
    } catch (failure) {
      throw this.#failed(failure);
    }
    if (batch.failureText !== '') this.#failures.failed(batch.failureText);
  }

  /** Nothing of the batch is known to be counted. */
  #failed(failure: unknown): unknown {
    if (failure instanceof RedisReplyError) {
      const reason = failure.message.slice(0, MAX_REASON_CHARACTERS);
      this.#failures.failed(reason);
      // A connection that is made anew finds out whether scripts are taken.
      const refused = this.#link.takesScripts && refusesScripts(failure);
      if (refused || mayEndWithNewConnection(reason)) this.#link.renew(reason);
      return new Fault('store_failed', `Redis at ${this.#link.address}: ${reason}`);
    }
    if (failure instanceof Fault) this.#failures.failed(failure.message);
    return failure;
  }
}
