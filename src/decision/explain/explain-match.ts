import { ByteWriter } from '../../base/bytes.ts';
import type { RequestTable } from '../../messages/request-table.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { ENTRY, ENTRY_FLAG, HEADER, LIMIT } from '../../rules/layout.ts';
import { MATCHED } from '../../rules/matching/matched.ts';
import { Matcher } from '../../rules/matching/matcher.ts';
import { metricKey, overrideMetricKey } from '../metric-key.ts';

/** The match of one entry of a descriptor. */
export interface MatchedLevel {
  /** The entry of the descriptor, `key=value`. */
  readonly entry: string;
  /** The matched entry of the rules, as configured; null if none matched. */
  readonly rule: string | null;
  /**
   * In the order in which matches are tried. `as class`: the entry is not part
   * of the rule, and a limit of the rule takes its value for the class of the request. `as holder`: the same for the holder of a
   * lease, and `as action` for what the request wants of the lease.
   */
  readonly matched: (typeof HOW)[keyof typeof HOW] | SetAside | null;
}

type SetAside = keyof typeof ASIDES;

/** What an entry is that is set aside, in a sentence. */
const ASIDES = { 'as class': 'class', 'as holder': 'holder', 'as action': 'action' } as const;

const HOW = {
  [MATCHED.exact]: 'exactly',
  [MATCHED.list]: 'by list',
  [MATCHED.folded]: 'in upper or lower case',
  [MATCHED.network]: 'by network',
  [MATCHED.range]: 'by range',
  [MATCHED.pattern]: 'by pattern',
  [MATCHED.wildcard]: 'by wildcard',
  [MATCHED.exclusion]: 'by exclusion',
  [MATCHED.keyOnly]: 'by key alone',
} as const;

/** The match of one descriptor. */
export interface Match {
  /** The levels up to the one where matching ended. */
  readonly levels: readonly MatchedLevel[];
  /** Number of the limit of the rule; -1 for none or a limit override. */
  readonly limit: number;
  /** The metric key of the limit; empty for none. */
  readonly metricKey: string;
  /** Those of all limits of the rule. */
  readonly metricKeys: readonly string[];
}

/** Matches the descriptors of a single request again, and describes the matches in words. */
export class MatchExplainer {
  readonly #rules: CompiledRules;
  readonly #table: RequestTable;
  readonly #matcher = new Matcher();
  readonly #domain: string;
  /** The top level of the domain; -1 if there is no such domain. */
  readonly #topLevel: number;

  constructor(rules: CompiledRules, table: RequestTable) {
    const { bytes, domainStart, domainEnd } = table;
    this.#rules = rules;
    this.#table = table;
    this.#domain = table.text(domainStart[0], domainEnd[0]);
    this.#topLevel = rules.domainLevel(bytes, domainStart[0], domainEnd[0]);
  }

  /** The entries of a descriptor. */
  entries(row: number): { readonly key: string; readonly value: string }[] {
    const table = this.#table;
    const first = table.firstEntry[row];
    return Array.from({ length: table.entryCount[row] }, (_, i) => ({
      key: table.text(table.keyStart[first + i], table.keyEnd[first + i]),
      value: table.text(table.valueStart[first + i], table.valueEnd[first + i]),
    }));
  }

