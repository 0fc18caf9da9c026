import type { RequestTable } from '../../messages/request-table.ts';
import type { Matcher } from '../../rules/matcher.ts';
import type { ClassRule } from '../../rules/rule-set.ts';

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

  /**
   * The class of the descriptor that was matched last. Its entry comes after that of the rule, so it is one of the last
   * entries, all of which are set aside; those before belong to rules above. If the entry is there twice, the last one counts.
   */
  numberOf(table: RequestTable, { asides, asideCount, end }: Matcher): number {
    for (
      let aside = asideCount - 1, entry = end - 1;
      aside >= 0 && asides[aside] === entry;
      aside--, entry--
    ) {
      if (!isText(this.#key, table.bytes, table.keyStart[entry], table.keyEnd[entry])) continue;
      return this.#named(table.bytes, table.valueStart[entry], table.valueEnd[entry]);
    }
    return OTHERS;
  }

  #named(bytes: Uint8Array, start: number, end: number): number {
    const names = this.#names;
    for (let i = 0; i < names.length; i++) if (isText(names[i], bytes, start, end)) return i + 1;
    return OTHERS;
  }
}

function isText(text: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (text.length !== end - start) return false;
  for (let i = 0; i < text.length; i++) if (text[i] !== bytes[start + i]) return false;
  return true;
}
