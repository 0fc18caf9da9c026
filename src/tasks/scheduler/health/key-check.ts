import { ACCOUNT_ID, type TenantAccount } from '../../store/documents.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import { type KeyHolder, RecordedKeys } from './recorded-keys.ts';
import type { Troubles } from './troubles.ts';

/** How often the record of the keys and some accounts are looked at. */
export const CHECK_KEYS_EVERY_MS = 10_000;
const ACCOUNTS_A_PAGE = 100;

/**
 * Whether the master keys of this process belong to the store. They do if the store has recorded one of them, and if they
 * open the secrets of all accounts: each account says which master key wraps its data key. A start looks at all of them, as
 * that is when a key is wrong or missing; afterwards a page of them at a time, for other processes may have other keys.
 */
export class KeyCheck {
  readonly #thread: ThreadPart<'accounts'> & KeyHolder;
  readonly #troubles: Troubles;
  readonly #recorded: RecordedKeys;
  /** Keys of the store, of which this process has none. */
  #foreign: readonly string[] | null = null;
  /** Tenants whose secrets do not open, and the key that they need; no more than a page. */
  #found: ReadonlyMap<string, string> = new Map();
  /** The tenant at which the next check begins. */
  #after: string | null = null;
  #sawAll = false;

  constructor(thread: ThreadPart<'accounts'> & KeyHolder, troubles: Troubles) {
    this.#thread = thread;
    this.#troubles = troubles;
    this.#recorded = new RecordedKeys(thread);
  }

  /**
   * Looks as far as a wrong key is certain to be known before the first call is served: at the record, or at all accounts if
   * an earlier version of this program has left no record.
   *
   * @throws (rejects with) Fault when the store fails
   */
  async begin(): Promise<void> {
    this.#foreign = await this.#recorded.foreign();
    if (this.#recorded.exists) this.#tell();
    else await this.look(() => false);
  }

  /** @throws (rejects with) Fault when the store fails; what was found before holds on */
  async look(stopped: () => boolean): Promise<void> {
    this.#foreign = await this.#recorded.foreign();
    if (this.#foreign === null) {
      await this.#lookAtAccounts(stopped);
      // A key is recorded only if it opens everything, so that a wrong one never becomes the key of the store.
      const belongs = this.#sawAll && this.#found.size === 0;
      if (belongs && !(await this.#recorded.add())) this.#foreign = await this.#recorded.foreign();
    }
    this.#tell();
  }

  async #lookAtAccounts(stopped: () => boolean): Promise<void> {
    if (this.#found.size > 0) {
      this.#found = this.#unreadable(await this.#accountsOf([...this.#found.keys()]));
      if (this.#found.size === 0) [this.#after, this.#sawAll] = [null, false];
    }
    while (this.#found.size === 0 && !stopped()) {
      const page = await this.#thread.store.accounts(this.#after, ACCOUNTS_A_PAGE);
      this.#found = this.#unreadable(page);
      const isLast = page.length < ACCOUNTS_A_PAGE;
      this.#after = isLast ? null : (page.at(-1)?.tenant ?? null);
      this.#sawAll ||= isLast;
      if (this.#sawAll) break;
    }
  }

  /** No more than a page of them. */
  #accountsOf(tenants: readonly string[]): Promise<readonly TenantAccount[]> {
    const { store } = this.#thread;
    return Promise.all(
      tenants.map(async tenant => ({
        tenant,
        account: await store.getDocument(tenant, 'account', ACCOUNT_ID),
      })),
    );
  }

  /** Tenants whose data key is wrapped with a master key that this process does not have. */
  #unreadable(accounts: readonly TenantAccount[]): ReadonlyMap<string, string> {
    const { sealer } = this.#thread;
    const found = new Map<string, string>();
    for (const { tenant, account } of accounts) {
      const needed = account?.body.dataKey?.masterKeyId;
      if (needed !== undefined && !sealer.knows(needed)) found.set(tenant, needed);
    }
    return found;
  }

  #tell(): void {
    const text = this.#fault();
    if (text !== null) this.#troubles.began('master_key', { cause: 'wrong_master_key', text });
    else if (this.#sawAll) this.#troubles.over('master_key');
  }

  /** What is wrong with the keys; null for nothing. */
  #fault(): string | null {
    if (this.#foreign !== null) {
      const keys = this.#foreign.join(', ');
      return (
        `the task store is used with master key ${keys}, which this process does not have: set SECRETS_MASTER_KEY to it, ` +
        'or add it to SECRETS_PREVIOUS_MASTER_KEYS'
      );
    }
    if (this.#found.size === 0) return null;
    const needed = [...new Set(this.#found.values())].join(', ');
    return (
      `the secrets of at least ${this.#found.size} account(s) are encrypted with master key ${needed}, which this process ` +
      'does not have: set SECRETS_MASTER_KEY to it, or add it to SECRETS_PREVIOUS_MASTER_KEYS'
    );
  }
}
