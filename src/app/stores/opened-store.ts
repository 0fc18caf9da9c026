import type { MessagePort } from 'node:worker_threads';
import type { FileLock } from '../../base/files/file-lock.ts';
import type { Service } from '../../base/lifecycle.ts';
import { Outage, type OutageListener, type OutageTexts } from '../../base/outage-log.ts';
import type { FingerprintKey } from '../../counters/fingerprint.ts';
import type { KeyServer } from '../../counters/redis/connections/counting-server.ts';
import type { CounterStore } from '../../counters/store.ts';
import type { Settings } from '../../settings/table.ts';
import type { Surroundings } from '../surroundings.ts';
import type { ServingLinks } from './serving-links.ts';

/** Dependencies of a counter store, which the thread that opens it provides. */
export interface StoreParts extends Surroundings {
  /** Called when the store, or one instance of it, becomes unavailable or available again. */
  readonly outages: OutageListener;
  /** Called when the first connection to the store is open and when the last one ends. Redis only. */
  readonly connectionsChanged?: (connected: boolean) => void;
  /** Shared by the primary thread; undefined in the primary thread. */
  readonly shared?: StoreSharing;
  /** The serving threads, in the primary thread and in each of them; undefined if there are none. */
  readonly serving?: ServingShare;
}

/** The part of a thread in the connections that the primary thread and the serving threads share. */
interface ServingShare {
  /** Number of serving threads. */
  readonly count: number;
  /** The serving thread that opens the store; null in the primary thread. */
  readonly thread: {
    /** Index of the thread, from 0. */
    readonly place: number;
    /** From `ServingLinks.attach`; null if the primary thread has no links. */
    readonly link: MessagePort | null;
  } | null;
}

/** Properties that the stores of all threads of a process share. */
export interface StoreSharing {
  /** The key of the fingerprints of counters. All threads use the same one. */
  readonly fingerprintKey: FingerprintKey;
  /** Counters in this process; null if the store is a server. */
  readonly memory: SharedArrayBuffer | null;
  /** Memory of `RefundMarks`; null without a local cache. */
  readonly refundMarks: SharedArrayBuffer | null;
}

/** A counter store that can be started and stopped. */
export interface OpenedStore extends Service, StoreSharing {
  readonly store: CounterStore;
  /** Links to the stores of serving threads. Null if they need none, and in other threads than the primary thread. */
  readonly links: ServingLinks | null;
  /** The server of a key that is no counter; null unless this thread has connections to Redis. */
  readonly serverOf: ((key: string) => KeyServer) | null;
  /** The lock of the snapshot and of the files beside it; null without a snapshot, and in other threads. */
  readonly snapshotLock: FileLock | null;
  /** Releases the locks that an ended thread held on the counters in this process. */
  threadEnded(threadId: number): void;
}

/** Creates the store selected by the settings. */
export type StoreFactory = (parts: StoreParts) => OpenedStore;

/** The effect on requests while the store is unavailable, for the log. */
const CONSEQUENCES = {
  error: 'requests that need it fail',
  allow: 'requests are decided as if nothing had been counted',
  deny: 'requests are decided as if every limit had been reached',
  local: 'requests are counted in this process',
} as const satisfies Record<Settings['storeFailureMode'], string>;

/**
 * Creates the outage of a store, or of one of its instances, with the log texts.
 *
 * @param store description of the store for the log
 */
export function storeOutage(parts: StoreParts, store: string): Outage {
  const { settings, clock, outages, shared } = parts;
  const { storeFailureMode: mode } = settings;
  const name = settings.backendType === 'redis' ? 'Redis' : 'memcached';
  const began = `${name} is unavailable; ${CONSEQUENCES[mode]}`;
  const isFirstThread = shared === undefined;
  const texts: OutageTexts = {
    level: mode === 'error' ? 'error' : 'warning',
    began,
    ...(mode === 'error' && isFirstThread
      ? { beganAtStart: `${name} is unavailable; ports stay closed until it answers` }
      : {}),
    over: `${name} is available again`,
    fields: { store },
  };
  return new Outage(texts, outages, clock);
}
