import type { Clock } from '../../base/clock.ts';
import { recentlyUsed } from '../../base/collections/recently-used.ts';
import type { DocumentKind } from '../model/documents.ts';
import { Signals } from '../model/signals.ts';
import { ACCOUNT_ID, type StoredDocument } from './documents.ts';
import { documentName, externalName, tokenName } from './put-document.ts';
import type { TaskStore } from './task-store.ts';

/** How long documents are cached. Changes by other processes can remain unnoticed for this time. */
const FRESH_MS = 1_000;
const MAX_ENTRIES = 20_000;

interface Entry {
  readonly since: number;
  /** Number of changes that this process had made when the document was loaded. */
  readonly changes: number;
  /** A promise until the store has replied. */
  document: Kept<StoredDocument>;
}

/** A cached document is returned without a promise, because a promise for each look-up would slow down every call. */
type Kept<T> = T | null | Promise<T | null>;

/**
 * Cache of the documents that nearly every request needs: the account, its workers, tokens and users. Missing documents are
 * cached, too, so that guessing costs the store at most one look-up per second for each guess.
 */
export class Directory {
  readonly #store: TaskStore;
  readonly #clock: Clock;
  readonly #signals: Signals;
  readonly #entries = recentlyUsed<string, Entry>(MAX_ENTRIES);
  /** By tenant: the number of the last change. A change therefore costs the same with any number of cached documents. */
  readonly #changed = recentlyUsed<string, number>(MAX_ENTRIES);
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
    return this.#find(tenant, 'worker', documentName('worker', idOrName));
  }

  /** The token of a user or of a worker, by the SHA-256 of its text. */
  token(tenant: string, hash: string): Kept<StoredDocument<'token'> | StoredDocument<'secret'>> {
    const name = tokenName(hash);
    const kept = this.#kept(tenant, name, () => this.#store.findDocument(tenant, name));
    return kept instanceof Promise ? kept.then(tokenOrNull) : tokenOrNull(kept);
  }

  /** The user whose `external_id` this is. */
  userByExternalId(tenant: string, externalId: string): Kept<StoredDocument<'user'>> {
    return this.#find(tenant, 'user', externalName(externalId));
  }

  get<K extends DocumentKind>(tenant: string, kind: K, id: string): Kept<StoredDocument<K>> {
    const kept = this.#kept(tenant, `${kind}\n${id}`, () => this.#store.getDocument(tenant, kind, id));
    return kept as Kept<StoredDocument<K>>;
  }

  /** Call this after every change of a document by this process. */
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
      // Failures are not cached.
      () => {
        if (this.#entries.peek(key) === entry) this.#entries.delete(key);
      },
    );
    return document;
  }

  #isFresh({ since, changes }: Entry, tenant: string): boolean {
    const now = this.#clock.nowMs();
    // If the clock was set back, the document must not be cached for longer.
    return now >= since && now - since < FRESH_MS && changes >= (this.#changed.get(tenant) ?? 0);
  }
}

function tokenOrNull(
  document: StoredDocument | null,
): StoredDocument<'token'> | StoredDocument<'secret'> | null {
  if (document === null || (document.kind !== 'token' && document.kind !== 'secret')) return null;
  return document as StoredDocument<'token'> | StoredDocument<'secret'>;
}
