import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../base/clock.ts';
import { asError } from '../../../base/fault.ts';
import type { Logger } from '../../../base/logger.ts';
import type { Account, Secret, TenantLimits, Worker } from '../../model/documents.ts';
import type { Sealer } from '../../sealing/aes-sealer.ts';
import type { Directory } from '../../store/directory.ts';
import { ACCOUNT_ID, type StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { UsedSecret } from './secret-uses.ts';

/** What is known of a worker whose tasks may be due. */
export type WorkerPage =
  | {
      readonly kind: 'ready';
      readonly worker: Worker;
      readonly limits: TenantLimits;
      readonly secrets: WorkerSecrets;
    }
  /** There is no such worker (any more). */
  | { readonly kind: 'gone' }
  /** It takes its tasks itself. */
  | { readonly kind: 'not_pushed' }
  /** Nothing may be sent to it now: it is paused, its account is, or its secrets do not open. */
  | { readonly kind: 'held'; readonly resumeAt: number | null };

interface WorkerBookParts {
  readonly store: Pick<TaskStore, 'listDocuments' | 'getDocument'>;
  readonly directory: Directory;
  readonly sealer: Sealer;
  /** What tenants have whose operator has changed nothing. */
  readonly limits: TenantLimits;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface OpenSecret extends Pick<Secret, 'type' | 'name' | 'expiresAt' | 'lastUsedAt'> {
  readonly id: string;
  readonly value: string;
}

interface Entry {
  readonly since: number;
  /** Null: they do not open. */
  readonly secrets: Promise<WorkerSecrets | null>;
}

/** How long a secret that another process made or deleted may go unnoticed. */
const FRESH_MS = 5_000;
const MAX_ENTRIES = 10_000;
const PAGE = 100;
/** Pages of secrets that are read of one worker, those that have expired included. */
const MAX_PAGES = 10;

/** Workers as they are pushed to: their documents, what bounds them, and their secrets, opened. */
export class WorkerBook {
  readonly #parts: WorkerBookParts;
  readonly #entries = new LRUCache<string, Entry>({ max: MAX_ENTRIES });

  constructor(parts: WorkerBookParts) {
    this.#parts = parts;
  }

  /** @throws (rejects with) Fault when the store fails */
  async page(tenant: string, workerId: string): Promise<WorkerPage> {
    const { directory, limits } = this.#parts;
    const [known, worker] = await Promise.all([
      directory.account(tenant),
      directory.worker(tenant, workerId),
    ]);
    // One that was resumed in another process may still be kept here as suspended, and would be put off once more.
    const account = known?.body.status === 'suspended' ? await this.#readAccount(tenant) : known;
    if (account === null || worker === null || isGone(account.body)) return { kind: 'gone' };
    if (worker.body.mode !== 'push') return { kind: 'not_pushed' };
    if (account.body.status !== 'active') return { kind: 'held', resumeAt: null };
    if (worker.body.paused) return { kind: 'held', resumeAt: worker.body.resumeAt };
    const secrets = await this.#secrets(tenant, workerId, account.body);
    if (secrets === null) return { kind: 'held', resumeAt: null };
    return { kind: 'ready', worker: worker.body, limits: { ...limits, ...account.body.limits }, secrets };
  }

  #readAccount(tenant: string): Promise<StoredDocument<'account'> | null> {
    return this.#parts.store.getDocument(tenant, 'account', ACCOUNT_ID);
  }

  /** The worker or one of its secrets has changed. */
  drop(tenant: string, workerId: string): void {
    this.#entries.delete(`${tenant}\n${workerId}`);
  }

  #secrets(tenant: string, workerId: string, account: Account): Promise<WorkerSecrets | null> {
    const key = `${tenant}\n${workerId}`;
    const nowMs = this.#parts.clock.nowMs();
    const kept = this.#entries.get(key);
    // A clock that is set back must not make them last.
    if (kept !== undefined && nowMs >= kept.since && nowMs - kept.since < FRESH_MS) return kept.secrets;
    const secrets = this.openSecrets(tenant, workerId, account);
    const entry = { since: nowMs, secrets };
    this.#entries.set(key, entry);
    // A failure is not kept: the next one asks again.
    secrets.catch(() => {
      if (this.#entries.peek(key) === entry) this.#entries.delete(key);
    });
    return secrets;
  }

  /**
   * The secrets of a worker as the store has them now. Null when one does not open: tasks must not leave unsigned.
   *
   * @throws (rejects with) Fault when the store fails
   */
  async openSecrets(tenant: string, workerId: string, account: Account): Promise<WorkerSecrets | null> {
    const opened = await readSecrets(this.#parts, tenant, workerId, account);
    if (opened instanceof WorkerSecrets) return opened;
    this.#parts.logger.error(
      'a secret does not open, so nothing is pushed to its worker: check the master key, or replace the secret',
      { tenant, worker: workerId, ...opened },
    );
    return null;
  }
}

/** A secret that the master keys of this process do not open. */
interface UnreadableSecret {
  /** Its id. */
  readonly secret: string;
  readonly reason: string;
}

/** Reads and opens the secrets of a worker that pushes need. */
export async function readSecrets(
  { store, sealer, clock }: Pick<WorkerBookParts, 'store' | 'sealer' | 'clock'>,
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
  store: WorkerBookParts['store'],
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

  /** Those that pushes use at this time. */
  used(nowMs: number): UsedSecret[] {
    const names = new Set<string>();
    return this.#secrets.filter(secret => {
      if (!isLive(secret, nowMs)) return false;
      if (secret.type === 'signing') return true;
      const name = secret.name.toLowerCase();
      return !names.has(name) && names.add(name);
    });
  }

  /** @param secrets newest first */
  constructor(secrets: readonly OpenSecret[]) {
    this.#secrets = secrets;
  }

  /** Those that sign at this time, newest first. */
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

/** Nothing of it starts any more. */
function isGone({ status }: Account): boolean {
  return status === 'deleting' || status === 'deleted';
}

function isLive({ expiresAt }: Pick<Secret, 'expiresAt'>, nowMs: number): boolean {
  return expiresAt === null || expiresAt > nowMs;
}
