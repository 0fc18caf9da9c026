import { ACTION } from '../../counters/leases/lease.ts';
import { LEASE_ACTION_NAMES } from '../../messages/lease-message.ts';
import type { RequestTable } from '../../messages/request-table.ts';
import type { Matcher } from '../../rules/matching/matcher.ts';
import { LEASE_ACTION_KEY, type LeaseRule } from '../../rules/rule-set.ts';
import { asideEntry, isText } from './aside-entries.ts';

const ACTION_KEY: Uint8Array = Buffer.from(LEASE_ACTION_KEY);
const ACTIONS: readonly Uint8Array[] = LEASE_ACTION_NAMES.map(name => Buffer.from(name));

/** Finds the holder of the lease of a request, and what the request wants of the lease. */
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

  /** What the descriptor that was matched last wants: {@link ACTION}. An unknown value says nothing. */
  actionOf(table: RequestTable, matcher: Matcher): number {
    const entry = matcher.asideCount < 2 ? -1 : asideEntry(ACTION_KEY, table, matcher);
    if (entry < 0) return ACTION.any;
    const [start, end] = [table.valueStart[entry], table.valueEnd[entry]];
    return ACTIONS.findIndex(name => isText(name, table.bytes, start, end)) + 1;
  }
}
