import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { type Clock, within } from '../../base/clock.ts';
import { asError, systemCode } from '../../base/fault.ts';
import { OWNER_ONLY } from '../../base/files/owner-only.ts';
import type { Logger } from '../../base/logger.ts';
import { Outage, OutageLog } from '../../base/outage-log.ts';
import type { Counter } from '../../stats/registry.ts';

/** Maximum number of bytes that wait for a slow disk. Later lines are dropped. */
const MAX_WAITING_BYTES = 1024 * 1024;

/** How often the path is compared with the open file. */
const CHECK_MS = 1_000;

/** How long the shutdown waits for a slow disk. */
const STOP_MS = 1_000;

/** Without `O_NONBLOCK`, opening a pipe without a reader would block a thread of the pool forever. */
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

const LOOK = constants.O_RDONLY | constants.O_NONBLOCK;

const LINE_FEED = 10;

/** Name of the only part of an outage. */
const FILE = 'file';

/**
 * Appends lines to a file, in the background. If the file was renamed or removed, as tools that rotate logs do, the next lines
 * create it again. Lines that cannot be written are dropped and counted, and the next ones are tried again.
 */
export class LogFile {
  readonly #path: string;
  readonly #written: Counter;
  readonly #dropped: Counter;
  readonly #clock: Clock;
  readonly #outages: OutageLog;
  readonly #outage: Outage;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #handle: FileHandle | null = null;
  #checkedMs = 0;
  /** The last line in the file is incomplete, because the disk was full, or a process was killed. */
  #isTorn = false;
  /** Resolves when nothing waits; null then. */
  #writing: Promise<void> | null = null;

  /** @param written counts the lines that are in the file, and `dropped` those that are not */
  constructor(path: string, written: Counter, dropped: Counter, clock: Clock, logger: Logger) {
    this.#path = path;
    this.#written = written;
    this.#dropped = dropped;
    this.#clock = clock;
    this.#outages = new OutageLog({ clock, logger });
    const texts = {
      level: 'warning',
      began: 'Decisions cannot be logged to the file and are dropped from the decision log',
      over: 'Decisions are logged to the file again; failedCalls records were dropped',
      advice: 'check DECISION_LOG_FILE, its directory and the free space',
      fields: { path },
    } as const;
    this.#outage = new Outage(texts, this.#outages, clock);
  }

  /** Appends whole lines. Returns immediately. */
  write(lines: string): void {
    const bytes = Buffer.from(lines);
    if (this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.#failed('the disk is too slow', linesIn(bytes));
      return;
    }
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#writing ??= this.#writeAll();
  }

  /** Writes what waits, for at most one second, and closes the file. */
  async stop(): Promise<void> {
    await within(this.#clock, STOP_MS, this.#writing);
    if (this.#writing === null) await this.#close();
    this.#outages.stop();
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const bytes = Buffer.concat(this.#waiting);
      this.#waiting = [];
      await this.#append(bytes);
      this.#waitingBytes -= bytes.length;
    }
    this.#writing = null;
  }

  /** Never rejects. */
  async #append(bytes: Buffer): Promise<void> {
    let at = 0;
    try {
      const handle = await this.#current();
      if (this.#isTorn) await handle.write('\n');
      this.#isTorn = false;
      while (at < bytes.length) at += (await handle.write(bytes, at)).bytesWritten;
      this.#outage.succeeded(FILE);
    } catch (failure) {
      this.#failed(asError(failure).message, linesIn(bytes.subarray(at)));
      await this.#close();
    }
    const complete = linesIn(bytes.subarray(0, at));
    if (complete > 0) this.#written.add(complete);
  }

  #failed(reason: string, lines: number): void {
    this.#outage.failed(FILE, reason);
    this.#outage.callsFailed(lines);
    this.#dropped.add(lines);
  }

  /** The file that the path leads to. */
  async #current(): Promise<FileHandle> {
    const nowMs = this.#clock.nowMs();
    if (this.#handle !== null && Math.abs(nowMs - this.#checkedMs) >= CHECK_MS) {
      this.#checkedMs = nowMs;
      if (!(await isAt(this.#path, this.#handle))) await this.#close();
    }
    if (this.#handle === null) {
      this.#handle = await open(this.#path, APPEND, OWNER_ONLY);
      this.#checkedMs = nowMs;
      this.#isTorn = await isLastLineTorn(this.#path);
    }
    return this.#handle;
  }

  async #close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.close().catch(() => {});
  }
}

/** Whether a path leads to an open file. */
async function isAt(path: string, handle: FileHandle): Promise<boolean> {
  const own = await handle.stat();
  try {
    const there = await stat(path);
    return there.ino === own.ino && there.dev === own.dev;
  } catch (failure) {
    if (systemCode(failure) === 'ENOENT') return false;
    throw failure;
  }
}

/** Whether the last line of a file is incomplete. Not for pipes, and not if the file can only be written. */
async function isLastLineTorn(path: string): Promise<boolean> {
  try {
    const { size } = await stat(path);
    if (size === 0) return false;
    const file = await open(path, LOOK);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
      return bytesRead === 1 && buffer[0] !== LINE_FEED;
    } finally {
      await file.close();
    }
  } catch {
    return false;
  }
}

function linesIn(bytes: Uint8Array): number {
  let lines = 0;
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) lines++;
  return lines;
}
