import type { RequestTable } from '../../messages/request-table.ts';
import type { Matcher } from '../../rules/matcher.ts';
import type { LeaseRule } from '../../rules/rule-set.ts';
import { asideEntry } from './aside-entries.ts';

/** Finds the holder of the lease of a request. */
export class LimitHolders {
  readonly rule: LeaseRule;
  readonly #key: Uint8Array;

  constructor(rule: LeaseRule) {
    this.rule = rule;
    this.#key = Buffer.from(rule.holder);
  }

  /** The entry of the descriptor that was matched last whose value names the holder; -1 for none. */
  entryOf(table: RequestTable, matcher: Matcher): number {
    return this.#key.length === 0 ? -1 : asideEntry(this.#key, table, matcher);
  }
}
