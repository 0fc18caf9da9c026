import t from 'tap';
import { NAME_OVERHEAD_BYTES } from '../../../../src/decision/statistics/named-rows.ts';
import {
  NAME_BOUNDS,
  ROW_SLOTS,
  RuleGeneration,
  RuleStatistics,
} from '../../../../src/decision/statistics/rule-statistics.ts';
import { addTotal } from '../../../../src/decision/statistics/shared-totals.ts';
import type { CompiledRules } from '../../../../src/rules/compiled-rules.ts';
import { RULE_STAT, sanitiseStatName } from '../../../../src/stats/names.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { rulesOfKeys } from '../../rules/parse/rule-text.ts';

const NAMES_DROPPED = 'ratelimit.stats.names_dropped';
const HITS_DROPPED = 'ratelimit.stats.hits_dropped';

/** Rules with a limit for each key, and the statistics to count under them. */
const generation = (keys: readonly string[]) => new RuleGeneration(rulesOfKeys(keys));

/** Counts hits under the limit with this number. */
function count({ statistics }: RuleGeneration, limit: number, hits: number): void {
  addTotal(statistics, limit * ROW_SLOTS + RULE_STAT.totalHits, hits);
}

/** Everything that is told, by names without their common beginning; fails where a name is told twice. */
function told(statistics: RuleStatistics): Record<string, number> {
  const totals: Record<string, number> = {};
  for (const [name, total] of statistics.totals()) {
    if (total === 0) continue;
    const short = name.replace('ratelimit.service.rate_limit.', '');
    if (short in totals) throw new Error(`${short} is told twice`);
    totals[short] = total;
  }
  return totals;
}

/** Iterates to the end, as a reader does that others may run beside. */
function exhaust(pauses: Iterable<unknown>): void {
  for (const _pause of pauses);
}

t.test('hits of rules, of names from requests, and of unknown domains are told by their names', async t => {
  const statistics = new RuleStatistics();
  const rules = generation(['a', 'b']);
  statistics.publish(rules);
  count(rules, 1, 3);
  addTotal(statistics.rowFor('d.a_ann'), RULE_STAT.totalHits, 2);
  addTotal(statistics.rowFor('d.a_ann'), RULE_STAT.nearLimit, 1);
  statistics.domainNotFound('nowhere', 4);
  t.same(told(statistics), {
    'd.b.total_hits': 3,
    'd.a_ann.total_hits': 2,
    'd.a_ann.near_limit': 1,
    'nowhere.domain_not_found': 4,
  });
});

t.test('without rules, unknown domains and overrides are told all the same', async t => {
  const statistics = new RuleStatistics();
  addTotal(statistics.rowFor('d.a'), RULE_STAT.totalHits, 2);
  statistics.domainNotFound('d', 4);
  t.same(told(statistics), { 'd.a.total_hits': 2, 'd.domain_not_found': 4 });
});

t.test('names that only a sanitised name can tell apart are one', async t => {
  const statistics = new RuleStatistics();
  const rules = generation(['a:1', 'a_1', 'a|1', 'ip_10.0.0.1']);
  statistics.publish(rules);
  for (let limit = 0; limit < 4; limit++) count(rules, limit, 1);
  addTotal(statistics.rowFor('d.a\n1'), RULE_STAT.totalHits, 10);
  addTotal(statistics.rowFor('d.ip_10_0_0_1'), RULE_STAT.totalHits, 10);
  addTotal(statistics.rowFor('e:x'), RULE_STAT.totalHits, 10);
  addTotal(statistics.rowFor('e|x'), RULE_STAT.totalHits, 10);
  t.same(told(statistics), { 'd.a_1.total_hits': 13, 'd.ip_10_0_0_1.total_hits': 11, 'e_x.total_hits': 20 });
  count(rules, 2, 1);
  t.match(told(statistics), { 'd.a_1.total_hits': 14 });
  const reading: string[] = [];
  for (const [name, total] of statistics.totals()) {
    if (total === 0) count(rules, 1, 1);
    else if (name.includes('.d.a_1.')) reading.push(name);
  }
  t.equal(reading.length, 1, 'also where hits are counted while they are read');
});

