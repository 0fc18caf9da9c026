import { rename } from 'node:fs/promises';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError } from '../../base/fault.ts';
import type { FileLock } from '../../base/files/file-lock.ts';
import { logOpenToOthers, restrictToOwner } from '../../base/files/owner-only.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { Counter } from '../../stats/registry.ts';
import type { FingerprintKey } from '../fingerprint.ts';
import type { CounterTable } from './counter-table.ts';
import { loadSnapshot, saveSnapshot } from './snapshot.ts';
import { SnapshotFault } from './snapshot-format.ts';

interface SnapshotKeeperParts {
  readonly path: string;
  /** The lock of the file, which `stop` releases. */
  readonly lock: FileLock;
  readonly intervalMs: number;
  readonly table: CounterTable;
  /** The fingerprint key of the counters in the table. */
  readonly fingerprintKey: FingerprintKey;
  /** Snapshots that were written, and those that could not be written. */
  readonly counters: { readonly saved: Counter; readonly failed: Counter };
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long `stop` waits for the last snapshot. */
const LAST_SAVE_MS = 10_000;

/**
 * Preserves the counters of the embedded store in a file: loads it at startup, and writes it at an interval and at
 * shutdown. Failures are logged and never prevent the service from making decisions.
 */
export class SnapshotKeeper implements Service {
  readonly name = 'snapshots of the counters';
  readonly #parts: SnapshotKeeperParts;
  /** True once this process owns the file and has loaded it: only then may the file be overwritten. */
  #mayWrite = false;
  /** The last logged reason why the snapshot cannot be written; empty if it can. */
  #loggedReason = '';
  #timer: Timer | null = null;
  #writing: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: SnapshotKeeperParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    const isOwner = await this.#takeOver();
    if (this.#stopped) return;
    this.#mayWrite = isOwner;
    // Immediately, so that an unwritable file is reported at startup and not when it is needed.
    this.#write();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    const { clock, logger, path } = this.#parts;
    const bound = Promise.withResolvers<'late'>();
    const timer = clock.after(LAST_SAVE_MS, () => bound.resolve('late'));
    const outcome = await Promise.race([this.#lastSave(), bound.promise]);
    timer.cancel();
    if (outcome === 'late')
      logger.error(
        'Could not write the counter snapshot before the shutdown timeout; the last counts are lost',
        { path },
      );
    await this.#parts.lock.release();
  }

  async #lastSave(): Promise<void> {
    await this.#writing;
    if (this.#mayWrite) await this.#save();
  }

  /** Writes now, and again after each interval. */
  #write(): void {
    this.#writing = this.#writeOnce().then(() => {
      if (this.#stopped) return;
      this.#timer = this.#parts.clock.after(this.#parts.intervalMs, () => this.#write());
    });
  }

  async #writeOnce(): Promise<void> {
    if (!this.#mayWrite) this.#mayWrite = await this.#takeOver();
    if (this.#mayWrite) await this.#save();
  }

  /**
   * Takes the lock of the file and adds its counters to the table; false while another process has the lock. During a
   * rolling restart, the other process ends later than this one starts, and both have counted hits.
   */
  async #takeOver(): Promise<boolean> {
    if (!(await this.#takeLock())) return false;
    await this.#load();
    return true;
  }

  async #takeLock(): Promise<boolean> {
    try {
      if (await this.#parts.lock.take()) return true;
      this.#logFailure(
        'another process uses this file: set MEMORY_STORE_SNAPSHOT_PATH to a different file for each process',
      );
    } catch (failure) {
      this.#logFailure(asError(failure).message);
    }
    return false;
  }

  async #load(): Promise<void> {
    const { path, table, fingerprintKey, clock, logger } = this.#parts;
    logOpenToOthers(logger, restrictToOwner([path]));
    try {
      const loaded = await loadSnapshot(path, table, { fingerprintKey, nowMs: clock.nowMs() });
      if (loaded === null) return;
      const { counters, expired, writtenMs } = loaded;
      logger.info('Counter snapshot loaded', {
        path,
        counters,
        expired,
        written: new Date(writtenMs).toISOString(),
      });
    } catch (failure) {
      const reason = asError(failure).message;
      const kept = failure instanceof SnapshotFault ? await setAside(path) : path;
      logger.warning('Could not load the counter snapshot; counters start at 0', { path, reason, kept });
    }
  }

  async #save(): Promise<void> {
    const { path, table, fingerprintKey, clock, counters: counted, logger } = this.#parts;
    try {
      const counters = await saveSnapshot(path, table, { writtenMs: clock.nowMs(), fingerprintKey });
      counted.saved.add(1);
      logger.debug('Counter snapshot written', { path, counters });
      if (this.#loggedReason !== '') logger.warning('The counter snapshot is written again', { path });
      this.#loggedReason = '';
    } catch (failure) {
      counted.failed.add(1);
      this.#logFailure(asError(failure).message);
    }
  }

  /** Logs a reason once, until it changes or the snapshot is written again. */
  #logFailure(reason: string): void {
    if (reason === this.#loggedReason) return;
    this.#loggedReason = reason;
    const { path, logger } = this.#parts;
    logger.error('Cannot write the counter snapshot; a restart will lose the counts', { path, reason });
  }
}

/** Renames a damaged file so that it can be examined. Returns its new path, or the old one if this fails. */
async function setAside(path: string): Promise<string> {
  const aside = `${path}.damaged`;
  try {
    await rename(path, aside);
    return aside;
  } catch {
    return path;
  }
}
