import type { Clock } from '../../base/clock.ts';
import { asError, Fault } from '../../base/fault.ts';
import type { Logger } from '../../base/logger.ts';
import type { Counter } from '../../stats/registry.ts';
import type { DecisionBatch } from '../batch.ts';
import type { StoreSpans } from '../batch-observer.ts';
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

/** Maximum number and size of buffers for answers that are kept for reuse. */
const KEPT_PIECES = 64;
const KEPT_PIECE_BYTES = 1_048_576;

/** Initial size of a buffer for answers. */
const ANSWER_BYTES = 32_768;

/** Threads that decide batches. */
export interface DecidingThreads {
  /** Whether a thread would start with a batch immediately. */
  readonly free: boolean;
  /** Rejects if the thread crashed or failed: the hits of the batch may or may not be counted. */
  run(task: DecideTask): Promise<DecideResult>;
}

interface DecisionPoolParts {
  readonly threads: DecidingThreads;
  readonly placement: Pick<Placement, 'isForPool' | 'decidedHere' | 'decidedInPool'>;
  readonly statistics: RuleStatistics;
  readonly counters: EngineCounters;
  /** Counts the requests that were passed to the threads. */
  readonly pooled: Counter;
  /** Receives the changes of the local caches of the threads. */
  readonly overLimitChanged: (delta: OverLimitDelta) => void;
  /** Traces the calls of the store. Default: they are not traced. */
  readonly storeSpans?: StoreSpans;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** A clock that never steps back, in milliseconds with fractions. */
  readonly nowMs: () => number;
  readonly logger: Logger;
}

/** Passes batches to other threads, and delivers their answers. */
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
    generation.begin();
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
      generation.end();
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

  /** Statistics are added before the answers are delivered, so that a caller with an answer finds its hits counted. */
  #finish(batch: DecisionBatch, result: DecideResult): void {
    const { statistics, counters, overLimitChanged, storeSpans } = this.#parts;
    ENGINE_COUNTERS.forEach((name, i) => {
      if (result.counted[i] !== 0) counters[name].add(result.counted[i]);
    });
    if (result.named !== null) for (const [name, totals] of result.named) statistics.addNamed(name, totals);
    if (result.overLimit !== null) overLimitChanged(result.overLimit);
    if (result.timedCall !== null) storeSpans?.called(batch.replies, result.timedCall);
    batch.records.take(result.requests);
    const answers = { memory: result.answers, length: result.answerBytes };
    this.#keep(this.#reader.deliver(answers, batch.replies, thrown => this.#notSent(thrown)));
  }

  #keep(memory: ArrayBuffer): void {
    if (this.#spare.length < KEPT_PIECES && memory.byteLength <= KEPT_PIECE_BYTES) this.#spare.push(memory);
  }

  /** Refuses all requests of the batch: their hits may or may not be counted. */
  #fail(batch: DecisionBatch, cause: Error): void {
    const { logger, counters } = this.#parts;
    const requests = batch.replies.length;
    logger.error('Decision thread crashed; its in-flight batch was rejected', {
      requests,
      error: cause.message,
    });
    const fault = new Fault(
      'internal',
      'the thread that decided this request crashed; its hits may or may not be counted',
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
