import { recentlyUsed } from '../../../base/collections/recently-used.ts';
import type { Account, TenantLimits, Worker } from '../../model/documents.ts';
import { ACCOUNT_ID, type StoredDocument } from '../../store/documents.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import { readSecrets, WorkerSecrets } from './worker-secrets.ts';

/** How tasks of a worker can be pushed, if at all. */
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

/** A worker that can be pushed to. */
export type ReadyPage = Extract<WorkerPage, { readonly kind: 'ready' }>;

interface Entry {
  readonly since: number;
  /** Null: they do not open. */
  readonly secrets: Promise<WorkerSecrets | null>;
}

/** How long a secret that another process made or deleted may go unnoticed. */
const FRESH_MS = 2_000;
const MAX_ENTRIES = 10_000;

type BookThread = ThreadPart<
  'listDocuments' | 'getDocument',
  'directory' | 'sealer' | 'limits' | 'clock' | 'logger'
>;

/** Push workers: their documents, limits and decrypted secrets. */
export class WorkerBook {
  readonly #thread: BookThread;
  readonly #entries = recentlyUsed<string, Entry>(MAX_ENTRIES);

  constructor(thread: BookThread) {
    this.#thread = thread;
  }

  /** @throws (rejects with) Fault when the store fails */
  async page(tenant: string, workerId: string): Promise<WorkerPage> {
    const { directory, limits } = this.#thread;
    const [known, worker] = await Promise.all([
      directory.account(tenant),
      directory.worker(tenant, workerId),
    ]);
    // An account that another process has resumed may still be cached as suspended here, which would delay its tasks.
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
    return this.#thread.store.getDocument(tenant, 'account', ACCOUNT_ID);
  }

  /** The worker or one of its secrets has changed. */
  drop(tenant: string, workerId: string): void {
    this.#entries.delete(`${tenant}\n${workerId}`);
  }

  #secrets(tenant: string, workerId: string, account: Account): Promise<WorkerSecrets | null> {
    const key = `${tenant}\n${workerId}`;
    const nowMs = this.#thread.clock.nowMs();
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
   * The secrets of a worker as the store has them now. Null if one cannot be decrypted: tasks must not be sent unsigned.
   *
   * @throws (rejects with) Fault when the store fails
   */
  async openSecrets(tenant: string, workerId: string, account: Account): Promise<WorkerSecrets | null> {
    let opened = await readSecrets(this.#thread, tenant, workerId, account);
    if (!(opened instanceof WorkerSecrets) && account.dataKey === null) {
      // The first secret creates the data key. If another process has just created both, the cached account lacks the key.
      const read = await this.#readAccount(tenant);
      if (read !== null) opened = await readSecrets(this.#thread, tenant, workerId, read.body);
    }
    if (opened instanceof WorkerSecrets) return opened;
    this.#thread.logger.error(
      'A secret cannot be decrypted, so no tasks are pushed to its worker; check the master key or replace the secret',
      { tenant, worker: workerId, ...opened },
    );
    return null;
  }
}

/** Nothing of it starts any more. */
function isGone({ status }: Account): boolean {
  return status === 'deleting' || status === 'deleted';
}
