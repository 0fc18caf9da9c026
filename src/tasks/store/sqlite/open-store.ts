import { Worker } from 'node:worker_threads';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/logger.ts';
import { SqliteEngine } from './engine/engine.ts';
import { SameThread } from './engine/same-thread.ts';
import { SqliteStore } from './engine/sqlite-store.ts';
import type { StoreThreadSetup } from './engine/store-thread.ts';
import { ThreadOperator } from './engine/thread-operator.ts';
import type { FileOptions } from './file/open-file.ts';
import { SteadyClock } from './file/steady-clock.ts';

/** How long a process waits for another that writes to the same file. */
const BUSY_TIMEOUT_MS = 5_000;

type StoreFile = Pick<FileOptions, 'path'> & Partial<FileOptions>;

/** A store whose file belongs to a thread of its own, which the disk may keep waiting. Time is that of the host. */
export function threadedSqliteStore(
  file: StoreFile,
  logger: Logger,
): { readonly store: SqliteStore; readonly operator: ThreadOperator } {
  const operator = new ThreadOperator({
    spawn: () => spawnStoreThread(file),
    monotonicMs: () => performance.now(),
    logger,
  });
  return { store: new SqliteStore(operator), operator };
}

/**
 * Rows and messages in the store thread are short-lived. With a young generation of a third of the default size, the
 * thread keeps less memory after large payloads and needs no more CPU time.
 */
const RESOURCES = { maxYoungGenerationSizeMb: 16 };

export function spawnStoreThread(file: StoreFile): Worker {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  const module = new URL(`../../../../workers/task-store.${extension}`, import.meta.url);
  return new Worker(module, {
    workerData: { file: withDefaults(file) } satisfies StoreThreadSetup,
    resourceLimits: RESOURCES,
  });
}

/** The clock of the host, and one that nobody sets if it is not that of the system. */
interface HostClock extends Pick<Clock, 'nowMs'> {
  monotonicMs?(): number;
}

/** The same code in the thread that asks. For tests, which own its time, and for tools. */
export function sameThreadSqliteStore(file: StoreFile, clock: HostClock): SqliteStore {
  const steady = new SteadyClock(
    () => clock.nowMs(),
    () => clock.monotonicMs?.() ?? performance.now(),
  );
  return new SqliteStore(new SameThread(new SqliteEngine(withDefaults(file), steady)));
}

function withDefaults(file: StoreFile): FileOptions {
  return { synchronous: 'full', busyTimeoutMs: BUSY_TIMEOUT_MS, ...file };
}
