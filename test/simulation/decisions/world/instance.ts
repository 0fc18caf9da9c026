import { Outage, type OutageListener } from '../../../../src/base/outage-log.ts';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { GuardedStore } from '../../../../src/counters/guarded-store.ts';
import type { RefundMarks } from '../../../../src/counters/refund-marks.ts';
import type { CounterStore } from '../../../../src/counters/store.ts';
import { AnswerAdditions } from '../../../../src/decision/answers/additions.ts';
import type { DecisionBatch } from '../../../../src/decision/batch.ts';
import { Batcher, type GenerationSource } from '../../../../src/decision/batching/batcher.ts';
import { OverLimitCache } from '../../../../src/decision/over-limit-cache.ts';
import { type RuleGeneration, RuleStatistics } from '../../../../src/decision/statistics/rule-statistics.ts';
import { decodeRateLimitResponse, encodeRateLimitRequest } from '../../../../src/messages/client-codec.ts';
import type { RuleSet } from '../../../../src/rules/rule-set.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import type { SteeringRecord } from '../../../../src/steering/record.ts';
import { SharedRecordsReader } from '../../../../src/steering/shared-records.ts';
import { engineCounters, PLAIN_OPTIONS } from '../../../support/decisions.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { TEST_FINGERPRINT_KEY } from '../../../support/stores.ts';
import type { HostClock } from '../../world/host-clock.ts';
import type { SimulatedTime } from '../../world/simulated-time.ts';
import type { History } from '../steps/step.ts';
import type { Call, CallReply, Round, RoundWatcher } from './round.ts';
import type { LinkedInstance } from './store-link.ts';
import { type EngineWatcher, WatchedEngine } from './watched-engine.ts';
import { WatchedStore } from './watched-store.ts';

const OUTAGES: OutageListener = { began: () => {}, changed: () => {}, over: () => {} };
const OUTAGE_TEXTS = { level: 'warning', began: 'away', over: 'back', fields: {} } as const;
const LOCAL_KEYS = 1_024;
const PROBED_MS = 1_000;

/** What an instance is made of. */
export interface InstanceParts {
  readonly history: History;
  readonly time: SimulatedTime;
  readonly watcher: RoundWatcher;
  readonly number: number;
  readonly name: string;
  readonly clock: HostClock;
  readonly marks: RefundMarks;
  /** Those of the process, if the instance is one of its threads. */
  readonly statistics: RuleStatistics | null;
  /** The rules that the primary thread publishes; null if the instance is told of its rules. */
  readonly published: GenerationSource | null;
  readonly openStore: (instance: Instance) => CounterStore;
  /** The rules that it must use at this moment. */
  readonly rules: () => RuleSet;
  readonly records: () => readonly SteeringRecord[];
  /** Memory of the records of operators; null if there are never any. */
  readonly steering: SharedArrayBuffer | null;
}

/** One thread or process that decides, from its start to its end, without ports. */
export class Instance implements LinkedInstance, EngineWatcher {
  readonly number: number;
  readonly name: string;
  readonly clock: HostClock;
  readonly marks: RefundMarks;
  readonly statistics: RuleStatistics;
  readonly stats = new StatsRegistry();
  readonly logger = new KeepingLogger();
  isAlive = true;
  current: Round | null = null;
  /** The batch whose call of the store has ended last. */
  settledLast: Round | null = null;
  readonly #parts: InstanceParts;
  readonly #batcher: Batcher;
  readonly #calls = new Set<Call>();
  /** Probes of the store in progress, and when it has failed last. */
  #probes = 0;
  #failedMs = Number.NEGATIVE_INFINITY;
  #onDeath: () => void = () => {};

