import type { Test } from 'tap';
import { ByteWriter } from '../../src/base/bytes.ts';
import { encodeRateLimitRequest, type RequestDescriptor } from '../../src/messages/client-codec.ts';
import { RequestTable } from '../../src/messages/request-table.ts';
import { compileRules } from '../../src/rules/compile.ts';
import { CompiledRules } from '../../src/rules/compiled-rules.ts';
import { MATCHED, matchesSeveral } from '../../src/rules/matching/matched.ts';
import { Matcher } from '../../src/rules/matching/matcher.ts';
import { loadRuleSet } from '../../src/rules/parse/load.ts';
import type { RuleEntry } from '../../src/rules/rule-set.ts';
import { randomDescriptor } from '../exam/decisions/random-rules.ts';
import { type EntryText, ruleFile } from '../exam/decisions/rule-file.ts';
import { slowCacheText, slowMatch } from '../exam/decisions/slow-rules.ts';
import { descriptor } from './decisions.ts';
import type { SeededRandom } from './seeded-random.ts';

/** Compiled rules with all that a match needs, used for one descriptor after the other. */
export class Matching {
  readonly entries: readonly RuleEntry[];
  readonly rules: CompiledRules;
  readonly matcher = new Matcher();
  readonly #table = new RequestTable();
  readonly #key = new ByteWriter(16);

  constructor(entries: readonly EntryText[]) {
    const content = Buffer.from(ruleFile(...entries));
    const ruleSet = loadRuleSet([{ name: 'rules.yaml', content }], { mergeDomains: false });
    this.entries = ruleSet.domains[0].entries;
    this.rules = new CompiledRules(compileRules(ruleSet));
  }

  /** The number of the limit, or -1; `keyText` is what the match wrote. */
  limitOf(asked: RequestDescriptor): number {
    this.#table.reset();
    this.#table.add(encodeRateLimitRequest({ domain: 'd', descriptors: [asked], hitsAddend: 0 }));
    this.#key.reset();
    const level = this.rules.domainLevel(Buffer.from('d'), 0, 1);
    return this.matcher.match(this.rules, level, this.#table, 0, this.#key);
  }

  get keyText(): string {
    return Buffer.from(this.#key.view()).toString();
  }

  /** The configured path of the limit; null for none. */
  pathOf(text: string): string | null {
    const found = this.limitOf(descriptor(text));
    return found < 0 ? null : this.rules.path(found);
  }
}

/** How often descriptors and their levels were matched in each way. */
export class Seen {
  readonly times: Record<string, number> = {
    none: 0,
    ...Object.fromEntries(Object.keys(MATCHED).map(how => [how, 0])),
  };
}

/** Matches random descriptors, and compares each match with that of the slow matcher. */
export function compareMatches(
  t: Test,
  random: SeededRandom,
  entries: readonly EntryText[],
  { requests, seen }: { readonly requests: number; readonly seen: Seen },
): void {
  const matching = new Matching(entries);
  for (let i = 0; i < requests; i++) {
    const asked = randomDescriptor(random, entries);
    const levels = slowMatch(matching.entries, asked.entries);
    const found = matching.limitOf(asked);
    for (const how of levels?.map(level => level.how) ?? ['none']) seen.times[how]++;
    const expected = {
      path: levels === null ? null : ['d', ...levels.map(level => level.entry.composite)].join('.'),
      how: levels?.map(level => MATCHED[level.how]),
      key: levels === null ? '' : slowCacheText(levels),
      requestsPerUnit: levels?.at(-1)?.entry.limits[0]?.requestsPerUnit,
      shared: levels?.some(({ how, entry }) => matchesSeveral(MATCHED[how]) && entry.shareThreshold),
    };
    const actual = {
      path: found < 0 ? null : matching.rules.path(found),
      how: levels?.map((_, level) => matching.matcher.how[level]),
      key: found < 0 ? expected.key : matching.keyText,
      requestsPerUnit: found < 0 ? undefined : matching.rules.requestsPerUnit(found),
      shared: levels === null ? undefined : matching.matcher.shared,
    };
    const same = JSON.stringify(actual) === JSON.stringify(expected);
    if (!same)
      t.strictSame(actual, expected, `${JSON.stringify(asked.entries)} in ${JSON.stringify(entries)}`);
  }
}
