import type { Logger } from '../../base/logger.ts';
import { logLine } from '../../base/threads/thread-log.ts';
import type { ThreadMessage, ThreadOutage } from '../../decision/pool/thread-messages.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import type { DecisionLog } from '../decision-log/decision-log.ts';
import type { OverLimitFigures } from '../statistics/over-limit-figures.ts';
import { ThreadsStats } from '../statistics/thread-stats.ts';
import type { OpenedStore } from '../stores/opened-store.ts';
import type { StoreHealth } from '../stores/store-health.ts';

interface ThreadEventsParts {
  readonly store: Pick<OpenedStore, 'threadEnded'>;
  readonly stats: StatsRegistry;
  readonly storeHealth: StoreHealth;
  /** Null when there is no local cache. */
  readonly overLimit: OverLimitFigures | null;
  /** Null if the decision log is disabled. */
  readonly decisionLog: DecisionLog | null;
  readonly logger: Logger;
}

/** Receives in the primary thread what threads that decide report about themselves: log lines, statistics, their store. */
export class ThreadEvents {
  readonly #parts: ThreadEventsParts;
  readonly #stats: ThreadsStats;

  constructor(parts: ThreadEventsParts) {
    this.#parts = parts;
    this.#stats = new ThreadsStats(parts.stats);
  }

  received(message: ThreadMessage): void {
    const { storeHealth, decisionLog, logger } = this.#parts;
    if (message.kind === 'log') logLine(logger, message);
    else if (message.kind === 'decisions') decisionLog?.write(message.lines);
    else if (message.kind === 'stats') this.#stats.add(message.threadId, message);
    else if (message.kind === 'outage') reportOutage(storeHealth, message);
    else if (message.kind === 'connections')
      storeHealth.connectionsChanged(message.connected, message.threadId);
  }

  /** Call when a thread executes nothing anymore. */
  ended(threadId: number): void {
    const { store, storeHealth, overLimit } = this.#parts;
    store.threadEnded(threadId);
    this.#stats.ended(threadId);
    overLimit?.ended(threadId);
    storeHealth.threadEnded(threadId);
  }
}

function reportOutage(health: StoreHealth, { texts, change, threadId }: ThreadOutage): void {
  if (change.kind === 'began') health.began(texts, change.reason, change.atStart, threadId);
  else if (change.kind === 'changed') health.changed(texts, change.reason, threadId);
  else health.over(texts, change.failedCalls, threadId);
}
