import type { Clock } from '../../base/clock.ts';
import type { FingerprintKey } from '../../counters/fingerprint.ts';
import { CompiledRules } from '../../rules/compiled-rules.ts';
import type { Counter } from '../../stats/registry.ts';
import { DecisionBatch } from '../batch.ts';
import type { Engine, EngineCounters } from '../engine.ts';
import type { OverLimitCache } from '../over-limit-cache.ts';
import { DOMAIN_NOT_FOUND, NAMED_STATS, type NamedStatistics } from '../statistics/named-rows.ts';
import { RuleGeneration } from '../statistics/rule-statistics.ts';
import { addTotal, ownTotals } from '../statistics/shared-totals.ts';
import { AnswerWriter } from './answer-records.ts';
import {
  type DecideResult,
  type DecideTask,
  ENGINE_COUNTERS,
  type NamedDelta,
  type OverLimitDelta,
} from './thread-messages.ts';

/** Generations of rules that are kept: the one in force, and the one before for batches that were under way. */
const KEPT_GENERATIONS = 2;

/** Batches in one thread at a time that are kept for the next ones. */
const KEPT_WORK = 4;

/** Counts until it is asked. */
class TakenCounter implements Counter {
  #count = 0;

  add(count: number): void {
    this.#count += count;
  }

  take(): number {
    const count = this.#count;
    this.#count = 0;
    return count;
  }
}

/** The time of the batch in hand: it stands still while there is none. */
class TaskClock implements Pick<Clock, 'nowMs'> {
  #nowMs = 0;

  readonly nowMs = (): number => this.#nowMs;

  set(nowMs: number): void {
    this.#nowMs = nowMs;
  }
}

/** What a thread makes its engine of, beside what the thread brings. */
interface ThreadEngineParts {
  readonly counters: EngineCounters;
  readonly clock: TaskClock;
}

interface ThreadDeciderParts {
  readonly makeEngine: (parts: ThreadEngineParts) => {
    readonly engine: Pick<Engine, 'run'>;
    readonly overLimit: OverLimitCache | null;
  };
  readonly fingerprintKey: FingerprintKey;
  readonly threadId: number;
}

interface Work {
  readonly batch: DecisionBatch;
  readonly named: NamedDeltas;
  readonly answers: AnswerWriter;
}

/** Decides the batches that a thread of the pool is given, with the engine that decides everywhere. */
export class ThreadDecider {
  readonly #parts: ThreadDeciderParts;
  readonly #engine: Pick<Engine, 'run'>;
  readonly #overLimit: OverLimitCache | null;
  readonly #clock = new TaskClock();
  readonly #counters = {
    storeError: new TakenCounter(),
    serviceError: new TakenCounter(),
    cancelled: new TakenCounter(),
    globalShadowMode: new TakenCounter(),
  };
  /** The one used last comes last. */
  readonly #generations = new Map<number, RuleGeneration>();
  readonly #idle: Work[] = [];
  #told: Omit<OverLimitDelta, 'threadId' | 'size'> = NOTHING_TOLD;

  constructor(parts: ThreadDeciderParts) {
    this.#parts = parts;
    const { engine, overLimit } = parts.makeEngine({ counters: this.#counters, clock: this.#clock });
    this.#engine = engine;
    this.#overLimit = overLimit;
  }

  /** Decides one batch; at once when the store counts in memory. */
  decide(task: DecideTask): DecideResult | Promise<DecideResult> {
    const work = this.#idle.pop() ?? this.#newWork();
    const { batch, answers } = work;
    batch.records.take(task.requests, task.requestBytes, task.requestCount);
    answers.records.take(task.answers);
    for (let request = 0; request < task.requestCount; request++) batch.replies.push(answers);
    this.#clock.set(task.nowMs);
    const running = this.#engine.run(batch, this.#generation(task));
    return running === undefined ? this.#finish(work) : running.then(() => this.#finish(work));
  }

  #finish(work: Work): DecideResult {
    const { batch, answers, named } = work;
    const missing = batch.size - answers.records.count;
    // Answers have no other sign of whom they are for than their place.
    if (missing !== 0) throw new Error(`${missing} answers of a batch could not be written`);
    const answerBytes = answers.records.length;
    const result: DecideResult = {
      answers: answers.records.release(),
      requests: batch.records.release(),
      answerBytes,
      counted: ENGINE_COUNTERS.map(name => this.#counters[name].take()),
      named: named.take(),
      overLimit: this.#overLimitDelta(),
    };
    batch.reset();
    if (this.#idle.length < KEPT_WORK) this.#idle.push(work);
    return result;
  }

  #newWork(): Work {
    const named = new NamedDeltas();
    return {
      batch: new DecisionBatch(this.#parts.fingerprintKey, named),
      named,
      answers: new AnswerWriter(),
    };
  }

  /** The generation of a task; made when it is new, and then the one that is unused for longest is let go of. */
  #generation(task: DecideTask): RuleGeneration {
    const generations = this.#generations;
    let generation = generations.get(task.generation);
    if (generation === undefined) {
      generation = new RuleGeneration(new CompiledRules(task.rules), task.statistics);
      for (const [oldest] of generations) {
        if (generations.size < KEPT_GENERATIONS) break;
        generations.delete(oldest);
      }
      generations.set(task.generation, generation);
    }
    return generation;
  }

  #overLimitDelta(): OverLimitDelta | null {
    const cache = this.#overLimit;
    if (cache === null) return null;
    const told = this.#told;
    const { hits, misses, evicted, expired, overwritten } = cache;
    this.#told = { hits, misses, evicted, expired, overwritten };
    return {
      threadId: this.#parts.threadId,
      size: cache.size,
      hits: hits - told.hits,
      misses: misses - told.misses,
      evicted: evicted - told.evicted,
      expired: expired - told.expired,
      overwritten: overwritten - told.overwritten,
    };
  }
}

const NOTHING_TOLD = { hits: 0, misses: 0, evicted: 0, expired: 0, overwritten: 0 };

/** Statistics of the names that the requests of one batch make, to be added up by the thread that keeps all of them. */
class NamedDeltas implements NamedStatistics {
  readonly #rows = new Map<string, Int32Array>();

  rowFor(metricKey: string): Int32Array {
    let row = this.#rows.get(metricKey);
    if (row === undefined) {
      row = ownTotals(NAMED_STATS.length);
      this.#rows.set(metricKey, row);
    }
    return row;
  }

  domainNotFound(domain: string, descriptors: number): void {
    addTotal(this.rowFor(domain), DOMAIN_NOT_FOUND, descriptors);
  }

  /** All names with what was counted under them, which is forgotten here; null for none. */
  take(): readonly NamedDelta[] | null {
    if (this.#rows.size === 0) return null;
    const deltas = [...this.#rows];
    this.#rows.clear();
    return deltas;
  }
}
