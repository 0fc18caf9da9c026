import type { RequestTable } from '../../messages/request-table.ts';
import type { Matcher } from '../../rules/matching/matcher.ts';
import type { ClassRule } from '../../rules/rule-set.ts';
import { asideEntry, isText } from './aside-entries.ts';

/** The class of requests whose value no class of the limit has, and of those without the entry. */
export const OTHERS = 0;

/** Finds the class of a request. Classes have the numbers of their order in the rule, from 1. */
export class LimitClasses {
  readonly rule: ClassRule;
  readonly #key: Uint8Array;
  readonly #names: readonly Uint8Array[];

  constructor(rule: ClassRule) {
    this.rule = rule;
    this.#key = Buffer.from(rule.key);
    this.#names = rule.names.map(name => Buffer.from(name));
  }

  /** Number of classes, with {@link OTHERS}. */
  get count(): number {
    return this.#names.length + 1;
  }

  /** The share of the limit that a class may use. */
  share(number: number): number {
    return number === OTHERS ? this.rule.otherShare : this.rule.shares[number - 1];
  }

  /** The value of the entry; null for {@link OTHERS}. */
  name(number: number): string | null {
    return number === OTHERS ? null : this.rule.names[number - 1];
  }

  /** The class of the descriptor that was matched last. */
  numberOf(table: RequestTable, matcher: Matcher): number {
    const entry = asideEntry(this.#key, table, matcher);
    if (entry < 0) return OTHERS;
    return this.#named(table.bytes, table.valueStart[entry], table.valueEnd[entry]);
  }

  #named(bytes: Uint8Array, start: number, end: number): number {
    const names = this.#names;
    for (let i = 0; i < names.length; i++) if (isText(names[i], bytes, start, end)) return i + 1;
    return OTHERS;
  }
}
