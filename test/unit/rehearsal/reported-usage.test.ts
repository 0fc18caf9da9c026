import t from 'tap';
import { RuleStatistics } from '../../../src/decision/statistics/rule-statistics.ts';
import type { ReportedUsage } from '../../../src/quota/round.ts';
import type { ComparedHits } from '../../../src/rehearsal/comparison.ts';
import { Rehearsal } from '../../../src/rehearsal/rehearsal.ts';
import { RehearsalObserver } from '../../../src/rehearsal/rehearsal-observer.ts';
import { reportOf } from '../../../src/rehearsal/report.ts';
import { RehearsedUsage } from '../../../src/rehearsal/reported-usage.ts';
import { PLAIN_OPTIONS } from '../../support/decisions.ts';
import { TEST_FINGERPRINT_KEY } from '../../support/stores.ts';
import { compiled } from '../rules/parse/rule-text.ts';

const CANDIDATE = `
  domain: shop
  descriptors:
    - key: user
      rate_limit: {unit: second, requests_per_unit: 40}
    - key: path
      rate_limit: {unit: minute, requests_per_unit: 1000}
`;

/** Rehearses what is reported, and returns the figures of all limits together. */
async function rehearsed(...reports: ReportedUsage[]): Promise<ComparedHits> {
  const rehearsal = Rehearsal.begin(1, compiled(CANDIDATE), 1);
  const settings = { options: PLAIN_OPTIONS, fingerprintKey: TEST_FINGERPRINT_KEY, localCacheBytes: 0 };
  const observer = new RehearsalObserver(settings, { current: rehearsal }, null);
  const usage = new RehearsedUsage(observer, TEST_FINGERPRINT_KEY, new RuleStatistics());
  usage.observe(reports, 1_700_000_000_500);
  return (await reportOf(rehearsal, 10)).total;
}

function report(key: string, allowed: number, denied: number, spanMs: number): ReportedUsage {
  return { domain: 'shop', entries: [{ key, value: 'a' }], allowed, denied, spanMs };
}

t.test('what proxies have decided is compared with the candidate rules', async t => {
  t.same(await rehearsed(report('path', 700, 30, 5_000)), {
    hits: 730,
    rejected: 0,
    today: 30,
    more: 0,
    fewer: 30,
  });
});

t.test(
  'requests are spread over the seconds of a report, so that limits of a second count them as they came',
  async t => {
    t.match(await rehearsed(report('user', 195, 0, 5_000)), { hits: 195, rejected: 0 });
    const { rejected } = await rehearsed(report('user', 400, 0, 5_000));
    // A quarter of a second is rejected as a whole.
    t.equal(rejected, 200);
  },
);

t.test('without a rehearsal nothing needs to be collected', async t => {
  const settings = { options: PLAIN_OPTIONS, fingerprintKey: TEST_FINGERPRINT_KEY, localCacheBytes: 0 };
  const source: { current: Rehearsal | null } = { current: null };
  const observer = new RehearsalObserver(settings, source, null);
  const usage = new RehearsedUsage(observer, TEST_FINGERPRINT_KEY, new RuleStatistics());
  t.notOk(usage.isActive);
  source.current = Rehearsal.begin(1, compiled(CANDIDATE), 1);
  t.ok(usage.isActive);
});
