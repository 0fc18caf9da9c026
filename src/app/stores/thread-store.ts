import { threadId } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { OutageTexts } from '../../base/outage-log.ts';
import type { ThreadMessage, ThreadOutage } from '../../decision/pool/thread-messages.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';
import type { OpenedStore, StoreParts, StoreSharing } from './opened-store.ts';
import { loadStoreFactory } from './stores.ts';

interface ThreadStoreParts {
  readonly settings: Settings;
  readonly shared: StoreSharing;
  /** Not set for a decision thread, which has connections of its own. */
  readonly serving?: StoreParts['serving'];
  readonly stats: StatsRegistry;
  readonly logger: Logger;
  /** Sends a message to the primary thread. */
  readonly post: (message: ThreadMessage) => void;
}

/** Creates the store of a thread that decides, which reports its outages and connections to the primary thread. */
export async function openThreadStore(parts: ThreadStoreParts): Promise<OpenedStore> {
  const { settings, shared, serving, stats, logger, post } = parts;
  const createStore = await loadStoreFactory(settings);
  const changed = (texts: OutageTexts, change: ThreadOutage['change']): void =>
    post({ kind: 'outage', threadId, texts, change });
  return createStore({
    // The primary thread has already reached the store. This thread may start later, so it waits without a time limit.
    settings: { ...settings, redisStartupMaxElapsedMs: 0 },
    logger,
    clock: systemClock,
    random: Math.random,
    stats,
    outages: {
      began: (texts, reason, atStart) => changed(texts, { kind: 'began', reason, atStart }),
      changed: (texts, reason) => changed(texts, { kind: 'changed', reason }),
      over: (texts, failedCalls) => changed(texts, { kind: 'over', failedCalls }),
    },
    connectionsChanged: connected => post({ kind: 'connections', threadId, connected }),
    shared,
    ...(serving !== undefined && { serving }),
  });
}
