import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import type { Clock, Timer } from '../../base/clock.ts';
import { asError, systemCode } from '../../base/fault.ts';
import type { Service } from '../../base/lifecycle.ts';
import type { Logger } from '../../base/logger.ts';
import type { Counter } from '../../stats/registry.ts';
import type { FingerprintKey } from '../fingerprint.ts';
import type { CounterTable } from './counter-table.ts';
import { loadSnapshot, saveSnapshot } from './snapshot.ts';
import { SnapshotFault } from './snapshot-format.ts';

interface SnapshotKeeperParts {
  readonly path: string;
  readonly intervalMs: number;
  readonly table: CounterTable;
  /** The key by which the counters of the table are known. */
  readonly fingerprintKey: FingerprintKey;
  readonly saved: Counter;
  readonly failed: Counter;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How long a stop waits for the last snapshot. */
const LAST_SAVE_MS = 10_000;

/**
 * Keeps the counters of the embedded store in a file: reads it at the start, writes it over and over and at the stop.
 * Nothing that happens to the file keeps the service from deciding; it is told in the log.
 */
export class SnapshotKeeper implements Service {
  readonly name = 'snapshots of the counters';
  readonly #parts: SnapshotKeeperParts;
  readonly #lock: SnapshotLock;
  /** True once the file may be written: it is ours, and what was in it is in the table. */
  #mayWrite = false;
  #told = '';
  #timer: Timer | null = null;
  #writing: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: SnapshotKeeperParts) {
    this.#parts = parts;
    this.#lock = new SnapshotLock(parts.path);
  }

  async start(): Promise<void> {
    const isOurs = await this.#takeOver();
    if (this.#stopped) return;
    this.#mayWrite = isOurs;
    // At once, so that a file that cannot be written is known before it is needed.
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
    await this.#lock.release();
  }

  async #lastSave(): Promise<void> {
    await this.#writing;
    if (this.#mayWrite) await this.#save();
  }

  /** Writes, and again after a while. */
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
   * Adds the counters of the file to those here; false while another process has the file. Where that one ends only
   * after this one has begun, as it does when it is replaced, both have counted hits of their own.
   */
  async #takeOver(): Promise<boolean> {
    if (!(await this.#takeLock())) return false;
    await this.#load();
    return true;
  }

  async #takeLock(): Promise<boolean> {
    try {
      if (await this.#lock.take()) return true;
      this.#tell(
        'another process keeps its counters in this file: set MEMORY_STORE_SNAPSHOT_PATH to one of its own',
      );
    } catch (failure) {
      this.#tell(asError(failure).message);
    }
    return false;
  }

  async #load(): Promise<void> {
    const { path, table, fingerprintKey, clock, logger } = this.#parts;
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
    const { path, table, fingerprintKey, clock, saved, failed, logger } = this.#parts;
    try {
      const counters = await saveSnapshot(path, table, { writtenMs: clock.nowMs(), fingerprintKey });
      saved.add(1);
      logger.debug('Counter snapshot written', { path, counters });
      if (this.#told !== '') logger.warning('The counter snapshot is written again', { path });
      this.#told = '';
    } catch (failure) {
      failed.add(1);
      this.#tell(asError(failure).message);
    }
  }

  /** One line for a reason, until another one or none holds. */
  #tell(reason: string): void {
    if (reason === this.#told) return;
    this.#told = reason;
    const { path, logger } = this.#parts;
    logger.error('Cannot write the counter snapshot; a restart will lose the counts', { path, reason });
  }
}

/** Renames a file that cannot be read, so that it can be looked into; where it is then. */
async function setAside(path: string): Promise<string> {
  const aside = `${path}.damaged`;
  try {
    await rename(path, aside);
    return aside;
  } catch {
    return path;
  }
}

/**
 * Keeps other processes from a file: a unix socket beside it, on which the owner listens. The system lets go of it when
 * the owner ends in whatever way, and processes in other containers see it too; a file with the number of a process
 * would do neither.
 */
class SnapshotLock {
  readonly #path: string;
  #server: Server | null = null;

  constructor(path: string) {
    this.#path = `${path}.lock`;
  }

  /**
   * Takes the lock; false when another process has it.
   * @throws Error when the socket cannot be made
   */
  async take(): Promise<boolean> {
    if (this.#server !== null) return true;
    if (await this.#listen()) return true;
    if (await this.#isOwned()) return false;
    // Its owner ended without a chance to remove it.
    rmSync(this.#path, { force: true });
    return await this.#listen();
  }

  async release(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.close();
    await once(server, 'close');
  }

  async #listen(): Promise<boolean> {
    const server = createServer(socket => socket.destroy());
    // Workers of a cluster would share one socket, and all have the lock.
    server.listen({ path: this.#path, exclusive: true });
    try {
      await once(server, 'listening');
    } catch (failure) {
      if (systemCode(failure) === 'EADDRINUSE') return false;
      throw new Error(`the socket '${this.#path}' cannot be made: ${asError(failure).message}`, {
        cause: failure,
      });
    }
    server.unref();
    this.#server = server;
    return true;
  }

  async #isOwned(): Promise<boolean> {
    const socket = connect(this.#path);
    try {
      await once(socket, 'connect');
      return true;
    } catch (failure) {
      const code = systemCode(failure);
      return code !== 'ECONNREFUSED' && code !== 'ENOENT';
    } finally {
      socket.destroy();
    }
  }
}
