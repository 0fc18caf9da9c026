import type { Test } from 'tap';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { OK, type OpenStore, OVER_LIMIT } from './examinee.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
/** A time at which windows of 2 hours and all shorter ones begin that divide it. */
const BEGIN_MS = 1_700_006_400_000;

/** Limits that users of envoyproxy/ratelimit, Envoy and its gateways have asked for, with the numbers of their threads. */
export function examineRequestedLimits(t: Test, open: OpenStore): void {
  const opened = opening(open);
  examineWindows(t, opened);
  examineTwoLimits(t, opened);
  examineRolling(t, opened);
  examineBillingPeriods(t, opened);
}

/** Decisions by the rules of some descriptors. */
type OpenRules = (descriptors: string) => Promise<Decisions>;

function opening(open: OpenStore): OpenRules {
  return async descriptors =>
    new Decisions({ store: await open(), rules: `domain: d\ndescriptors:\n${descriptors}`, nowMs: BEGIN_MS });
}

/** How many of `count` requests for a descriptor are admitted now, one after the other. */
async function admitted(decisions: Decisions, text: string, count: number): Promise<number> {
  let passed = 0;
  for (let i = 0; i < count; i++) {
    const { overallCode } = await decisions.ask(request('d', text));
    if (overallCode === OK) passed++;
  }
  return passed;
}

function examineWindows(t: Test, opened: OpenRules): void {
  /** https://github.com/envoyproxy/ratelimit/issues/439 */
  t.test('windows of 5 minutes and of 2 hours', async t => {
    const decisions = await opened(`
  - key: short
    rate_limit: { window: 5m, requests_per_unit: 3 }
  - key: long
    rate_limit: { window: 2h, requests_per_unit: 3 }`);
    for (const [key, lengthMs] of [
      ['short', 5 * MINUTE_MS],
      ['long', 2 * HOUR_MS],
    ] as const) {
      decisions.clock.moveTo(BEGIN_MS);
      t.equal(await admitted(decisions, `${key}=x`, 4), 3, key);
      decisions.clock.moveTo(BEGIN_MS + lengthMs - SECOND_MS);
      const { overallCode, statuses } = await decisions.ask(request('d', `${key}=x`));
      t.equal(overallCode, OVER_LIMIT);
      t.equal(statuses[0].durationUntilReset, 1);
      decisions.clock.advance(SECOND_MS);
      t.equal(await admitted(decisions, `${key}=x`, 4), 3, `${key}, in the next window`);
    }
  });

  /** https://github.com/envoyproxy/envoy/pull/47307: a multiplier is not the same rate in a shorter window. */
  t.test('10 requests in 10 minutes can all come in the first minute', async t => {
    const decisions = await opened(`
  - key: k
    rate_limit: { unit: minute, unit_multiplier: 10, requests_per_unit: 10 }`);
    t.equal(await admitted(decisions, 'k=x', 11), 10);
    decisions.clock.advance(9 * MINUTE_MS);
    t.equal(await admitted(decisions, 'k=x', 1), 0);
    decisions.clock.advance(MINUTE_MS);
    t.equal(await admitted(decisions, 'k=x', 11), 10);
  });

  /** https://github.com/envoyproxy/gateway/issues/6486 */
  t.test('1500 requests every 30 seconds', async t => {
    const decisions = await opened(`
  - key: k
    rate_limit: { unit: second, unit_multiplier: 30, requests_per_unit: 1500 }`);
    const ask = (hitsAddend: number) => decisions.ask({ ...request('d', 'k=x'), hitsAddend });
    t.match(await ask(1_500), { overallCode: OK, statuses: [{ limitRemaining: 0, durationUntilReset: 30 }] });
    decisions.clock.advance(29 * SECOND_MS);
    t.match(await ask(1), { overallCode: OVER_LIMIT, statuses: [{ durationUntilReset: 1 }] });
    decisions.clock.advance(SECOND_MS);
    t.match(await ask(1_500), { overallCode: OK });
  });
}

