import type { OverLimitDelta, ThreadMessage, ThreadOutage } from '../../decision/pool/thread-messages.ts';
import type { RuleStatistics } from '../../decision/statistics/rule-statistics.ts';
import type { RehearsalPublisher } from '../../rehearsal/rehearsal-channel.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import { ThreadsStats } from '../../stats/thread-stats.ts';
import type { DecisionLog } from '../decision-log/decision-log.ts';
import type { OverLimitFigures } from '../statistics/over-limit-figures.ts';
import type { OpenedStore } from '../stores/opened-store.ts';
import type { StoreHealth } from '../stores/store-health.ts';

/** What the events of threads change in the primary thread. */
interface Changed {
  readonly stats: StatsRegistry;
  readonly statistics: RuleStatistics;
  readonly rehearsal: Pick<RehearsalPublisher, 'attach'>;
}

/** Receives in the primary thread what threads that decide tell about themselves: statistics, decisions, their store. */
export class ThreadEvents {
  readonly #stats: ThreadsStats;
  readonly #statistics: RuleStatistics;
  readonly #rehearsal: Changed['rehearsal'];
  readonly #store: Pick<OpenedStore, 'threadEnded'>;
  readonly #storeHealth: StoreHealth;
  readonly #overLimit: OverLimitFigures | null;
  readonly #decisionLog: DecisionLog | null;

  /**
   * @param overLimit null when there is no local cache
   * @param decisionLog null if the decision log is disabled
   */
  constructor(
    { stats, statistics, rehearsal }: Changed,
    store: Pick<OpenedStore, 'threadEnded'>,
    storeHealth: StoreHealth,
    overLimit: OverLimitFigures | null,
    decisionLog: DecisionLog | null,
  ) {
    this.#stats = new ThreadsStats(stats);
    this.#statistics = statistics;
    this.#rehearsal = rehearsal;
    this.#store = store;
    this.#storeHealth = storeHealth;
    this.#overLimit = overLimit;
    this.#decisionLog = decisionLog;
  }

  received(threadId: number, message: ThreadMessage): void {
    switch (message.kind) {
      case 'stats':
        this.#stats.add(threadId, message.stats);
        break;
      case 'named':
        this.#statistics.addReport(message.named);
        break;
      case 'over_limit':
        this.overLimitChanged(message.overLimit);
        break;
      case 'decisions':
        this.#decisionLog?.write(message.lines);
        break;
      case 'follows_rehearsal':
        this.#rehearsal.attach(message.port);
        break;
      case 'outage':
        reportOutage(this.#storeHealth, threadId, message);
        break;
      case 'connections':
        this.#storeHealth.connectionsChanged(message.connected, threadId);
    }
  }

  /** Adds the changes of the local cache of a thread. */
  overLimitChanged(delta: OverLimitDelta): void {
    this.#overLimit?.changed(delta);
  }

  /** Call when a thread executes nothing anymore. */
  ended(threadId: number): void {
    this.#store.threadEnded(threadId);
    this.#stats.ended(threadId);
    this.#overLimit?.ended(threadId);
    this.#storeHealth.threadEnded(threadId);
  }
}

function reportOutage(health: StoreHealth, threadId: number, { texts, change }: ThreadOutage): void {
  if (change.kind === 'began') health.began(texts, change.reason, change.atStart, threadId);
  else if (change.kind === 'changed') health.changed(texts, change.reason, threadId);
  else health.over(texts, change.failedCalls, threadId);
}
