import { LRUCache } from 'lru-cache';
import type { Clock } from '../../base/clock.ts';
import type { DocumentKind } from '../model/documents.ts';
import { Signals } from '../model/signals.ts';
import { ACCOUNT_ID, type StoredDocument } from './documents.ts';
import type { TaskStore } from './task-store.ts';

/** How long what another process changed may go unnoticed. */
const FRESH_MS = 1_000;
const MAX_ENTRIES = 20_000;

interface Entry {
  readonly since: number;
  /** How many changes this process had made when it was asked for. */
  readonly changes: number;
  /** A promise until the store has answered. */
  document: Kept<StoredDocument>;
}

/** A document that is there at once if it is kept, because a promise for each look-up costs every call. */
type Kept<T> = T | null | Promise<T | null>;

/**
 * Documents that nearly every request asks for, kept for a second: the account, its workers, tokens and users. What is
 * not there is kept too, so that guessing costs the store one look-up a second for each guess.
 */
export class Directory {
  readonly #store: TaskStore;
  readonly #clock: Clock;
  readonly #signals: Signals;
  readonly #entries = new LRUCache<string, Entry>({ max: MAX_ENTRIES });
  /** By tenant: the number of the last change. So a change costs the same, however much is kept. */
  readonly #changed = new LRUCache<string, number>({ max: MAX_ENTRIES });
  #changes = 0;

  /** @param signals report changes made by other parts of this process, and receive those made here */
  constructor(store: TaskStore, clock: Clock, signals = new Signals()) {
    this.#store = store;
    this.#clock = clock;
    this.#signals = signals;
    signals.listen({ documentsChanged: tenant => this.#changed.set(tenant, ++this.#changes) });
  }

  account(tenant: string): Kept<StoredDocument<'account'>> {
    return this.get(tenant, 'account', ACCOUNT_ID);
  }

  /** By id or by name. */
  worker(tenant: string, idOrName: string): Kept<StoredDocument<'worker'>> {
    if (idOrName.startsWith('wrk_')) return this.get(tenant, 'worker', idOrName);
    return this.#find(tenant, 'worker', `name:worker:${idOrName}`);
  }

  /** The token of a user or of a worker, by the SHA-256 of its text. */
  token(tenant: string, hash: string): Kept<StoredDocument<'token'> | StoredDocument<'secret'>> {
    const name = `hash:${hash}`;
    const kept = this.#kept(tenant, name, () => this.#store.findDocument(tenant, name));
    return kept instanceof Promise ? kept.then(tokenOrNull) : tokenOrNull(kept);
  }

  /** The user whose `external_id` this is. */
  userByExternalId(tenant: string, externalId: string): Kept<StoredDocument<'user'>> {
    return this.#find(tenant, 'user', `external:${externalId}`);
  }

  get<K extends DocumentKind>(tenant: string, kind: K, id: string): Kept<StoredDocument<K>> {
    const kept = this.#kept(tenant, `${kind}\n${id}`, () => this.#store.getDocument(tenant, kind, id));
    return kept as Kept<StoredDocument<K>>;
  }

  /** To be called after every change of a document that this process makes. */
  changed(tenant: string): void {
    this.#signals.tell('documentsChanged', tenant);
  }

  #find<K extends DocumentKind>(tenant: string, kind: K, name: string): Kept<StoredDocument<K>> {
    const kept = this.#kept(tenant, name, () => this.#store.findDocument(tenant, name));
    const ofKind = (document: StoredDocument | null) =>
      document?.kind === kind ? (document as StoredDocument<K>) : null;
    return kept instanceof Promise ? kept.then(ofKind) : ofKind(kept);
  }

  #kept(tenant: string, name: string, load: () => Promise<StoredDocument | null>): Kept<StoredDocument> {
    const key = `${tenant}\n${name}`;
    const kept = this.#entries.get(key);
    if (kept !== undefined && this.#isFresh(kept, tenant)) return kept.document;
    const document = load();
    const entry: Entry = { since: this.#clock.nowMs(), changes: this.#changes, document };
    this.#entries.set(key, entry);
    document.then(
      loaded => {
        entry.document = loaded;
      },
      // A failure is not kept: the next one asks again.
      () => {
        if (this.#entries.peek(key) === entry) this.#entries.delete(key);
      },
    );
    return document;
  }

  #isFresh({ since, changes }: Entry, tenant: string): boolean {
    const now = this.#clock.nowMs();
    // A clock that is set back must not make it last.
    return now >= since && now - since < FRESH_MS && changes >= (this.#changed.get(tenant) ?? 0);
  }
}

function tokenOrNull(
  document: StoredDocument | null,
): StoredDocument<'token'> | StoredDocument<'secret'> | null {
  if (document === null || (document.kind !== 'token' && document.kind !== 'secret')) return null;
  return document as StoredDocument<'token'> | StoredDocument<'secret'>;
}
