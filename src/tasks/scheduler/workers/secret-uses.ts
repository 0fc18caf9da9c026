import { LRUCache } from 'lru-cache';
import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Secret } from '../../model/documents.ts';
import type { PutDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { StoreTime } from '../health/store-time.ts';

interface SecretUsesParts {
  readonly store: Pick<TaskStore, 'getDocument' | 'apply'>;
  readonly time: StoreTime;
  readonly logger: Logger;
}

/** A secret that pushes to a worker use, and when that was noted last as far as is known. */
export interface UsedSecret extends Pick<Secret, 'lastUsedAt'> {
  readonly id: string;
}

/** When a secret was used is kept this exactly: a write for each push would be too many. */
const EXACT_TO_MS = 600_000;
const MAX_SECRETS = 20_000;

/** Notes when the secrets of push workers were last used, beside the pushes, which do not wait for it. */
export class SecretUses {
  readonly #parts: SecretUsesParts;
  readonly #notedAt = new LRUCache<string, number>({ max: MAX_SECRETS });
  readonly #running = new Set<Promise<void>>();

  constructor(parts: SecretUsesParts) {
    this.#parts = parts;
  }

  used(tenant: string, secrets: readonly UsedSecret[]): void {
    const nowMs = this.#parts.time.nowMs();
    const due = secrets.filter(
      ({ id, lastUsedAt }) => nowMs - (this.#notedAt.get(id) ?? lastUsedAt ?? 0) >= EXACT_TO_MS,
    );
    if (due.length === 0) return;
    for (const { id } of due) this.#notedAt.set(id, nowMs);
    const running = this.#note(
      tenant,
      due.map(({ id }) => id),
      nowMs,
    ).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when nothing is being noted. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Where a document has changed meanwhile nothing is written, and it is noted the next time. Never rejects. */
  async #note(tenant: string, ids: readonly string[], nowMs: number): Promise<void> {
    const { store, logger } = this.#parts;
    try {
      const documents = await Promise.all(ids.map(id => store.getDocument(tenant, 'secret', id)));
      const changes = documents
        .filter(document => document !== null)
        .map(({ kind, id, version, parent, dueAt, body }): PutDocument<'secret'> => {
          const used = { ...body, lastUsedAt: nowMs };
          // Only tokens, which are not pushed with, have a unique name.
          return { op: 'put', kind, id, expect: version, parent, dueAt, unique: [], body: used };
        });
      if (changes.length > 0) await store.apply(tenant, changes);
    } catch (failure) {
      logger.debug(`tasks: the last use of ${ids.join(', ')} was not noted: ${asError(failure).message}`);
    }
  }
}
