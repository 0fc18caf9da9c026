import { threadId } from 'node:worker_threads';
import { systemClock } from '../base/clock.ts';
import type { LogLevel } from '../base/logger.ts';
import { Engine } from '../decision/engine.ts';
import type { DecideResult, DecideTask } from '../decision/pool/task.ts';
import { ThreadDecider } from '../decision/pool/thread-decider.ts';
import type { ThreadMessage } from '../decision/pool/thread-messages.ts';
import type { Settings } from '../settings/table.ts';
import { StatsRegistry } from '../stats/registry.ts';
import { engineOptions, openOverLimitCache } from './engine-settings.ts';
import { loadStoreFactory, type StoreSharing } from './stores.ts';
import { ThreadLogger } from './thread-logger.ts';
import { StatsReporter } from './thread-stats.ts';

/** What a decision thread is given at its start. */
export interface DecisionThreadSetup {
  readonly settings: Settings;
  readonly store: StoreSharing;
  /** Levels that the log of the process writes. */
  readonly logLevels: readonly LogLevel[];
  /** Name of the channel over which the threads are told to stop. */
  readonly channel: string;
}

/**
 * Makes this thread one that decides batches, with an engine and a store of its own. Resolves with what decides them
 * once the store answers: until then the thread is given none.
 */
export async function openDecisionThread(
  setup: DecisionThreadSetup,
  post: (message: ThreadMessage) => void,
): Promise<(task: DecideTask) => DecideResult | Promise<DecideResult>> {
  const { settings } = setup;
  const stats = new StatsRegistry();
  const logger = new ThreadLogger(setup.logLevels, (level, message, fields) =>
    post({ kind: 'log', threadId, level, message, fields }),
  );
  const createStore = await loadStoreFactory(settings);
  const opened = createStore({
    // The process has found its store to be there. A thread that comes later waits for it, however long that takes.
    settings: { ...settings, redisStartupMaxElapsedMs: 0 },
    logger,
    clock: systemClock,
    random: Math.random,
    stats,
    outages: {
      began: (texts, reason, atStart) =>
        post({ kind: 'outage', threadId, texts, change: { reason, atStart } }),
      over: (texts, failedCalls) =>
        post({ kind: 'outage', threadId, texts, change: { reason: null, failedCalls } }),
    },
    connectionsChanged: connected => post({ kind: 'connections', threadId, connected }),
    shared: setup.store,
  });
  const decider = new ThreadDecider({
    makeEngine: ({ counters, clock }) => {
      const overLimit = openOverLimitCache(settings, clock, setup.store);
      const engine = new Engine({
        options: engineOptions(settings),
        store: opened.store,
        overLimit,
        counters,
        clock,
        logger,
        random: Math.random,
        nowMs: null,
      });
      return { engine, overLimit };
    },
    fingerprintKey: setup.store.fingerprintKey,
    threadId,
  });
  const reporter = new StatsReporter(stats, systemClock, change =>
    post({ kind: 'stats', threadId, ...change }),
  );
  const control = new BroadcastChannel(setup.channel);
  control.onmessage = async () => {
    control.close();
    await opened.stop();
    reporter.stop();
    post({ kind: 'stopped', threadId });
  };
  await opened.start();
  reporter.start();
  post({ kind: 'ready', threadId });
  return task => decider.decide(task);
}