t.test('rules that are published before a reader has come to the rules are told to it', async t => {
  const statistics = new RuleStatistics();
  const first = generation(Array.from({ length: 3_000 }, (_, i) => `k${i}`));
  statistics.publish(first);
  count(first, 0, 1);
  addTotal(statistics.rowFor('d.x'), RULE_STAT.totalHits, 1);
  const reader = statistics.totals()[Symbol.iterator]();
  reader.next();
  const second = generation(['a', 'k0']);
  statistics.publish(second);
  count(second, 0, 1);
  const names: string[] = [];
  for (let next = reader.next(); !next.done; next = reader.next()) {
    if (next.value[1] > 0) names.push(next.value[0].replace('ratelimit.service.rate_limit.', ''));
  }
  t.same(names.sort(), ['d.a.total_hits', 'd.k0.total_hits', 'd.x.total_hits']);
});

t.test('a reader among the rules is told no total in part when they are replaced', async t => {
  const statistics = new RuleStatistics();
  const keys = Array.from({ length: 3_000 }, (_, i) => `k${i}`);
  const first = generation(keys);
  first.begin();
  statistics.publish(first);
  for (let limit = 0; limit < keys.length; limit++) count(first, limit, 100);
  const reader = statistics.totals()[Symbol.iterator]();
  const totals = new Set<number>();
  for (let told = 0; told < 600; ) {
    const [, total] = reader.next().value;
    if (total > 0) told++;
  }
  statistics.publish(generation(keys));
  exhaust(statistics.carryOver());
  // A batch under way counts under the rules that it was matched with.
  for (let limit = 0; limit < keys.length; limit++) count(first, limit, 1);
  for (let next = reader.next(); !next.done; next = reader.next()) {
    if (next.value[1] > 0) totals.add(next.value[1]);
  }
  t.same(
    [...totals].filter(total => total < 100),
    [],
    'it would look as if the counter had begun again',
  );
  t.equal(told(statistics)['d.k2999.total_hits'], 101);
});

t.test('a domain that was unknown and a rule with the same name are told side by side', async t => {
  const statistics = new RuleStatistics();
  statistics.domainNotFound('d.a', 3);
  const rules = generation(['a']);
  statistics.publish(rules);
  count(rules, 0, 1);
  t.same(told(statistics), { 'd.a.total_hits': 1, 'd.a.domain_not_found': 3 });
  t.same(told(statistics), { 'd.a.total_hits': 1, 'd.a.domain_not_found': 3 });
});

t.test('totals go on when rules are replaced: those that stay, go, come back', async t => {
  const statistics = new RuleStatistics();
  const first = generation(['stays', 'goes', 'idle']);
  statistics.publish(first);
  count(first, 0, 1);
  count(first, 1, 10);
  const second = generation(['new', 'stays']);
  statistics.publish(second);
  count(second, 1, 2);
  t.same(told(statistics), { 'd.stays.total_hits': 3, 'd.goes.total_hits': 10 });
  const third = generation(['goes']);
  statistics.publish(third);
  count(third, 0, 20);
  t.same(told(statistics), { 'd.stays.total_hits': 3, 'd.goes.total_hits': 30 });
  t.same(told(statistics), { 'd.stays.total_hits': 3, 'd.goes.total_hits': 30 }, 'and once only');
});

t.test('a name from requests that is also one of a rule, now or in the past, is one', async t => {
  const statistics = new RuleStatistics();
  const first = generation(['a']);
  statistics.publish(first);
  count(first, 0, 1);
  addTotal(statistics.rowFor('d.a'), RULE_STAT.totalHits, 10);
  t.same(told(statistics), { 'd.a.total_hits': 11 });
  addTotal(statistics.rowFor('d.a'), RULE_STAT.totalHits, 10);
  statistics.publish(generation([]));
  t.same(told(statistics), { 'd.a.total_hits': 21 });
});

t.test('what a batch counts under replaced rules after they were carried over is not lost', async t => {
  const statistics = new RuleStatistics();
  const first = generation(['a', 'b']);
  first.begin();
  count(first, 0, 1);
  statistics.publish(first);
  statistics.publish(generation(['a']));
  exhaust(statistics.carryOver());
  t.same(told(statistics), { 'd.a.total_hits': 1 });
  count(first, 0, 2);
  count(first, 1, 5);
  first.end();
  t.same(told(statistics), { 'd.a.total_hits': 3, 'd.b.total_hits': 5 });
});

/** The keys of some limits, in their order, and the rules with these limits. */
interface Rules {
  readonly keys: readonly string[];
  readonly rules: CompiledRules;
}

