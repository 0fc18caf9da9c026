import { recentlyUsed } from '../../../base/collections/recently-used.ts';
import { asError } from '../../../base/fault.ts';
import type { Account, Secret } from '../../model/documents.ts';
import type { StoredDocument } from '../../store/documents.ts';
import { putAgain } from '../../store/put-document.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';

interface OpenSecret extends Pick<Secret, 'type' | 'name' | 'expiresAt' | 'lastUsedAt'> {
  readonly id: string;
  readonly value: string;
}

/** A secret that a push used, and when its use was last recorded, as far as is known. */
interface UsedSecret extends Pick<Secret, 'lastUsedAt'> {
  readonly id: string;
}

const PAGE = 100;
/** Pages of secrets that are read of one worker, those that have expired included. */
const MAX_PAGES = 10;

/** A secret that the master keys of this process do not open. */
interface UnreadableSecret {
  /** Its id. */
  readonly secret: string;
  readonly reason: string;
}

type ReadingThread = ThreadPart<'listDocuments', 'sealer' | 'clock'>;

/** Reads and opens the secrets of a worker that pushes need. */
export async function readSecrets(
  { store, sealer, clock }: ReadingThread,
  tenant: string,
  workerId: string,
  { dataKey }: Account,
): Promise<WorkerSecrets | UnreadableSecret> {
  const open: OpenSecret[] = [];
  for (const { id, body } of await listSecrets(store, tenant, workerId)) {
    if (body.sealed === null || !isLive(body, clock.nowMs())) continue;
    try {
      if (dataKey === null) throw new Error('its account has no data key');
      const place = { tenant, workerId, secretId: id, type: body.type };
      const value = sealer.open(body.sealed, dataKey, place);
      const { type, name, expiresAt, lastUsedAt } = body;
      open.push({ id, type, name, expiresAt, lastUsedAt, value });
    } catch (failure) {
      return { secret: id, reason: asError(failure).message };
    }
  }
  return new WorkerSecrets(open);
}

/** Newest first. */
async function listSecrets(
  store: ReadingThread['store'],
  tenant: string,
  workerId: string,
): Promise<StoredDocument<'secret'>[]> {
  const found: StoredDocument<'secret'>[] = [];
  for (let page = 0; page < MAX_PAGES; page++) {
    const documents = await store.listDocuments(tenant, {
      kind: 'secret',
      parent: workerId,
      after: found.at(-1)?.id ?? null,
      limit: PAGE,
      order: 'desc',
    });
    found.push(...(documents as readonly StoredDocument<'secret'>[]));
    if (documents.length < PAGE) break;
  }
  return found;
}

/** Secrets of one worker, opened. Never to be logged. */
export class WorkerSecrets {
  readonly #secrets: readonly OpenSecret[];

  /** @param secrets newest first */
  constructor(secrets: readonly OpenSecret[]) {
    this.#secrets = secrets;
  }

  /** Secrets that pushes use at this time. */
  used(nowMs: number): UsedSecret[] {
    const names = new Set<string>();
    return this.#secrets.filter(secret => {
      if (!isLive(secret, nowMs)) return false;
      if (secret.type === 'signing') return true;
      const name = secret.name.toLowerCase();
      return !names.has(name) && names.add(name);
    });
  }

  /** Secrets that sign at this time, newest first. */
  signing(nowMs: number): string[] {
    return this.#secrets
      .filter(secret => secret.type === 'signing' && isLive(secret, nowMs))
      .map(({ value }) => value);
  }

  /** Confidential headers, by name in lower case: the newest of each. */
  headers(nowMs: number): Record<string, string> {
    const headers: Record<string, string> = {};
    for (const secret of this.#secrets) {
      const name = secret.name.toLowerCase();
      if (secret.type === 'header' && isLive(secret, nowMs)) headers[name] ??= secret.value;
    }
    return headers;
  }
}

function isLive({ expiresAt }: Pick<Secret, 'expiresAt'>, nowMs: number): boolean {
  return expiresAt === null || expiresAt > nowMs;
}

/** Precision of the last use of a secret. A write for each push would be too expensive. */
const EXACT_TO_MS = 600_000;
const MAX_SECRETS = 20_000;

/** Records when the secrets of push workers were last used. Pushes do not wait for it. */
export class SecretUses {
  readonly #thread: ThreadPart<'getDocument' | 'apply', 'clock' | 'logger'>;
  readonly #notedAt = recentlyUsed<string, number>(MAX_SECRETS);
  readonly #running = new Set<Promise<void>>();

  constructor(thread: ThreadPart<'getDocument' | 'apply', 'clock' | 'logger'>) {
    this.#thread = thread;
  }

  used(tenant: string, secrets: readonly UsedSecret[]): void {
    const nowMs = this.#thread.clock.nowMs();
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

  /** If a document has changed in the meantime, nothing is written until the next use. Never rejects. */
  async #note(tenant: string, ids: readonly string[], nowMs: number): Promise<void> {
    const { store, logger } = this.#thread;
    try {
      const documents = await Promise.all(ids.map(id => store.getDocument(tenant, 'secret', id)));
      const changes = documents
        .filter(document => document !== null)
        .map(document => putAgain(document, { ...document.body, lastUsedAt: nowMs }));
      if (changes.length > 0) await store.apply(tenant, changes);
    } catch (failure) {
      const reason = asError(failure).message;
      logger.debug('Could not record the last use of secrets; the next use is recorded', {
        tenant,
        secrets: ids.join(),
        reason,
      });
    }
  }
}
