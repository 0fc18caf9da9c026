import { ByteWriter } from '../../base/bytes.ts';
import type { RequestTable } from '../../messages/request-table.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { ENTRY, HEADER, LIMIT } from '../../rules/layout.ts';
import { MATCHED, Matcher } from '../../rules/matcher.ts';
import { metricKey, overrideMetricKey } from '../metric-key.ts';

/** How one entry of a descriptor was matched. */
export interface MatchedLevel {
  /** The entry of the descriptor, `key=value`. */
  readonly entry: string;
  /** The entry of the rules, as configured; null where none matched. */
  readonly rule: string | null;
  /** An exact match comes before one of a wildcard, and that before one of the key alone. */
  readonly matched: 'exactly' | 'by wildcard' | 'by key alone' | null;
}

const HOW = {
  [MATCHED.exact]: 'exactly',
  [MATCHED.wildcard]: 'by wildcard',
  [MATCHED.keyOnly]: 'by key alone',
} as const;

/** What matching found for one descriptor. */
export interface Match {
  /** As far as matching went. */
  readonly levels: readonly MatchedLevel[];
  /** Number of the limit of the rule; -1 for none, also where the descriptor brings one. */
  readonly limit: number;
  /** The metric key of the limit; empty for none. */
  readonly metricKey: string;
}

/** Matches the descriptors of a table's only request once more, and says in words what is found. */
export class MatchExplainer {
  readonly #rules: CompiledRules;
  readonly #table: RequestTable;
  readonly #matcher = new Matcher();
  readonly #domain: string;
  /** The top level of the domain; -1 when there is no such domain. */
  readonly #topLevel: number;

  constructor(rules: CompiledRules, table: RequestTable) {
    const { bytes, domainStart, domainEnd } = table;
    this.#rules = rules;
    this.#table = table;
    this.#domain = table.text(domainStart[0], domainEnd[0]);
    this.#topLevel = rules.domainLevel(bytes, domainStart[0], domainEnd[0]);
  }

  /** The pairs of a descriptor. */
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
    if (this.#topLevel < 0) return { levels: [], limit: -1, metricKey: '' };
    if (table.hasOverride[row] === 1) {
      return { levels: [], limit: -1, metricKey: overrideMetricKey(table, row, this.#domain) };
    }
    matcher.path.fill(-1, 0, table.entryCount[row]);
    const limit = matcher.match(this.#rules, this.#topLevel, table, row, new ByteWriter());
    return {
      levels: this.#levels(row),
      limit,
      metricKey: limit < 0 ? '' : metricKey(this.#rules, matcher, table, row, this.#domain),
    };
  }

  whyLimit(row: number, { levels }: Match): string {
    if (this.#table.hasOverride[row] === 1)
      return 'the descriptor brings its own limit, and no rule is asked';
    return levels
      .map(({ entry, rule, matched }) => `\`${rule}\` matches \`${entry}\` ${matched}`)
      .join(', then ');
  }

  whyNoLimit(row: number, { levels }: Match): string {
    if (this.#topLevel < 0) return `there are no rules for the domain \`${this.#domain}\``;
    const place = [this.#domain, ...levels.flatMap(({ rule }) => rule ?? [])].join('.');
    const last = levels.at(-1);
    if (last === undefined) return 'the descriptor has no entries';
    if (last.rule === null) return `no entry below \`${place}\` matches \`${last.entry}\``;
    const further = levels.length < this.#table.entryCount[row];
    return further ? `there are no entries below \`${place}\`` : `\`${place}\` has no rate_limit`;
  }

  /** @param by the numbers of the limits that replace others, see {@link replacements} */
  whyReplaced({ limit }: Match, by: ReadonlyMap<number, number>): string {
    const rules = this.#rules;
    const replacing = by.get(rules.limit(limit, LIMIT.name));
    const other = replacing === undefined ? 'another limit' : `\`${rules.path(replacing)}\``;
    return `${other} applies to the request as well, and replaces \`${rules.path(limit)}\``;
  }

  /** By the name of a limit that is replaced: the first limit that does it. All descriptors of the request matter. */
  replacements(matches: readonly Match[]): ReadonlyMap<number, number> {
    const rules = this.#rules;
    const by = new Map<number, number>();
    for (const one of new Set(matches.map(({ limit }) => limit))) {
      if (one < 0) continue;
      const first = rules.words[HEADER.replaces] + rules.limit(one, LIMIT.replaces);
      const names = rules.words.subarray(first, first + rules.limit(one, LIMIT.replaceCount));
      for (const name of names) if (!by.has(name)) by.set(name, one);
    }
    return by;
  }

  /** Up to the entry that nothing matched, or behind which there are no rules. */
  #levels(row: number): MatchedLevel[] {
    const rules = this.#rules;
    const levels: MatchedLevel[] = [];
    for (const [i, { key, value }] of this.entries(row).entries()) {
      const entry = `${key}=${value}`;
      const chosen = this.#matcher.path[i];
      if (chosen < 0) {
        // Where the rules end before the descriptor does, there is nothing that could have matched.
        const asked = i === 0 || this.#hasLevelBelow(this.#matcher.path[i - 1]);
        return asked ? [...levels, { entry, rule: null, matched: null }] : levels;
      }
      const record = rules.words[HEADER.entries] + chosen * ENTRY.words;
      levels.push({
        entry,
        rule: rules.text(rules.words[record + ENTRY.composite], rules.words[record + ENTRY.compositeLength]),
        matched: HOW[this.#matcher.how[i] as keyof typeof HOW],
      });
    }
    return levels;
  }

  #hasLevelBelow(entry: number): boolean {
    return this.#rules.words[this.#rules.words[HEADER.entries] + entry * ENTRY.words + ENTRY.level] >= 0;
  }
}