  match(row: number): Match {
    const table = this.#table;
    const matcher = this.#matcher;
    if (this.#topLevel < 0) return { levels: [], limit: -1, metricKey: '', metricKeys: [] };
    if (table.hasOverride[row] === 1) {
      const metricKey = overrideMetricKey(this.#rules, { table, descriptor: row, domain: this.#domain });
      return { levels: [], limit: -1, metricKey, metricKeys: [metricKey] };
    }
    matcher.path.fill(-1, 0, table.entryCount[row]);
    const limit = matcher.match(this.#rules, this.#topLevel, table, row, new ByteWriter());
    const metricKeys = this.#metricKeys(row, limit);
    return { levels: this.#levels(row), limit, metricKey: metricKeys[0] ?? '', metricKeys };
  }

  /** The metric keys of the limits of the current match. */
  #metricKeys(row: number, limit: number): string[] {
    if (limit < 0) return [];
    const count = this.#rules.limit(limit, LIMIT.siblings) + 1;
    const of = { table: this.#table, descriptor: row, domain: this.#domain };
    return Array.from({ length: count }, (_, i) => metricKey(this.#rules, this.#matcher, of, limit + i));
  }

  whyLimit(row: number, { levels }: Match): string {
    if (this.#table.hasOverride[row] === 1) return 'the descriptor has its own limit, so no rule applies';
    const ownLevel = levels.findLastIndex(level => !isAside(level));
    return levels
      .map((level, i) => {
        const { entry, rule, matched } = level;
        if (!isAside(level)) return `\`${rule}\` matches \`${entry}\` ${matched}`;
        const what = ASIDES[matched as SetAside];
        const article = what === 'action' ? 'an' : 'a';
        return i > ownLevel
          ? `\`${entry}\` is the ${what}`
          : `\`${entry}\` is skipped as ${article} ${what} of the rule above`;
      })
      .join(', then ');
  }

  whyNoLimit(row: number, { levels }: Match): string {
    if (this.#topLevel < 0) return `there are no rules for the domain \`${this.#domain}\``;
    const path = levels.flatMap(level => (level.rule === null || isAside(level) ? [] : level.rule));
    const place = [this.#domain, ...path].join('.');
    const last = levels.at(-1);
    if (last === undefined) return 'the descriptor has no entries';
    if (last.rule === null) return `no entry below \`${place}\` matches \`${last.entry}\``;
    const further = levels.length < this.#table.entryCount[row];
    return further ? `there are no entries below \`${place}\`` : `\`${place}\` has no rate_limit`;
  }

  /** @param by the result of {@link replacements} */
  whyReplaced({ limit }: Pick<Match, 'limit'>, by: ReadonlyMap<number, number>): string {
    const rules = this.#rules;
    const replacing = by.get(rules.limit(limit, LIMIT.name));
    const other = replacing === undefined ? 'another limit' : `\`${rules.path(replacing)}\``;
    return `${other} also applies to the request and replaces \`${rules.path(limit)}\``;
  }

  /** The first limit that replaces each name, from the matches of all descriptors of the request. */
  replacements(matches: readonly Match[]): ReadonlyMap<number, number> {
    const rules = this.#rules;
    const by = new Map<number, number>();
    const limits = matches.flatMap(({ limit, metricKeys }) => metricKeys.map((_, i) => limit + i));
    for (const one of new Set(limits)) {
      if (one < 0) continue;
      const first = rules.words[HEADER.replaces] + rules.limit(one, LIMIT.replaces);
      const names = rules.words.subarray(first, first + rules.limit(one, LIMIT.replaceCount));
      for (const name of names) if (!by.has(name)) by.set(name, one);
    }
    return by;
  }

  /** The levels up to the first entry without a match, or to the end of the rules. */
  #levels(row: number): MatchedLevel[] {
    const rules = this.#rules;
    const levels: MatchedLevel[] = [];
    for (const [i, { key, value }] of this.entries(row).entries()) {
      const entry = `${key}=${value}`;
      const chosen = this.#matcher.path[i];
      if (chosen < 0) {
        // If the rules end before the descriptor, there is no level that could have matched.
        const hasLevel = i === 0 || this.#hasLevelBelow(this.#matcher.path[i - 1]);
        return hasLevel ? [...levels, { entry, rule: null, matched: null }] : levels;
      }
      const record = rules.words[HEADER.entries] + chosen * ENTRY.words;
      levels.push({
        entry,
        rule: rules.text(rules.words[record + ENTRY.composite], rules.words[record + ENTRY.compositeLength]),
        matched: this.#asAside(record) ?? HOW[this.#matcher.how[i] as keyof typeof HOW],
      });
    }
    return levels;
  }

  /** What the entry in a record is set aside for; null if it is part of the rule. */
  #asAside(record: number): SetAside | null {
    const rules = this.#rules;
    if ((rules.words[record + ENTRY.flags] & ENTRY_FLAG.aside) === 0) return null;
    const terms = rules.limit(rules.words[record + ENTRY.limit], LIMIT.terms) - 1;
    const lease = terms < 0 ? null : rules.terms(terms).lease;
    if (lease === null) return 'as class';
    const key = rules.text(
      rules.words[record + ENTRY.composite],
      rules.words[record + ENTRY.compositeLength],
    );
    return key === lease.holder ? 'as holder' : 'as action';
  }

  #hasLevelBelow(entry: number): boolean {
    return this.#rules.words[this.#rules.words[HEADER.entries] + entry * ENTRY.words + ENTRY.level] >= 0;
  }
}

/** Whether a level is not part of the rule, but read by a limit of it. */
function isAside({ matched }: MatchedLevel): boolean {
  return matched !== null && Object.hasOwn(ASIDES, matched);
}
