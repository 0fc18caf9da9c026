import type { Clock } from '../../base/clock.ts';
import { asError, Fault } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { Counter } from '../../stats/registry.ts';
import type { DecisionBatch } from '../batch.ts';
import type { BatchPool } from '../batching/batcher.ts';
import type { EngineCounters } from '../engine.ts';
import type { RuleGeneration, RuleStatistics } from '../statistics/rule-statistics.ts';
import { AnswerReader } from './answer-records.ts';
import type { Placement } from './placement.ts';
import {
  type DecideResult,
  type DecideTask,
  ENGINE_COUNTERS,
  type OverLimitDelta,
} from './thread-messages.ts';

/** Memory for answers that is kept for the next batches, and how large a piece may be for that. */
const KEPT_PIECES = 64;
const KEPT_PIECE_BYTES = 1_048_576;

/** What memory for answers begins with. */
const ANSWER_BYTES = 32_768;

/** Threads that decide batches. */
export interface DecidingThreads {
  /** Whether one of them would begin with a batch at once. */
  readonly free: boolean;
  /** Rejects when the thread was lost, or could not answer: hits of the batch may or may not be counted then. */
  run(task: DecideTask): Promise<DecideResult>;
}

export interface DecisionPoolParts {
  readonly threads: DecidingThreads;
  readonly placement: Pick<Placement, 'isForPool' | 'decidedHere' | 'decidedInPool'>;
  readonly statistics: RuleStatistics;
  readonly counters: EngineCounters;
  /** Requests that were given to the threads. */
  readonly pooled: Counter;
  /** Told how the local caches of the threads have changed. */
  readonly overLimitChanged: (delta: OverLimitDelta) => void;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** A clock that never steps back, in milliseconds with fractions. */
  readonly nowMs: () => number;
  readonly logger: Logger;
}

/** Gives batches to other threads, and hands what they answer to whom it is for. */
export class DecisionPool implements BatchPool {
  readonly #parts: DecisionPoolParts;
  readonly #reader = new AnswerReader();
  readonly #spare: ArrayBuffer[] = [];

  constructor(parts: DecisionPoolParts) {
    this.#parts = parts;
  }

  takes(requests: number, isLarge: boolean): boolean {
    const { placement, threads } = this.#parts;
    return (isLarge || placement.isForPool(requests)) && threads.free;
  }

  decidedHere(requests: number, spentMs: number): void {
    this.#parts.placement.decidedHere(requests, spentMs);
  }

  /** Never rejects. */
  async run(batch: DecisionBatch, generation: RuleGeneration): Promise<void> {
    const { threads, nowMs, placement, pooled } = this.#parts;
    const beganMs = nowMs();
    const requests = batch.size;
    generation.batches++;
    pooled.add(requests);
    try {
      const running = threads.run(this.#taskOf(batch, generation));
      const dispatchMs = nowMs() - beganMs;
      const result = await running;
      const resumedMs = nowMs();
      this.#finish(batch, result);
      placement.decidedInPool(requests, dispatchMs, nowMs() - resumedMs);
    } catch (failure) {
      this.#fail(batch, asError(failure));
    } finally {
      generation.batches--;
    }
  }

  #taskOf(batch: DecisionBatch, generation: RuleGeneration): DecideTask {
    batch.markGone();
    const { length, count } = batch.records;
    return {
      requests: batch.records.release(),
      requestBytes: length,
      requestCount: count,
      answers: this.#spare.pop() ?? new ArrayBuffer(ANSWER_BYTES),
      nowMs: this.#parts.clock.nowMs(),
      generation: generation.number,
      rules: generation.rules.buffer,
      statistics: generation.statistics.buffer,
    };
  }

  /** Statistics first: whoever has an answer finds its hits counted. */
  #finish(batch: DecisionBatch, result: DecideResult): void {
    const { statistics, counters, overLimitChanged } = this.#parts;
    ENGINE_COUNTERS.forEach((name, i) => {
      if (result.counted[i] !== 0) counters[name].add(result.counted[i]);
    });
    if (result.named !== null) for (const [name, totals] of result.named) statistics.addNamed(name, totals);
    if (result.overLimit !== null) overLimitChanged(result.overLimit);
    batch.records.take(result.requests);
    const answers = { memory: result.answers, length: result.answerBytes };
    this.#keep(this.#reader.deliver(answers, batch.replies, thrown => this.#notSent(thrown)));
  }

  #keep(memory: ArrayBuffer): void {
    if (this.#spare.length < KEPT_PIECES && memory.byteLength <= KEPT_PIECE_BYTES) this.#spare.push(memory);
  }

  /** Answers nobody OK: whether the hits are counted is not known. */
  #fail(batch: DecisionBatch, cause: Error): void {
    const { logger, counters } = this.#parts;
    const requests = batch.replies.length;
    logger.error('Decision thread crashed; its in-flight batch was rejected', {
      requests,
      error: cause.message,
    });
    const fault = new Fault(
      'internal',
      'the thread that decided this request was lost; its hits may or may not be counted',
      { cause },
    );
    counters.serviceError.add(requests);
    for (const reply of batch.replies) {
      try {
        reply.refused(fault);
      } catch (thrown) {
        this.#notSent(thrown);
      }
    }
  }

  #notSent(thrown: unknown): void {
    this.#parts.logger.error('Could not send a response (this is a bug; please report it)', {
      error: asError(thrown).stack,
    });
  }
}
