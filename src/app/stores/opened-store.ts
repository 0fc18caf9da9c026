import type { Clock } from '../../base/clock.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { OutageListener } from '../../base/outage-log.ts';
import type { FingerprintKey } from '../../counters/fingerprint.ts';
import type { CounterStore } from '../../counters/store.ts';
import type { Settings } from '../../settings/table.ts';
import type { StatsRegistry } from '../../stats/registry.ts';

/** What a thread gives to the counter store that it opens. */
export interface StoreParts {
  readonly settings: Settings;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: () => number;
  readonly stats: StatsRegistry;
  /** Called when the store, or one instance of it, becomes unavailable or available again. */
  readonly outages: OutageListener;
  /** Called when the first connection to the store is open and when the last one ends. Redis only. */
  readonly connectionsChanged?: (connected: boolean) => void;
  /** Shared with the first thread; undefined in the first thread. */
  readonly shared?: StoreSharing;
}

/** What the stores of all threads of a process have in common. */
export interface StoreSharing {
  /** The key of the fingerprints of counters. All threads use the same one. */
  readonly fingerprintKey: FingerprintKey;
  /** Counters in this process; null if the store is a server. */
  readonly memory: SharedArrayBuffer | null;
  /** Memory of `RefundMarks`; null without a local cache. */
  readonly refundMarks: SharedArrayBuffer | null;
}

/** A store as something that starts and stops. */
export interface OpenedStore extends Service, StoreSharing {
  readonly store: CounterStore;
  /** Releases the locks that an ended thread held on the counters in this process. */
  threadEnded(threadId: number): void;
}

/** Creates the store selected by the settings. */
export type StoreFactory = (parts: StoreParts) => OpenedStore;