/** Rules that replace each other at random. To compile them takes longer than everything else. */
function rulesAtRandom(count: number): Rules[] {
  const random = new SeededRandom(count);
  return Array.from({ length: count }, () => {
    // Two keys of three have the name of another.
    const keys = Array.from({ length: random.below(1_200) + 1 }, (_, i) =>
      [`k:${i}`, `k|${i}`, `j${i}`].slice(random.below(3)),
    ).flat();
    return { keys, rules: rulesOfKeys(keys) };
  });
}

/** Rules in force: the keys of their limits, and what they count. */
interface InForce {
  readonly keys: readonly string[];
  readonly generation: RuleGeneration;
}

/** Does at random what the service does with its statistics, and keeps count of the hits. */
class Turmoil {
  readonly statistics = new RuleStatistics();
  readonly counted: Record<string, number> = {};
  readonly #random: SeededRandom;
  readonly #rules: readonly Rules[];
  readonly #batches: InForce[] = [];
  readonly #readers: Iterator<unknown>[] = [];
  #current: InForce | null = null;

  constructor(seed: number, rules: readonly Rules[]) {
    this.#random = new SeededRandom(seed);
    this.#rules = rules;
  }

  step(): void {
    const random = this.#random;
    const what = random.below(100);
    if (this.#current === null || what < 4) this.#publish();
    else if (what < 14) this.#beginBatch(this.#current);
    else if (what < 24) this.endBatch();
    else if (what < 30) this.#readers.push(this.#read()[Symbol.iterator]());
    else if (what < 70 && this.#readers.length > 0) random.pick(this.#readers).next();
    else this.#hit(this.#current);
  }

  /** The batch that runs longest counts once more, under rules that may be gone, and ends. */
  endBatch(): boolean {
    const batch = this.#batches.shift();
    if (batch === undefined) return false;
    this.#hit(batch);
    batch.generation.end();
    return true;
  }

  /** All readers read to their end. */
  endReaders(): void {
    for (const reader of this.#readers) while (!reader.next().done);
  }

  #publish(): void {
    const { keys, rules } = this.#random.pick(this.#rules);
    this.#current = { keys, generation: new RuleGeneration(rules) };
    this.statistics.publish(this.#current.generation);
  }

  #beginBatch(rules: InForce): void {
    rules.generation.begin();
    this.#batches.push(rules);
  }

  #read(): Iterable<unknown> {
    return this.#random.below(2) === 0 ? this.statistics.totals() : this.statistics.carryOver();
  }

  #hit({ keys, generation }: InForce): void {
    const limit = this.#random.below(keys.length);
    const name = `d.${keys[limit]}`;
    if (this.#random.below(5) === 0) addTotal(this.statistics.rowFor(name), RULE_STAT.totalHits, 1);
    else count(generation, limit, 1);
    const told = `${sanitiseStatName(name)}.total_hits`;
    this.counted[told] = (this.counted[told] ?? 0) + 1;
  }
}

t.test('no hit is lost or told twice, however publications, batches and readers interleave', async t => {
  const rules = rulesAtRandom(12);
  for (let seed = 1; seed <= 12; seed++) {
    const turmoil = new Turmoil(seed, rules);
    for (let step = 0; step < 300; step++) turmoil.step();
    while (turmoil.endBatch());
    const totals = told(turmoil.statistics);
    t.same(Object.entries(totals).sort(), Object.entries(turmoil.counted).sort(), `seed ${seed}`);
  }
});

t.test('names from requests take a bounded number of bytes: the least recently used lets go', async t => {
  const statistics = new RuleStatistics({ bytes: 100 * (NAME_OVERHEAD_BYTES + 10), nameBytes: 64 });
  const name = (i: number): string => `d.a_${String(i).padStart(6, '0')}`;
  for (let i = 0; i < 1_000; i++) {
    addTotal(statistics.rowFor(name(i)), RULE_STAT.totalHits, 2);
    addTotal(statistics.rowFor('d.a_in_use'), RULE_STAT.totalHits, 1);
    if (i % 2 === 0) statistics.domainNotFound(`junk-${i}`, 3);
  }
  const totals = told(statistics);
  t.equal(
    totals['d.a_in_use.total_hits'],
    1_000,
    'a name in use is never crowded out by those that come once',
  );
  t.equal(totals[`${name(999)}.total_hits`], 2);
  t.notOk(`${name(0)}.total_hits` in totals);
  const kept = Object.keys(totals).length - 3;
  t.ok(kept > 80 && kept <= 100, `${kept} names are kept`);
  t.equal(totals[NAMES_DROPPED], 1_500 - kept);
  const told2 = Object.entries(totals).filter(([each]) => each !== NAMES_DROPPED);
  t.equal(
    told2.reduce((sum, [, total]) => sum + total, 0),
    2 * 1_000 + 1_000 + 3 * 500,
    'no hit is missing: those of dropped names are counted together',
  );
  t.ok(totals[HITS_DROPPED] > 0);
});

t.test('names that let go while they are read are told or counted as dropped, not both', async t => {
  const statistics = new RuleStatistics({ bytes: 100 * (NAME_OVERHEAD_BYTES + 10), nameBytes: 64 });
  for (let i = 0; i < 100; i++) addTotal(statistics.rowFor(`d.old_${i}`), RULE_STAT.totalHits, 1);
  const reader = statistics.totals()[Symbol.iterator]();
  reader.next();
  for (let i = 0; i < 100; i++) addTotal(statistics.rowFor(`d.new_${i}`), RULE_STAT.totalHits, 1);
  let sum = 0;
  for (let next = reader.next(); !next.done; next = reader.next()) {
    if (next.value[0] !== NAMES_DROPPED) sum += next.value[1];
  }
  t.equal(sum, 100, 'the new ones were not there when the reader began');
});

t.test('by default a caller can fill some megabytes with names, whatever their length', async t => {
  for (const length of [20, NAME_BOUNDS.nameBytes]) {
    const statistics = new RuleStatistics();
    for (let i = 0; i < 65_000; i++) {
      addTotal(statistics.rowFor(String(i).padStart(length, 'x')), RULE_STAT.totalHits, 1);
    }
    let text = 0;
    let names = 0;
    for (const [name] of statistics.totals()) {
      text += name.length;
      names++;
    }
    t.ok(text < 20 * 1024 * 1024, `names of ${length} bytes: ${text} characters in all`);
    t.ok(names > 20_000, `${names} names`);
  }
});

t.test('a name beyond the bound of its length is not kept, and its hits are counted', async t => {
  const statistics = new RuleStatistics({ bytes: 1_000_000, nameBytes: 8 });
  addTotal(statistics.rowFor('x'.repeat(8)), RULE_STAT.totalHits, 1);
  addTotal(statistics.rowFor('x'.repeat(9)), RULE_STAT.totalHits, 2);
  addTotal(statistics.rowFor('é'.repeat(5)), RULE_STAT.totalHits, 3);
  statistics.domainNotFound('x'.repeat(1_000_000), 4);
  t.same(told(statistics), { 'xxxxxxxx.total_hits': 1, [NAMES_DROPPED]: 3, [HITS_DROPPED]: 9 });
});

t.test('names of rules that are gone are bounded as well, and crowd out none of requests', async t => {
  const statistics = new RuleStatistics({ bytes: 100 * (NAME_OVERHEAD_BYTES + 10), nameBytes: 64 });
  addTotal(statistics.rowFor('d.a_ann'), RULE_STAT.totalHits, 1);
  for (let round = 0; round < 10; round++) {
    const rules = generation(Array.from({ length: 50 }, (_, i) => `r${round}-${i}`));
    statistics.publish(rules);
    for (let limit = 0; limit < 50; limit++) count(rules, limit, 2);
  }
  const totals = told(statistics);
  t.equal(totals['d.a_ann.total_hits'], 1);
  for (let i = 0; i < 50; i++) t.equal(totals[`d.r9-${i}.total_hits`], 2);
  const gone = Object.keys(totals).filter(name => /^d\.r[0-8]-/.test(name)).length;
  t.ok(gone > 80 && gone < 110, `${gone} names of gone rules are kept`);
  t.equal(totals[NAMES_DROPPED], 450 - gone);
  t.equal(totals[HITS_DROPPED], 2 * (450 - gone));
});

t.test('however much there is to carry over and to tell, others may run in between', async t => {
  const statistics = new RuleStatistics();
  const keys = Array.from({ length: 20_000 }, (_, i) => `k${i}`);
  const first = generation(keys);
  statistics.publish(first);
  for (let limit = 0; limit < 20_000; limit++) count(first, limit, 1);
  statistics.publish(generation(keys.toReversed()));
  const pauses = [...statistics.carryOver()].length;
  t.ok(pauses >= 40, `${pauses} pauses`);
  let told = 0;
  let longest = 0;
  let since = 0;
  for (const [, total] of statistics.totals()) {
    since = total === 0 ? 0 : since + 1;
    longest = Math.max(longest, since);
    if (total !== 0) told++;
  }
  t.equal(told, 20_000);
  t.ok(longest <= 512, `${longest} counters without a pause`);
});
