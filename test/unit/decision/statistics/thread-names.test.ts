import t from 'tap';
import {
  DOMAIN_NOT_FOUND,
  NAME_OVERHEAD_BYTES,
  type NameBounds,
} from '../../../../src/decision/statistics/named-rows.ts';
import { RuleStatistics } from '../../../../src/decision/statistics/rule-statistics.ts';
import { addTotal } from '../../../../src/decision/statistics/shared-totals.ts';
import { NAMES_AT_ONCE, ThreadNames } from '../../../../src/decision/statistics/thread-names.ts';
import { RULE_STAT } from '../../../../src/stats/names.ts';

function hit(names: ThreadNames, name: string, hits: number): void {
  addTotal(names.rowFor(name), RULE_STAT.totalHits, hits);
}

/** What the primary thread shows, without what is 0. */
function shown(statistics: RuleStatistics): Record<string, number> {
  return Object.fromEntries([...statistics.totals()].filter(([, total]) => total > 0));
}

const PREFIX = 'ratelimit.service.rate_limit.';

t.test('names of several threads are added up', async t => {
  const statistics = new RuleStatistics();
  const threads = [new ThreadNames(), new ThreadNames()];
  for (const names of threads) {
    hit(names, 'd.a:1', 2);
    names.domainNotFound('nowhere', 3);
  }
  hit(threads[0], 'd.b', 2 ** 40);
  for (const names of threads) for (const report of names.take()) statistics.addReport(report);
  t.same(shown(statistics), {
    [`${PREFIX}d.a_1.total_hits`]: 4,
    [`${PREFIX}d.b.total_hits`]: 2 ** 40,
    [`${PREFIX}nowhere.domain_not_found`]: 6,
  });
});

t.test('hits are reported once; what a batch in flight counts later is part of the next report', async t => {
  const statistics = new RuleStatistics();
  const names = new ThreadNames();
  const report = (): number => {
    const reports = [...names.take()];
    for (const each of reports) statistics.addReport(each);
    return reports.length;
  };
  const row = names.rowFor('d.a');
  addTotal(row, RULE_STAT.totalHits, 1);
  t.equal(report(), 1);
  t.equal(report(), 0);
  addTotal(row, RULE_STAT.withinLimit, 1);
  addTotal(row, DOMAIN_NOT_FOUND, 5);
  t.equal(report(), 1);
  t.same(shown(statistics), {
    [`${PREFIX}d.a.total_hits`]: 1,
    [`${PREFIX}d.a.within_limit`]: 1,
    [`${PREFIX}d.a.domain_not_found`]: 5,
  });
});

t.test('many names are several reports; hits that are counted in between are not lost', async t => {
  const statistics = new RuleStatistics();
  const names = new ThreadNames();
  const count = 3 * NAMES_AT_ONCE;
  for (let i = 0; i < count; i++) hit(names, `d.${i}`, 1);
  let reports = 0;
  for (const report of names.take()) {
    t.ok(report.names.length <= NAMES_AT_ONCE);
    statistics.addReport(report);
    if (reports++ === 0) for (let i = 0; i < count; i++) hit(names, `d.${i}`, 1);
  }
  t.equal(reports, 3);
  for (const report of names.take()) statistics.addReport(report);
  const totals = shown(statistics);
  t.equal(Object.keys(totals).length, count);
  t.same(new Set(Object.values(totals)), new Set([2]));
});

t.test('memory is limited between reports; the primary thread counts what was dropped', async t => {
  const bounds: NameBounds = { bytes: 100 * (NAME_OVERHEAD_BYTES + 10), nameBytes: 64 };
  const statistics = new RuleStatistics();
  const names = new ThreadNames(bounds);
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 1_000; i++) hit(names, `d.a_${round}_${i}`, 2);
    hit(names, 'x'.repeat(65), 7);
    for (const report of names.take()) statistics.addReport(report);
  }
  t.same([...names.take()], []);
  const {
    'ratelimit.stats.names_dropped': dropped,
    'ratelimit.stats.hits_dropped': hits,
    ...kept
  } = shown(statistics);
  const keptNames = Object.keys(kept).length;
  t.ok(keptNames > 180 && keptNames < 240, `${keptNames} names`);
  t.equal(dropped, 2 * 1_001 - keptNames);
  t.equal(hits, 2 * 7 + 2 * (2_000 - keptNames));
});
