import { open, readFile, rename, rm } from 'node:fs/promises';
import { asError, Fault, systemCode } from '../base/fault.ts';
import { logOpenToOthers, OWNER_ONLY, restrictToOwner } from '../base/files/owner-only.ts';
import type { JsonObject } from '../base/json.ts';
import type { Logger } from '../base/logger.ts';
import { readRecord } from './check-record.ts';
import { MAX_RECORDS, recordJson, type SteeringRecord } from './record.ts';
import type { RecordsListener, SteeringStore } from './steering-store.ts';

/**
 * The records of a process with counters of its own: in memory, and in a file if the counters have a snapshot. The file is
 * replaced as a whole with each change.
 */
export class FileRecords implements SteeringStore {
  readonly send = null;
  readonly #path: string | null;
  readonly #logger: Logger;
  #records: ReadonlyMap<string, SteeringRecord> = new Map();
  #listener: RecordsListener = () => {};
  /** The last change; changes are made one after the other. */
  #changing: Promise<void> = Promise.resolve();

  /** @param path null to keep the records in memory only */
  constructor(path: string | null, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  async start(listener: RecordsListener): Promise<void> {
    this.#listener = listener;
    if (this.#path !== null) await this.#load(this.#path);
    listener([...this.#records.values()]);
  }

  async stop(): Promise<void> {
    await this.#changing;
  }

  put(record: SteeringRecord, ended: readonly string[]): Promise<void> {
    return this.#change(records => {
      for (const id of ended) records.delete(id);
      records.set(record.id, record);
      // Changes that were checked at the same moment may exceed the limit together.
      if (records.size > MAX_RECORDS) throw new Fault('store_failed', TOO_MANY);
    });
  }

  remove(id: string): Promise<void> {
    return this.#change(records => records.delete(id));
  }

  #change(change: (records: Map<string, SteeringRecord>) => void): Promise<void> {
    const changing = this.#changing.then(async () => {
      const records = new Map(this.#records);
      change(records);
      if (this.#path !== null) await save(this.#path, [...records.values()]);
      this.#records = records;
      this.#listener([...records.values()]);
    });
    this.#changing = changing.catch(() => {});
    return changing;
  }

  async #load(path: string): Promise<void> {
    logOpenToOthers(this.#logger, restrictToOwner([path]));
    try {
      const stored = JSON.parse(await readFile(path, 'utf8')) as JsonObject[];
      const readable = stored.flatMap(each => readRecord(each) ?? []);
      const records = readable.slice(0, MAX_RECORDS);
      if (readable.length > records.length) {
        const ignored = readable.length - records.length;
        this.#logger.error(
          `The file has more than ${MAX_RECORDS} steering records; the last ones do not apply`,
          {
            path,
            ignored,
          },
        );
      }
      this.#records = new Map(records.map(record => [record.id, record]));
    } catch (failure) {
      if (systemCode(failure) === 'ENOENT') return;
      const kept = `${path}.damaged`;
      await rename(path, kept).catch(() => {});
      this.#logger.error('Could not read the steering records; no override, ban or pass applies', {
        path,
        error: asError(failure).message,
        kept,
      });
    }
  }
}

const TOO_MANY = `there are ${MAX_RECORDS} records already; delete some`;

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
    const text = `the record cannot be saved in '${path}' (${asError(cause).message})`;
    throw new Fault('store_failed', text, { cause });
  }
}
