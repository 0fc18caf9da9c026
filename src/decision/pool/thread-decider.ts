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
import { OverLimitDeltas } from './over-limit-deltas.ts';
import { type DecideResult, type DecideTask, ENGINE_COUNTERS, type NamedDelta } from './thread-messages.ts';

/** Number of generations to keep: the active one, and the previous one for batches in flight. */
const KEPT_GENERATIONS = 2;

/** Maximum number of idle batches that are kept for reuse. */
const KEPT_WORK = 4;

/** A counter that is reset when it is read. */
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

/** The time of the current batch, as set by the primary thread. */
class TaskClock implements Pick<Clock, 'nowMs'> {
  #nowMs = 0;

  readonly nowMs = (): number => this.#nowMs;

  set(nowMs: number): void {
    this.#nowMs = nowMs;
  }
}

/** The parts of the engine that the decider provides. */
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

/** Decides batches in a pool thread, with the same engine as the primary thread. */
export class ThreadDecider {
  readonly #parts: ThreadDeciderParts;
  readonly #engine: Pick<Engine, 'run'>;
  readonly #overLimit: OverLimitDeltas | null;
  readonly #clock = new TaskClock();
  readonly #counters = {
    storeError: new TakenCounter(),
    serviceError: new TakenCounter(),
    cancelled: new TakenCounter(),
    globalShadowMode: new TakenCounter(),
    banned: new TakenCounter(),
    passed: new TakenCounter(),
  };
  /** In the order in which they were first used. */
  readonly #generations = new Map<number, RuleGeneration>();
  readonly #idle: Work[] = [];

  constructor(parts: ThreadDeciderParts) {
    this.#parts = parts;
    const { engine, overLimit } = parts.makeEngine({ counters: this.#counters, clock: this.#clock });
    this.#engine = engine;
    this.#overLimit = overLimit === null ? null : new OverLimitDeltas(overLimit, parts.threadId);
  }

  /** Decides one batch, synchronously with the embedded store. */
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
    // Answers are assigned to requests by their position, so none may be missing.
    if (missing !== 0) throw new Error(`${missing} answers of a batch could not be written`);
    const answerBytes = answers.records.length;
    const result: DecideResult = {
      answers: answers.records.release(),
      requests: batch.records.release(),
      answerBytes,
      counted: ENGINE_COUNTERS.map(name => this.#counters[name].take()),
      named: named.take(),
      overLimit: this.#overLimit?.take() ?? null,
      timedCall: batch.counters.timedCall,
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

  /** The generation of a task. A new generation replaces the oldest one. */
  #generation(task: DecideTask): RuleGeneration {
    const generations = this.#generations;
    let generation = generations.get(task.generation);
    if (generation === undefined) {
      generation = new RuleGeneration(new CompiledRules(task.rules), {
        number: task.generation,
        statistics: task.statistics,
      });
      for (const [oldest] of generations) {
        if (generations.size < KEPT_GENERATIONS) break;
        generations.delete(oldest);
      }
      generations.set(task.generation, generation);
    }
    return generation;
  }
}

/** Statistics of one batch with names made from request values. The primary thread adds them up. */
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

  /** Removes and returns all names with their totals; null for none. */
  take(): readonly NamedDelta[] | null {
    if (this.#rows.size === 0) return null;
    const deltas = [...this.#rows];
    this.#rows.clear();
    return deltas;
  }
}
