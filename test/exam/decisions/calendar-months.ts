import type { Test } from 'tap';
import type { CounterStore } from '../../../src/counters/store.ts';
import type { EngineOptions } from '../../../src/decision/engine.ts';
import { ANSWER } from '../../../src/rules/domain-answers.ts';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { each } from '../../support/each.ts';
import { record, sharedRecords } from '../../support/steering.ts';
import { type OpenStore, shown } from './examinee.ts';
import { type EntryText, limit, ruleFile } from './rule-file.ts';
import { WatchedStore } from './watched-store.ts';

const HEADERS = { limit: 'l', remaining: 'r', reset: 's' };

/** A limit of two requests a month. */
const MONTHLY: EntryText = { key: 'k', rate_limit: limit(2, { unit: 'month' }) };

/** A moment, and the month that contains it: the start in the cache key, and the seconds that are left. */
const MONTHS = [
  ['2023-11-14T22:13:20.999Z', 1_698_796_800, 1_388_800],
  ['2023-12-31T23:59:59Z', 1_701_388_800, 1],
  ['2024-01-01T00:00:00Z', 1_704_067_200, 31 * 86_400],
  ['2024-01-31T23:00:00Z', 1_704_067_200, 3_600],
  ['2024-02-28T00:00:00Z', 1_706_745_600, 2 * 86_400],
  ['2023-02-28T00:00:00Z', 1_675_209_600, 86_400],
] as const;

interface Setup {
  readonly entries: readonly EntryText[];
  readonly nowMs?: number;
  readonly options?: Partial<EngineOptions>;
  readonly localCacheBytes?: number;
  readonly steering?: SharedArrayBuffer;
}

/** `USE_CALENDAR_MONTH_RATE_LIMIT`: limits per month whose months are those of the calendar. */
export function examineCalendarMonths(t: Test, open: OpenStore): void {
  const counting: Counting = async setup => {
    const store = new WatchedStore(await open());
    return { store, decisions: decisionsOf(store, setup) };
  };
  examineMonths(t, counting);
  examineOverriddenMonths(t, counting);
  examineOtherWindows(t, counting);
  examinePlainness(t, counting);
  examineShownMonths(t, open);
}

function decisionsOf(store: CounterStore, { entries, ...setup }: Setup): Decisions {
  const decisions = new Decisions({ store, rules: null, ...setup });
  decisions.load(ruleFile(...entries), { mergeDomains: false, calendarMonths: true });
  return decisions;
}

type Counting = (setup: Setup) => Promise<{ decisions: Decisions; store: WatchedStore }>;

function examineMonths(t: Test, counting: Counting): void {
  for (const [time, startS, leftS] of MONTHS) {
    t.test(`at ${time}, a month began at ${startS} and ends in ${leftS} s`, async t => {
      const nowMs = Date.parse(time);
      const { decisions, store } = await counting({
        entries: [MONTHLY],
        nowMs,
        options: { headerNames: HEADERS },
      });
      const own = descriptor('own=v', { limit: { requestsPerUnit: 5, unit: 5 } });
      const { statuses, responseHeadersToAdd } = await decisions.ask(request('d', 'k=v', own));
      t.strictSame(
        each(statuses, 'durationUntilReset'),
        [leftS, leftS],
        'also of a limit that a request brings',
      );
      t.strictSame(statuses[0].currentLimit, { name: '', requestsPerUnit: 2, unit: 5 });
      t.strictSame(each(responseHeadersToAdd, 'value'), ['2', '1', String(leftS)]);
      t.strictSame(store.calls, [[`d_k_v_${startS}`, `d_own_v_${startS}`]]);
      const endS = Math.floor(nowMs / 1_000) + leftS;
      t.strictSame(store.windowEndsS, [[endS, endS]]);
    });
  }

  for (const localCacheBytes of [0, 1_000_000]) {
    const cache = localCacheBytes === 0 ? '' : ', with the local cache';
    t.test(`a month ends where the next one starts${cache}`, async t => {
      const nowMs = Date.parse('2024-02-29T12:00:00Z');
      const { decisions } = await counting({ entries: [MONTHLY], nowMs, localCacheBytes });
      const ask = async () => shown((await decisions.ask(request('d', 'k=v'))).statuses)[0];
      t.strictSame([await ask(), await ask(), await ask()], ['OK 1', 'OK 0', 'OVER_LIMIT 0']);
      decisions.clock.advance(43_200_000 - 1);
      t.equal(await ask(), 'OVER_LIMIT 0', 'the last moment of February');
      decisions.clock.advance(1);
      t.equal(await ask(), 'OK 1', 'the first moment of March');
    });
  }

  t.test('a refund gives back hits of the month', async t => {
    const { decisions } = await counting({ entries: [MONTHLY] });
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 2 });
    t.strictSame(shown((await decisions.ask(refund('d', 1, 'k=v'))).statuses), ['OK 1']);
  });
}

