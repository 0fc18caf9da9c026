import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import type { Clock, Timer } from '../base/clock.ts';
import { asError, Fault, systemCode } from '../base/fault.ts';
import type { FileLock } from '../base/files/file-lock.ts';
import { logOpenToOthers, OWNER_ONLY, restrictToOwner } from '../base/files/owner-only.ts';
import type { JsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import { readRecord } from './check-record.ts';
import { MAX_RECORDS, recordJson, type SteeringRecord } from './record.ts';
import { changedRecords, inOrder, type PlanChange } from './records-change.ts';
import type { RecordsListener, SteeringStore } from './steering-store.ts';

/** How often a process without the lock looks for changes of the one that has it, and tries to take the lock. */
const EVERY_MS = 250;

/** Where records outlast the process. */
interface RecordFile {
  readonly path: string;
  /** Only the process with this lock may write the file. Somebody else releases it. */
  readonly lock: FileLock;
}

/**
 * The records of a process with counters of its own: in memory, and in a file if the counters have a snapshot. The file is
 * replaced as a whole with each change.
 *
 * During a rolling restart, a second process may have the same file. It applies the records in the file, and cannot change
 * them until the first one has ended.
 */
export class FileRecords implements SteeringStore {
  readonly send = null;
  readonly #file: RecordFile | null;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #records: readonly SteeringRecord[] = [];
  #listener: RecordsListener = { records: () => {}, ahead: () => {} };
  /** Identifies the state of the file that was read last. */
  #readState = '';
  /** Why this process must not write; empty if it may. */
  #denied = '';
  /** The last change or reading; they follow each other. */
  #busy: Promise<void> = Promise.resolve();
  #timer: Timer | null = null;
  #stopped = false;

  /** @param file null to keep the records in memory only */
  constructor(file: RecordFile | null, clock: Clock, logger: Logger) {
    this.#file = file;
    this.#clock = clock;
    this.#logger = logger;
  }

  async start(listener: RecordsListener): Promise<void> {
    this.#listener = listener;
    listener.records([]);
    if (this.#file !== null) await this.#follow(this.#file);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#busy;
  }

  change(plan: PlanChange): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#file !== null && this.#denied !== '') await this.#look(this.#file);
      if (this.#file !== null && this.#denied !== '') throw notOwner(this.#file.path, this.#denied);
      const change = plan(this.#records);
      if (change === null) return;
      const records = changedRecords(this.#records, change);
      if (this.#file !== null) await save(this.#file.path, records);
      this.#take(records);
    });
  }

  /** Reads the file, and again until this process has the lock. */
  async #follow(file: RecordFile): Promise<void> {
    await this.#inTurn(() => this.#look(file));
    if (this.#denied === '' || this.#stopped) return;
    this.#timer = this.#clock.after(EVERY_MS, () => void this.#follow(file));
  }

  /** Takes the lock if it is free. Reads the file if it was changed, and for the last time with the lock. */
  async #look(file: RecordFile): Promise<void> {
    const before = this.#denied;
    this.#denied = await file.lock.take().then(
      isOwner => (isOwner ? '' : 'another process uses it'),
      (failure: unknown) => asError(failure).message,
    );
    await this.#load(file.path);
    const { path } = file;
    if (before === '' && this.#denied !== '') this.#logger.warning(READ_ONLY, { path, reason: this.#denied });
    if (before !== '' && this.#denied === '') this.#logger.warning(OWNER, { path });
  }

  async #load(path: string): Promise<void> {
    try {
      const state = await stateOf(path);
      if (state === this.#readState) return;
      logOpenToOthers(this.#logger, restrictToOwner([path]));
      this.#readState = state;
      this.#take(this.#readable(path, JSON.parse(await readFile(path, 'utf8'))));
    } catch (failure) {
      if (systemCode(failure) === 'ENOENT') return;
      const error = asError(failure).message;
      const isOwner = this.#denied === '';
      const kept = isOwner ? `${path}.damaged` : path;
      if (isOwner) await rename(path, kept).catch(() => {});
      this.#logger.error('Could not read the steering records; no override, ban or pass applies', {
        path,
        error,
        kept,
      });
    }
  }

  #readable(path: string, stored: readonly JsonObject[]): SteeringRecord[] {
    const readable = inOrder(stored.flatMap(each => readRecord(each) ?? []));
    const records = readable.slice(0, MAX_RECORDS);
    const ignored = readable.length - records.length;
    if (ignored > 0) this.#logger.error(TOO_MANY, { path, ignored });
    return records;
  }

  #take(records: readonly SteeringRecord[]): void {
    this.#records = records;
    this.#listener.records(records);
  }

  #inTurn(run: () => Promise<void>): Promise<void> {
    const turn = this.#busy.then(run);
    this.#busy = turn.catch(() => {});
    return turn;
  }
}

/** Differs after each change: every change creates a new file. */
async function stateOf(path: string): Promise<string> {
  const { ino, mtimeNs, size } = await stat(path, { bigint: true });
  return `${ino} ${mtimeNs} ${size}`;
}

/** @throws Fault */
async function save(path: string, records: readonly SteeringRecord[]): Promise<void> {
  const temporary = `${path}.new`;
  try {
    await rm(temporary, { force: true });
    const file = await open(temporary, 'wx', OWNER_ONLY);
    try {
      await file.chmod(OWNER_ONLY);
      await file.writeFile(JSON.stringify(records.map(recordJson)));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (cause) {
    const text = `the change cannot be saved in '${path}' (${asError(cause).message}); nothing was changed`;
    throw new Fault('store_failed', text, { cause });
  }
}

function notOwner(path: string, reason: string): Fault {
  return new Fault(
    'store_failed',
    `this process cannot change the records in '${path}' (${reason}); nothing was changed. ${ADVICE}`,
  );
}

const ADVICE =
  'Set MEMORY_STORE_SNAPSHOT_PATH to a different file for each process, in a directory that it can write';

const READ_ONLY = `Overrides, bans and passes cannot be changed in this process; those in the file apply. ${ADVICE}`;

const OWNER = 'Overrides, bans and passes can be changed in this process';

const TOO_MANY = `The file has more than ${MAX_RECORDS} steering records; the newest ones do not apply`;
