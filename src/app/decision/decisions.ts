import { RefundMarks } from '../../counters/refund-marks.ts';
import type { Batcher } from '../../decision/batching/batcher.ts';
import { Explainer } from '../../decision/explain/explain.ts';
import type { LastingDecidingThreads } from '../../decision/pool/deciding-threads.ts';
import { BatchFigures } from '../../decision/statistics/batch-figures.ts';
import type { RuleGeneration } from '../../decision/statistics/rule-statistics.ts';
import { BucketExplainer } from '../../quota/explain-bucket.ts';
import type { QuotaDesk } from '../../quota/quota-desk.ts';
import { servingThreads } from '../../settings/thread-counts.ts';
import { SharedRecordsReader } from '../../steering/shared-records.ts';
import type { Steering } from '../../steering/steering.ts';
import type { OpenedDecisionLog } from '../decision-log/decision-log.ts';
import type { Rules } from '../rules/rules.ts';
import { ServingThreads } from '../serving/serving-threads.ts';
import { OverLimitFigures } from '../statistics/over-limit-figures.ts';
import type { OpenedStore } from '../stores/opened-store.ts';
import type { StoreHealth } from '../stores/store-health.ts';
import type { PrimaryThread } from '../surroundings.ts';
import type { TasksConnection } from '../tasks/tasks-connection.ts';
import { createBatcher } from './create-batcher.ts';
import { type DecidingSetup, observersOf } from './deciding.ts';
import { createDecisionThreads } from './decision-threads.ts';
import { engineOptions, openOverLimitCache } from './engine-settings.ts';
import { createHotKeyMemory } from './hot-keys.ts';
import { createQuotaDesk } from './quota-desk.ts';
import { ThreadEvents } from './thread-events.ts';

/** What decisions need that the service has opened. */
interface Opened {
  readonly store: OpenedStore;
  readonly storeHealth: StoreHealth;
  /** Null if steering records are disabled. */
  readonly steering: Steering | null;
  /** Null if the decision log is disabled. */
  readonly decisionLog: OpenedDecisionLog | null;
}

/** What decides in this process: the engine of the primary thread, and the threads beside it. */
export class Decisions {
  readonly setup: DecidingSetup;
  readonly batcher: Batcher;
  /** Null if the counter store cannot grant quotas, or if other threads have the gRPC connections. */
  readonly quotas: QuotaDesk | null;
  /** Explains how a request would be decided. */
  readonly explainer: Explainer;
  /** Explains what proxies would get of a bucket. */
  readonly bucketExplainer: BucketExplainer;
  /** The threads that decide batches of this thread. Null when this thread decides all of them. */
  readonly threads: LastingDecidingThreads | null;
  /** The threads that have the gRPC connections. Null when this thread has them. */
  readonly serving: ServingThreads | null;
  /** Null if steering records are disabled. */
  readonly records: SharedRecordsReader | null;
  #generation: RuleGeneration | null = null;

  /** @param tasks opens a connection of a serving thread to the task service; returns null if that is disabled */
  constructor(primary: PrimaryThread, rules: Rules, opened: Opened, tasks: () => TasksConnection | null) {
    const { settings, stats, clock, logger } = primary;
    const { store, storeHealth, steering, decisionLog } = opened;
    const { fingerprintKey, memory, refundMarks } = store;
    const setup: DecidingSetup = {
      settings,
      store: { fingerprintKey, memory, refundMarks },
      decisionLog: decisionLog?.log.sharing ?? null,
      steering: steering?.memory ?? null,
      batchFigures: BatchFigures.create().buffer,
      hotKeys: createHotKeyMemory(settings),
    };
    const overLimit = openOverLimitCache(settings, clock, store);
    const figures = overLimit === null ? null : new OverLimitFigures(overLimit, stats);
    const { statistics } = rules;
    const events = new ThreadEvents(
      { stats, statistics, rehearsal: rules.rehearsals.publisher },
      store,
      storeHealth,
      figures,
      decisionLog?.log ?? null,
    );
    const created =
      settings.workerThreads === 0 ? null : createDecisionThreads(primary, setup, statistics, events);
    this.setup = setup;
    this.threads = created?.threads ?? null;
    this.serving =
      servingThreads(settings).threads === 1
        ? null
        : new ServingThreads(primary, setup, store, events, tasks);
    this.batcher = createBatcher(primary, setup, {
      store,
      named: statistics,
      overLimit,
      observers: observersOf(setup, rules.rehearsals.publisher, decisionLog?.observer ?? null),
      pool: created?.pool ?? null,
      ...(this.serving !== null && { sharedBounds: this.serving.queueBounds }),
    });
    this.quotas =
      this.serving === null
        ? createQuotaDesk(primary, setup, {
            store,
            named: statistics,
            rules: { current: () => this.#generation },
            rehearsal: rules.rehearsals.publisher,
          })
        : null;
    this.records = setup.steering === null ? null : new SharedRecordsReader(setup.steering);
    this.bucketExplainer = new BucketExplainer({
      store: store.store,
      cacheKeyPrefix: settings.cacheKeyPrefix,
      fingerprintKey,
      steering: this.records,
      rules: () => rules.current,
      isShadow: settings.shadowMode,
    });
    this.explainer = new Explainer({
      options: engineOptions(settings),
      store: store.store,
      fingerprintKey,
      rules: () => rules.current,
      ...(this.records !== null && { steering: this.records }),
      marks: refundMarks === null ? null : new RefundMarks(refundMarks),
      clock,
      logger,
    });
  }

  /** Decides with these rules from now on, in all threads. */
  use(generation: RuleGeneration): void {
    this.#generation = generation;
    this.batcher.use(generation);
    this.serving?.rules.publish(generation);
  }
}