function examineTwoLimits(t: Test, opened: OpenRules): void {
  /** https://github.com/envoyproxy/ratelimit/issues/190 */
  t.test('5 in a second, 60 in 30 seconds and 100 in 5 minutes, for one key', async t => {
    const decisions = await opened(`
  - key: conversation
    rate_limits:
      - { unit: second, requests_per_unit: 5 }
      - { unit: second, unit_multiplier: 30, requests_per_unit: 60 }
      - { unit: second, unit_multiplier: 300, requests_per_unit: 100 }`);
    const seconds = async (count: number): Promise<number> => {
      let passed = 0;
      for (let second = 0; second < count; second++) {
        passed += await admitted(decisions, 'conversation=a', 5);
        decisions.clock.advance(SECOND_MS);
      }
      return passed;
    };
    const refusal = async () => (await decisions.ask(request('d', 'conversation=a'))).statuses[0];
    t.equal(await admitted(decisions, 'conversation=b', 6), 5, 'in one second');
    t.equal(await seconds(12), 60);
    t.match(await refusal(), {
      code: OVER_LIMIT,
      currentLimit: { requestsPerUnit: 60 },
      durationUntilReset: 18,
    });
    decisions.clock.moveTo(BEGIN_MS + 30 * SECOND_MS);
    t.equal(await seconds(7), 35);
    t.equal(await admitted(decisions, 'conversation=a', 5), 4, '100 and the refused one');
    t.match(await refusal(), {
      code: OVER_LIMIT,
      currentLimit: { requestsPerUnit: 100 },
      durationUntilReset: 263,
    });
  });

  /** https://github.com/envoyproxy/ratelimit/issues/107 */
  t.test('bursts of 10 in a second, but not more than 100 in a minute', async t => {
    const decisions = await opened(`
  - key: database
    rate_limits:
      - { unit: second, requests_per_unit: 10 }
      - { unit: minute, requests_per_unit: 100 }`);
    t.equal(await admitted(decisions, 'database=a', 11), 10);
    decisions.clock.moveTo(BEGIN_MS + MINUTE_MS);
    for (let second = 0; second < 10; second++) {
      t.equal(await admitted(decisions, 'database=a', 10), 10);
      decisions.clock.advance(SECOND_MS);
    }
    t.equal(await admitted(decisions, 'database=a', 10), 0);
  });

  /** https://github.com/envoyproxy/ratelimit/issues/262 */
  t.test('a burst limit and a daily limit for each account, depending on its package', async t => {
    const decisions = await opened(`
  - key: package
    value: free
    descriptors:
      - key: account_id
        rate_limits:
          - { name: burst, unit: second, requests_per_unit: 10 }
          - { name: daily, unit: day, requests_per_unit: 250 }
  - key: package
    value: paid
    descriptors:
      - key: account_id
        rate_limits:
          - { name: burst, unit: second, requests_per_unit: 20 }
          - { name: daily, unit: day, requests_per_unit: 1000 }`);
    t.equal(await admitted(decisions, 'package=free,account_id=1', 21), 10);
    t.equal(await admitted(decisions, 'package=paid,account_id=2', 21), 20);
    t.match(decisions.rule('d.package_free.account_id.burst'), { total_hits: 21, over_limit: 11 });
    t.match(decisions.rule('d.package_free.account_id.daily'), { total_hits: 21, within_limit: 21 });
    const day = {
      ...request('d'),
      descriptors: [descriptor('package=free,account_id=3', { hitsAddend: 251 })],
    };
    t.match(
      (await decisions.ask(day)).statuses[0].currentLimit,
      { name: 'daily' },
      'the one that resets last',
    );
  });

  /** https://github.com/envoyproxy/ratelimit/issues/693 */
  t.test('limits per second and per hour for each method of a path', async t => {
    const decisions = await opened(`
  - key: path
    value: /api/v1/subpath
    rate_limit: { unit: second, requests_per_unit: 1000 }
    descriptors:
      - key: method
        value: get
        rate_limits:
          - { unit: hour, requests_per_unit: 1000 }
          - { unit: second, requests_per_unit: 2 }
      - key: method
        value: post
        rate_limits:
          - { unit: hour, requests_per_unit: 400 }
          - { unit: second, requests_per_unit: 1 }`);
    t.equal(await admitted(decisions, 'path=/api/v1/subpath,method=get', 3), 2);
    t.equal(await admitted(decisions, 'path=/api/v1/subpath,method=post', 3), 1);
    decisions.clock.advance(SECOND_MS);
    t.equal(await admitted(decisions, 'path=/api/v1/subpath,method=get', 3), 2);
  });
}