  constructor(parts: InstanceParts) {
    const { history, clock, marks, number, name, published } = parts;
    this.#parts = parts;
    this.number = number;
    this.name = name;
    this.clock = clock;
    this.marks = marks;
    this.statistics = parts.statistics ?? new RuleStatistics();
    this.stats.addSource(this.statistics);
    const counters = engineCounters(this.stats);
    const { failureMode, holdsBack, modes } = history;
    const isGuessing = failureMode === 'allow' || failureMode === 'deny';
    const options = {
      ...{ ...PLAIN_OPTIONS, holdBack: holdsBack, modes },
      ...(isGuessing && { uncounted: failureMode }),
    };
    const engine = new WatchedEngine(
      {
        ...{ options, counters, clock, logger: this.logger },
        additions: new AnswerAdditions(options),
        store: this.#guarded(parts.openStore(this)),
        overLimit: history.hasLocalCache ? new OverLimitCache(0, clock, marks) : null,
        random: () => 0,
        nowMs: null,
        ...(parts.steering !== null && { steering: new SharedRecordsReader(parts.steering) }),
      },
      this,
    );
    this.#batcher = new Batcher({
      ...{ engine, pool: null, named: this.statistics, window: null, earlyRequests: 16 },
      ...(published !== null && { rules: published }),
      fingerprintKey: TEST_FINGERPRINT_KEY,
      maxQueued: 100_000,
      serviceError: counters.serviceError,
      batchSizes: { record: () => {} },
    });
  }

  /** A store in a server is guarded unless its failures are those of requests. */
  #guarded(store: CounterStore): CounterStore {
    const { history, clock } = this.#parts;
    if (history.store === 'threads' || history.failureMode === 'error') return store;
    const local = () =>
      new WatchedStore(CounterTable.create(LOCAL_KEYS), this.planned, () => this.#countedLocally());
    return new GuardedStore({
      ...{ store, clock, logger: this.logger, fingerprintKey: TEST_FINGERPRINT_KEY, keyPrefix: '' },
      local: history.failureMode === 'local' ? local() : null,
      outage: new Outage(OUTAGE_TEXTS, OUTAGES, clock),
      counters: { storeError: this.stats.counter('errors'), outages: this.stats.counter('outages') },
    });
  }

  onDeath(run: () => void): void {
    this.#onDeath = run;
  }

  use(generation: RuleGeneration): void {
    this.#batcher.use(generation);
  }

  ask(call: Call): void {
    this.#calls.add(call);
    const { time } = this.#parts;
    const reply: CallReply = {
      call,
      gone: call.isGone,
      answered: response => {
        if (!this.isAlive) return;
        this.#calls.delete(call);
        call.answers.push({ atMs: time.nowMs(), response: decodeRateLimitResponse(response) });
      },
      refused: fault => {
        if (!this.isAlive) return;
        this.#calls.delete(call);
        call.answers.push({ atMs: time.nowMs(), fault });
      },
    };
    this.#batcher.decide(encodeRateLimitRequest(call.request), 'protobuf', reply);
  }

  /** As with a kill: nothing of it runs any more. */
  die(): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    for (const call of this.#calls) call.isLost = true;
    this.#onDeath();
  }

  begin(batch: DecisionBatch): Round {
    const { time, rules } = this.#parts;
    const round: Round = {
      instance: this.name,
      calls: batch.replies.map(reply => (reply as CallReply).call),
      plannedMs: time.nowMs(),
      nowMs: Math.floor(this.clock.nowMs()),
      rules: rules(),
      records: this.#parts.records(),
      batch,
      expected: [],
      isExcused: this.#isWithoutStore(),
      store: 'unasked',
    };
    this.current = round;
    return round;
  }

  ranOn(round: Round): void {
    if (round.expected.length === 0) this.#parts.watcher.planned(round);
    this.current = null;
  }

  end(round: Round): void {
    if (this.isAlive) this.#parts.watcher.answered(round);
  }

  settled(round: Round | null, store: 'answered' | 'failed'): void {
    if (store === 'failed') this.#failedMs = this.#parts.time.nowMs();
    if (round === null) {
      this.#probes--;
      return;
    }
    round.store = store;
    this.settledLast = round;
  }

  probes(): void {
    this.#probes++;
  }

  /** A store that was lost is asked again a second after each probe that fails. */
  #isWithoutStore(): boolean {
    const { time, history } = this.#parts;
    return this.#probes > 0 || time.nowMs() - this.#failedMs <= PROBED_MS + 40 * history.delayMs;
  }

  /** Before the store is asked, the engine has planned the whole batch. */
  readonly planned = (): void => {
    const round = this.current;
    if (round !== null && round.expected.length === 0) this.#parts.watcher.planned(round);
  };

  #countedLocally(): void {
    const round = this.current ?? this.settledLast;
    if (round !== null) this.#parts.watcher.countedLocally(round);
  }
}
