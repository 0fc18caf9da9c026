import type { Clock } from '../../base/clock.ts';
import type { Health } from '../../base/health.ts';
import type { Logger } from '../../base/logger.ts';
import type { QueueBounds } from '../../decision/batching/queue-room.ts';
import { RulesPublisher } from '../../decision/generations/rules-publisher.ts';
import type { Seats } from '../../decision/hot-keys/seats.ts';
import type { RuleStatistics } from '../../decision/statistics/rule-statistics.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import type { HttpEngine } from '../../transports/http/listener.ts';
import { ThreadEvents } from '../decision/thread-events.ts';
import type { DecisionLog } from '../decision-log/decision-log.ts';
import type { OverLimitFigures } from '../statistics/over-limit-figures.ts';
import { ThreadReports } from '../statistics/thread-reports.ts';
import type { OpenedStore } from '../stores/opened-store.ts';
import type { StoreHealth } from '../stores/store-health.ts';
import type { TasksConnection } from '../tasks/tasks-connection.ts';
import { ServingBounds } from './serving-bounds.ts';
import { ServingThreads } from './serving-threads.ts';

interface ServingCreation {
  readonly settings: Settings;
  /** Number of serving threads. */
  readonly count: number;
  /** The engine of the HTTP ports. The threads serve HTTP if it works in threads. */
  readonly httpEngine: HttpEngine;
  readonly store: OpenedStore;
  /** Memory of the steering records; null if they are disabled. */
  readonly steering: SharedArrayBuffer | null;
  /** Memory of `BatchFigures`. */
  readonly batchFigures: SharedArrayBuffer;
  /** Name of the channel that tells the rehearsal; see `RehearsalPublisher`. */
  readonly rehearsal: string;
  /** Null if hot keys are disabled. */
  readonly hotKeys: Seats | null;
  readonly storeHealth: StoreHealth;
  readonly health: Health;
  readonly stats: StatsRegistry;
  readonly statistics: RuleStatistics;
  /** Null when there is no local cache. */
  readonly overLimit: OverLimitFigures | null;
  /** Null if the decision log is disabled. */
  readonly decisionLog: DecisionLog | null;
  /** Opens a connection of a thread to the task service; null if that is disabled. */
  readonly tasks: () => TasksConnection | null;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly logger: Logger;
}

/** The serving threads, and what the primary thread shares with them. */
export interface Serving {
  readonly threads: ServingThreads;
  /** Passes rules on to the threads. */
  readonly rules: RulesPublisher;
  /** The bounds of the queue of the primary thread, as a part of those of the process. */
  readonly queueBounds: QueueBounds;
}

/** Creates the serving threads, without starting them. */
export function createServing(parts: ServingCreation): Serving {
  const { settings, count, httpEngine, store, steering, storeHealth, stats, statistics, overLimit } = parts;
  const { decisionLog, health, tasks, clock, random, logger } = parts;
  const rules = new RulesPublisher();
  const bounds = new ServingBounds(settings, count);
  const threads = new ServingThreads({
    settings,
    count,
    store,
    steering,
    batchFigures: parts.batchFigures,
    rehearsal: parts.rehearsal,
    hotKeys: parts.hotKeys,
    rules,
    bounds,
    decisionLog: decisionLog?.sharing ?? null,
    servesHttp: httpEngine.inThreads,
    tasks,
    health,
    stats,
    events: new ThreadEvents({ store, stats, storeHealth, overLimit: null, decisionLog, logger }),
    reports: new ThreadReports({ stats, statistics, overLimit, clock }),
    clock,
    random,
    logger,
  });
  return { threads, rules, queueBounds: bounds.ofPrimary() };
}