function examineRolling(t: Test, opened: OpenRules): void {
  /** https://github.com/envoyproxy/ratelimit/issues/32: 60 in an hour, which come back as the hour moves on. */
  t.test('5 minutes after an hour in which 60 calls were spread evenly, 5 more can be made', async t => {
    const decisions = await opened(`
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 60, algorithm: sliding_window }`);
    for (let minute = 0; minute < 60; minute++) {
      t.equal(await admitted(decisions, 'user=a', 1), 1);
      decisions.clock.advance(MINUTE_MS);
    }
    t.equal(await admitted(decisions, 'user=a', 1), 0, 'the whole hour counts');
    decisions.clock.advance(5 * MINUTE_MS);
    t.equal(await admitted(decisions, 'user=a', 6), 5);
  });

  /** https://github.com/envoyproxy/ratelimit/pull/193, and issues 269 and 301 */
  t.test('a burst of 60 at once, then one more every minute', async t => {
    const decisions = await opened(`
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 60, algorithm: token_bucket }`);
    t.equal(await admitted(decisions, 'user=a', 61), 60);
    decisions.clock.advance(MINUTE_MS - 1);
    const { overallCode, statuses } = await decisions.ask(request('d', 'user=a'));
    t.equal(overallCode, OVER_LIMIT);
    t.match(statuses[0], { limitRemaining: 0, currentLimit: { requestsPerUnit: 60 } });
    decisions.clock.advance(1);
    t.equal(await admitted(decisions, 'user=a', 2), 1);
    decisions.clock.advance(10 * MINUTE_MS);
    t.equal(await admitted(decisions, 'user=a', 20), 10);
    decisions.clock.advance(24 * HOUR_MS);
    t.equal(await admitted(decisions, 'user=a', 100), 60, 'it never holds more');
  });

  /** https://github.com/envoyproxy/ratelimit/issues/313, https://github.com/envoyproxy/gateway/issues/4292 */
  t.test('at the border of two minutes, only a fixed window lets through twice the limit', async t => {
    const decisions = await opened(`
  - key: fixed
    rate_limit: { unit: minute, requests_per_unit: 50 }
  - key: sliding
    rate_limit: { unit: minute, requests_per_unit: 50, algorithm: sliding_window }
  - key: bucket
    rate_limit: { unit: minute, requests_per_unit: 50, algorithm: token_bucket, burst: 20 }`);
    for (const [key, atOnce] of [
      ['fixed', 100],
      ['sliding', 50],
      ['bucket', 20],
    ] as const) {
      decisions.clock.moveTo(BEGIN_MS + MINUTE_MS - 1);
      const before = await admitted(decisions, `${key}=x`, 60);
      decisions.clock.advance(1);
      t.equal(before + (await admitted(decisions, `${key}=x`, 60)), atOnce, key);
    }
  });
}

function examineBillingPeriods(t: Test, opened: OpenRules): void {
  /** https://github.com/envoyproxy/ai-gateway/issues/2469 */
  t.test('a token budget for each tenant and billing period, in the zone of the tenant', async t => {
    const decisions = await opened(`
  - key: tenant
    quota_mode: true
    rate_limit:
      requests_per_unit: 1000000
      calendar: { period: month, zone: America/New_York, starts: 15 }`);
    const spend = async (moment: string, tokens: number) => {
      decisions.clock.moveTo(Date.parse(moment));
      const { overallCode, statuses } = await decisions.ask({
        ...request('d', 'tenant=a'),
        hitsAddend: tokens,
      });
      return [overallCode, statuses[0].limitRemaining, statuses[0].durationUntilReset];
    };
    // New York is five hours behind UTC until 8 March 2026, and four hours from then on.
    const periodS = 28 * 86_400 - 3_600;
    t.same(await spend('2026-02-15T05:00:00Z', 999_999), [OK, 1, periodS]);
    t.same(await spend('2026-03-15T03:59:59Z', 1), [OK, 0, 1]);
    t.same(await spend('2026-03-15T03:59:59Z', 1), [OVER_LIMIT, 0, 1]);
    t.same(await spend('2026-03-15T04:00:00Z', 1), [OK, 999_999, 31 * 86_400]);
  });

  /** https://github.com/envoyproxy/envoy/issues/23844: subscriptions of a month and of a year. */
  t.test('months of a calendar have their lengths, and a year begins on its date', async t => {
    const decisions = await opened(`
  - key: month
    rate_limit: { requests_per_unit: 10000, calendar: { period: month, zone: UTC } }
  - key: year
    rate_limit: { requests_per_unit: 1000000, calendar: { period: year, zone: UTC, starts: 04-06 } }`);
    const resets = async (moment: string) => {
      decisions.clock.moveTo(Date.parse(moment));
      const { statuses } = await decisions.ask(request('d', 'month=a', 'year=a'));
      return statuses.map(status => Number(status.durationUntilReset) / 86_400);
    };
    t.same(await resets('2027-02-01T00:00:00Z'), [28, 64]);
    t.same(await resets('2028-02-01T00:00:00Z'), [29, 65]);
    t.same(await resets('2028-04-06T00:00:00Z'), [25, 365]);
  });
}
