import type { Test } from 'tap';
import { Decisions, request } from '../../support/decisions.ts';
import { each } from '../../support/each.ts';
import { OK, type OpenStore, OVER_LIMIT } from './examinee.ts';
import { type LimitText, ruleFile } from './rule-file.ts';
import { WatchedStore } from './watched-store.ts';

const HEADERS = { limit: 'l', remaining: 'r', reset: 's' };

/** Limits whose fixed windows are not those of a unit. It is 2023-11-14 22:13:20 UTC. */
export function examineLimitWindows(t: Test, open: OpenStore): void {
  const counting = async (limit: LimitText): Promise<{ decisions: Decisions; store: WatchedStore }> => {
    const store = new WatchedStore(await open());
    const rules = ruleFile({ key: 'k', rate_limit: limit });
    return { store, decisions: new Decisions({ store, rules, options: { headerNames: HEADERS } }) };
  };
  examineKeys(t, counting);
  examineTurns(t, counting);
}

type Counting = (limit: LimitText) => Promise<{ decisions: Decisions; store: WatchedStore }>;

/** A limit, and what a request shows of its window: unit, seconds to its end, the end of the key. */
type Case = readonly [limit: LimitText, unit: number, resetS: number, keyEnd: string];

const CASES: readonly Case[] = [
  [{ unit: 'minute', unit_multiplier: 5 }, 2, 100, '1699999800~5m'],
  [{ window: '5m' }, 2, 100, '1699999800~5m'],
  [{ window: '90s' }, 1, 10, '1699999920~90s'],
  [{ window: '36h' }, 3, 92_800, '1699963200~36h'],
  [{ window: '2w' }, 7, 697_600, '1699488000~2w'],
  [{ calendar: { period: 'day', zone: 'UTC', starts: 6 } }, 4, 28_000, '1699941600~day@6.UTC'],
  [
    { calendar: { period: 'month', zone: 'Europe/Berlin', starts: 15 } },
    5,
    2_800,
    '1697320800~month@15.Europe/Berlin',
  ],
  [{ unit: 'minute' }, 2, 40, '1699999980'],
  [{ window: '1m', algorithm: 'fixed_window' }, 2, 40, '1699999980'],
  [{ unit: 'minute', unit_multiplier: 1 }, 2, 40, '1699999980'],
];

function examineKeys(t: Test, counting: Counting): void {
  for (const [limit, unit, resetS, keyEnd] of CASES) {
    t.test(`${JSON.stringify(limit)}: key, unit and reset are those of the true window`, async t => {
      const { decisions, store } = await counting({ ...limit, requests_per_unit: 3 });
      const response = await decisions.ask(request('d', 'k=v'));
      t.strictSame(response.statuses, [
        {
          code: OK,
          currentLimit: { name: '', requestsPerUnit: 3, unit },
          limitRemaining: 2,
          durationUntilReset: resetS,
        },
      ]);
      t.strictSame(each(response.responseHeadersToAdd, 'value'), ['3', '2', String(resetS)]);
      t.strictSame(store.calls, [[`d_k_v_${keyEnd}`]]);
      t.strictSame(store.windowEndsS, [[1_700_000_000 + resetS]]);
      const { text } = await decisions.askJson(request('d', 'k=v'));
      t.match(JSON.parse(text), { statuses: [{ durationUntilReset: `${resetS}s`, limitRemaining: 1 }] });
    });
  }
}

function examineTurns(t: Test, counting: Counting): void {
  for (const limit of [
    { window: '90s', requests_per_unit: 2 },
    { calendar: { period: 'month', zone: 'Europe/Berlin', starts: 15 }, requests_per_unit: 2 },
  ]) {
    t.test(`${JSON.stringify(limit)}: a window ends where the next one starts`, async t => {
      const { decisions } = await counting(limit);
      const ask = async () => {
        const { overallCode, statuses } = await decisions.ask(request('d', 'k=v'));
        return [overallCode, statuses[0].limitRemaining];
      };
      t.strictSame(
        [await ask(), await ask(), await ask()],
        [
          [OK, 1],
          [OK, 0],
          [OVER_LIMIT, 0],
        ],
      );
      const { statuses } = await decisions.ask(request('d', 'k=v'));
      decisions.clock.advance(statuses[0].durationUntilReset! * 1_000 - 1);
      t.strictSame(await ask(), [OVER_LIMIT, 0], 'the last moment of the window');
      decisions.clock.advance(1);
      t.strictSame(await ask(), [OK, 1], 'the first moment of the next one');
    });
  }

  t.test('the clock is set back into the window before: its count is still there', async t => {
    const { decisions } = await counting({ window: '90s', requests_per_unit: 2 });
    const left = async () => (await decisions.ask(request('d', 'k=v'))).statuses[0].limitRemaining;
    t.equal(await left(), 1);
    decisions.clock.advance(60_000);
    t.equal(await left(), 1);
    decisions.clock.advance(-60_000);
    t.equal(await left(), 0);
  });
}
