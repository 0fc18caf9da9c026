import type { Sealer } from '../../sealing/sealer.ts';
import { ACCOUNT_ID } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import type { Troubles } from './troubles.ts';

interface KeyCheckParts {
  readonly store: Pick<TaskStore, 'tenants' | 'getDocument'>;
  readonly sealer: Pick<Sealer, 'knows'>;
  readonly troubles: Troubles;
}

/** How often some accounts are looked at. */
export const CHECK_KEYS_EVERY_MS = 10_000;
const TENANTS_A_PAGE = 100;
const AT_ONCE = 16;

/**
 * Whether the master keys of this process open the secrets of all accounts: each account says which master key wraps its
 * data key. A start looks at all of them, as that is when a key is wrong or missing; afterwards a page of them at a time,
 * for other processes may have other keys.
 */
export class KeyCheck {
  readonly #parts: KeyCheckParts;
  /** Tenants whose secrets do not open, and the key that they need; no more than a page. */
  #found: ReadonlyMap<string, string> = new Map();
  /** The tenant at which the next check begins. */
  #after: string | null = null;
  #sawAll = false;

  constructor(parts: KeyCheckParts) {
    this.#parts = parts;
  }

  /** @throws (rejects with) Fault when the store fails; what was found before holds on */
  async look(stopped: () => boolean): Promise<void> {
    if (this.#found.size > 0) {
      this.#found = await this.#unreadable([...this.#found.keys()]);
      if (this.#found.size === 0) [this.#after, this.#sawAll] = [null, false];
    }
    while (this.#found.size === 0 && !stopped()) {
      const page = await this.#parts.store.tenants(this.#after, TENANTS_A_PAGE);
      this.#found = await this.#unreadable(page);
      const isLast = page.length < TENANTS_A_PAGE;
      this.#after = isLast ? null : (page.at(-1) ?? null);
      this.#sawAll ||= isLast;
      if (this.#sawAll) break;
    }
    this.#tell();
  }

  /** Tenants whose data key is wrapped with a master key that this process does not have. */
  async #unreadable(tenants: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { store, sealer } = this.#parts;
    const found = new Map<string, string>();
    for (let i = 0; i < tenants.length; i += AT_ONCE) {
      const some = tenants.slice(i, i + AT_ONCE);
      const accounts = await Promise.all(some.map(each => store.getDocument(each, 'account', ACCOUNT_ID)));
      accounts.forEach((account, at) => {
        const needed = account?.body.dataKey?.masterKeyId;
        if (needed !== undefined && !sealer.knows(needed)) found.set(some[at], needed);
      });
    }
    return found;
  }

  #tell(): void {
    const { troubles } = this.#parts;
    if (this.#found.size === 0) {
      if (this.#sawAll) troubles.over('master_key');
      return;
    }
    const needed = [...new Set(this.#found.values())].join(', ');
    const text =
      `the secrets of at least ${this.#found.size} account(s) are encrypted with master key ${needed}, which this process ` +
      'does not have: set SECRETS_MASTER_KEY to it, or add it to SECRETS_PREVIOUS_MASTER_KEYS';
    troubles.began('master_key', { cause: 'wrong_master_key', text });
  }
}
