import { LRUCache } from 'lru-cache';
import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { PutDocument, StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { Authenticated, UsedToken } from './authentication.ts';
import { userNames } from './user-fields.ts';

/** When a token was used is kept this exactly: a write for each request would be too many. */
const EXACT_TO_MS = 600_000;
const MAX_TOKENS = 20_000;

/** Notes when tokens were last used, and their users last seen, beside the requests, which do not wait for it. */
export class LastUse {
  readonly #store: TaskStore;
  readonly #log: Logger;
  readonly #notedAt = new LRUCache<string, number>({ max: MAX_TOKENS });

  constructor(store: TaskStore, log: Logger) {
    this.#store = store;
    this.#log = log;
  }

  used(tenant: string, used: Authenticated, nowMs: number): void {
    // After a login with the identity provider there is no token, only the user.
    const { id, lastUsedAt } = used.token === null ? seenUser(used) : usedToken(used.token);
    const before = this.#notedAt.get(id) ?? lastUsedAt ?? 0;
    if (nowMs - before < EXACT_TO_MS) return;
    this.#notedAt.set(id, nowMs);
    // Where a document has changed meanwhile nothing is written, and it is noted the next time.
    this.#store.apply(tenant, changesOf(used, nowMs)).catch(thrown => {
      this.#log.debug(`tasks: the last use of ${id} was not noted: ${asError(thrown).message}`);
    });
  }
}

interface Noted {
  readonly id: string;
  readonly lastUsedAt: number | null;
}

function usedToken({ document: { id, body } }: UsedToken): Noted {
  return { id, lastUsedAt: body.lastUsedAt };
}

function seenUser({ caller, user }: Authenticated): Noted {
  return { id: caller.actor.id, lastUsedAt: user?.body.lastSeenAt ?? null };
}

function changesOf({ token, user }: Authenticated, nowMs: number): PutDocument[] {
  const changes: PutDocument[] = [];
  if (token !== null) {
    const body = { ...token.document.body, lastUsedAt: nowMs };
    changes.push(putAgain({ ...token.document, body } as StoredDocument, [`hash:${token.hash}`]));
  }
  if (user !== null) {
    changes.push(putAgain({ ...user, body: { ...user.body, lastSeenAt: nowMs } }, userNames(user.body)));
  }
  return changes;
}

function putAgain(document: StoredDocument, unique: readonly string[]): PutDocument {
  const { kind, id, version, parent, dueAt, body } = document;
  return { op: 'put', kind, id, expect: version, parent, dueAt, unique, body };
}