function examineOverriddenMonths(t: Test, counting: Counting): void {
  t.test('an override changes the limit of a month, also of one that a request brings', async t => {
    const { buffer: steering } = sharedRecords(
      record('override', 'k', { requests_per_unit: 5 }),
      record('override', 'own', { factor: 2 }),
    );
    const { decisions, store } = await counting({ entries: [MONTHLY], steering });
    const own = descriptor('own=v', { limit: { requestsPerUnit: 5, unit: 5 } });
    const { statuses } = await decisions.ask(request('d', 'k=v', own));
    t.strictSame(shown(statuses), ['OK 4', 'OK 9']);
    t.strictSame(each(statuses, 'durationUntilReset'), [1_388_800, 1_388_800]);
    t.strictSame(store.calls, [['d_k_v_1698796800', 'd_own_v_1698796800']]);
  });
}

/** The ends of the keys of limits that are not plain limits per month. */
function examineOtherWindows(t: Test, counting: Counting): void {
  t.test('other units keep their windows', async t => {
    const units = ['second', 'minute', 'hour', 'day', 'week', 'year'];
    const { decisions, store } = await counting({
      entries: units.map(unit => ({ key: unit, rate_limit: limit(1, { unit }) })),
    });
    await decisions.ask(request('d', ...units.map(unit => `${unit}=v`)));
    t.strictSame(store.calls, [
      [
        'd_second_v_1700000000',
        'd_minute_v_1699999980',
        'd_hour_v_1699999200',
        'd_day_v_1699920000',
        'd_week_v_1699488000',
        'd_year_v_1671408000',
      ],
    ]);
  });

  t.test('limits that can only be written for Sluice keep counters of their own', async t => {
    const month = { unit: 'month', requests_per_unit: 3 };
    const calendar = { period: 'month', zone: 'UTC' };
    const { decisions, store } = await counting({
      entries: [
        { key: 'plain', rate_limit: month },
        { key: 'calendar', rate_limit: { requests_per_unit: 3, calendar } },
        { key: 'three', rate_limit: { ...month, unit_multiplier: 3 } },
        { key: 'days', rate_limit: { window: '30d', requests_per_unit: 3 } },
        { key: 'list', rate_limits: [month, { requests_per_unit: 3, calendar }] },
      ],
    });
    const keys = ['plain', 'calendar', 'three', 'days', 'list'];
    const { statuses } = await decisions.ask(request('d', ...keys.map(key => `${key}=v`)));
    t.strictSame(
      store.calls[0].map(key => key.replace(/^d_/, '')),
      [
        'plain_v_1698796800',
        'calendar_v_1698796800~month.UTC',
        'three_v_1695168000~90d',
        'days_v_1697760000~30d',
        // The month of a list is that of the calendar too. Its tag keeps it apart from `calendar`.
        'list_v_1698796800~month/30d',
        'list_v_1698796800~month.UTC',
      ],
    );
    t.strictSame(each(statuses, 'durationUntilReset'), [1_388_800, 1_388_800, 2_944_000, 352_000, 1_388_800]);
  });
}

/** Except for its window, a limit per month is a plain limit. */
function examinePlainness(t: Test, counting: Counting): void {
  t.test('in shadow mode it holds back the other hits of its request', async t => {
    const entries = [
      { key: 'full', shadow_mode: true, rate_limit: limit(0, { unit: 'month' }) },
      { key: 'k', rate_limit: limit(10) },
    ];
    const { decisions } = await counting({ entries, options: { holdBack: true } });
    const ask = async () => shown((await decisions.ask(request('d', 'full=v', 'k=v'))).statuses);
    t.strictSame(
      [await ask(), await ask()],
      [
        ['OK 0', 'OK 10'],
        ['OK 0', 'OK 10'],
      ],
    );
  });

  t.test('dynamic metadata does not describe it', async t => {
    const { decisions } = await counting({ entries: [MONTHLY], options: { dynamicMetadata: true } });
    const { text } = await decisions.askJson(request('d', 'k=v'));
    t.strictSame(JSON.parse(text).dynamicMetadata, { domain: 'd', descriptors: [{ entries: ['k=v'] }] });
  });
}

function examineShownMonths(t: Test, open: OpenStore): void {
  t.test('an explanation shows the month', async t => {
    const decisions = decisionsOf(await open(), { entries: [MONTHLY] });
    await decisions.ask(request('d', 'k=v'));
    const { descriptors } = await decisions.explain(request('d', 'k=v'));
    t.match(descriptors[0], {
      limit: { unit: 'MONTH', requestsPerUnit: 2, window: 'month UTC' },
      key: 'd_k_v_1698796800',
      window: {
        start: '2023-11-01T00:00:00.000Z',
        end: '2023-12-01T00:00:00.000Z',
        resetSeconds: 1_388_800,
      },
      count: { now: 1, after: 2 },
    });
  });

  t.test('a refused request is told when the month ends, and the policy has its length', async t => {
    const answers = ANSWER.retryAfter | ANSWER.ratelimitHeaders;
    const decisions = decisionsOf(await open(), { entries: [MONTHLY], options: { answers } });
    const { responseHeadersToAdd } = await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 3 });
    t.strictSame(Object.fromEntries(responseHeadersToAdd.map(({ key, value }) => [key, value])), {
      'Retry-After': '1388800',
      'RateLimit-Policy': `"d.k";q=2;w=${30 * 86_400}`,
      RateLimit: '"d.k";r=0;t=1388800',
    });
    decisions.clock.advance(30 * 86_400_000);
    const next = await decisions.ask(request('d', 'k=v'));
    t.equal(next.responseHeadersToAdd[0].value, `"d.k";q=2;w=${31 * 86_400}`, 'December');
  });
}
