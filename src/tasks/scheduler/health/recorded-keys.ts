import type { Sealer } from '../../sealing/sealer.ts';
import { SERVICE, type StoredDocument } from '../../store/documents.ts';
import { putNew } from '../../store/put-document.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';

type KeyRecord = StoredDocument<'master_keys'>;

const ID = 'master_keys';

/** Keys are seldom replaced. If the record is full, the oldest key is forgotten. */
const MAX_KEYS = 16;

/** A thread with the store and with master keys. */
export type KeyHolder = ThreadPart<'getDocument' | 'apply'> & {
  readonly sealer: Pick<Sealer, 'currentKeyId' | 'keyIds' | 'knows'>;
};

/**
 * The record in the store of the master keys that may be used with it. A process without any of them has a wrong key, also
 * before the first secret is stored. The record is written by the first process, and each process that has one of the keys
 * adds its current key: so keys can be replaced one process at a time, and previous keys can be removed later.
 */
export class RecordedKeys {
  readonly #thread: KeyHolder;
  #record: KeyRecord | null = null;

  constructor(thread: KeyHolder) {
    this.#thread = thread;
  }

  /** Whether there was a record when it was last read. */
  get exists(): boolean {
    return this.#record !== null;
  }

  /**
   * Reads the record.
   *
   * @returns the ids of its keys if this process has none of them; null if it has one, or if there is no record
   * @throws (rejects with) Fault when the store fails
   */
  async foreign(): Promise<readonly string[] | null> {
    const { store, sealer } = this.#thread;
    this.#record = await store.getDocument(SERVICE, 'master_keys', ID);
    const ids = this.#record?.body.ids ?? null;
    return ids === null || ids.some(id => sealer.knows(id)) ? null : ids;
  }

  /**
   * Adds the current key to the record that was last read.
   *
   * @returns false if another process has changed the record meanwhile, so that it must be read again
   * @throws (rejects with) Fault when the store fails
   */
  async add(): Promise<boolean> {
    const { store, sealer } = this.#thread;
    const { currentKeyId, keyIds } = sealer;
    const before = this.#record?.body.ids ?? null;
    if (before?.includes(currentKeyId)) return true;
    const ids = before === null ? keyIds : [...before, currentKeyId];
    const body = { ids: ids.slice(-MAX_KEYS) };
    const expect = this.#record?.version ?? 'absent';
    const applied = await store.apply(SERVICE, [putNew('master_keys', ID, body, { expect })]);
    return applied.kind === 'done';
  }
}
