import type { Test } from 'tap';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { record, sharedRecords } from '../../support/steering.ts';
import { deciding, grown, OK, type OpenStore, shown } from './examinee.ts';
import { type LimitText, limit, ruleFile } from './rule-file.ts';
import { WatchedStore } from './watched-store.ts';

const TENTH = { admit: '10%' };

/** Limits after which a share of the hits passes. */
export function examineAfterLimit(t: Test, open: OpenStore): void {
  examineShares(t, open);
  examineOthers(t, open);
  examineKeys(t, open);
  equalsTheModel(t, open);
}

/** Asks with the descriptor `k=v`: `OK 6`. */
async function ask(decisions: Decisions, hitsAddend = 1, text = 'k=v'): Promise<string> {
  const { statuses } = await decisions.ask(request('d', descriptor(text, { hitsAddend })));
  return shown(statuses)[0];
}

/** The numbers of the requests that pass, from 1. */
async function passing(decisions: Decisions, requests: number, hits = 1): Promise<number[]> {
  const answers = await Promise.all(Array.from({ length: requests }, () => ask(decisions, hits)));
  return answers.flatMap((answer, i) => (answer.startsWith('OK') ? [i + 1] : []));
}

function examineShares(t: Test, open: OpenStore): void {
  const after = async (requestsPerUnit: number, admit: string, more: Partial<LimitText> = {}) =>
    deciding(open, { key: 'k', rate_limit: limit(requestsPerUnit, { after_limit: { admit }, ...more }) });

  t.test('after the limit, exactly the share of the hits passes, evenly spread', async t => {
    t.strictSame(await passing(await after(3, '10%'), 33), [1, 2, 3, 13, 23, 33]);
    t.strictSame(await passing(await after(2, '40%'), 12), [1, 2, 5, 7, 10, 12]);
    t.strictSame(await passing(await after(0, '25%'), 12), [4, 8, 12], 'also of a limit of 0');
    t.equal((await passing(await after(100, '0.5%'), 1_100)).length, 105);
  });

  t.test('the share is exact in windows of any length and in calendars', async t => {
    for (const more of [
      { unit: 'second' },
      { unit: 'day', unit_multiplier: 3 },
      { unit: undefined, calendar: { period: 'month', zone: 'UTC' } },
    ]) {
      const { unit, ...rest } = { ...limit(3, { after_limit: TENTH }), ...more };
      const rate_limit = unit === undefined ? rest : { ...rest, unit };
      const decisions = await deciding(open, { key: 'k', rate_limit });
      t.strictSame(await passing(decisions, 23), [1, 2, 3, 13, 23]);
    }
  });

  t.test('a window starts again with its limit', async t => {
    const decisions = await after(3, '10%', { unit: 'minute' });
    await passing(decisions, 9);
    decisions.clock.advance(60_000);
    t.strictSame(await passing(decisions, 14), [1, 2, 3, 13]);
  });

  t.test('of equal requests with several hits, the share passes', async t => {
    t.strictSame(await passing(await after(10, '10%'), 22, 5), [1, 2, 12, 22]);
    t.strictSame(await passing(await after(10, '50%'), 8, 10), [1, 3, 5, 7]);
  });

  t.test(
    'a request that crosses the limit does not pass, and one without hits passes only below it',
    async t => {
      const decisions = await after(3, '50%');
      t.equal(await ask(decisions, 0), 'OK 3');
      t.equal(await ask(decisions, 4), 'OVER_LIMIT 0');
      t.equal(await ask(decisions, 0), 'OVER_LIMIT 0');
      t.equal(await ask(decisions), 'OK 0');
    },
  );

  t.test('a hit that passes is counted, and is neither within nor over the limit', async t => {
    const decisions = await after(3, '50%');
    const growth = await grown(decisions, () => passing(decisions, 7));
    t.strictSame(growth, {
      'rate_limit.d.k.total_hits': 7,
      'rate_limit.d.k.within_limit': 3,
      'rate_limit.d.k.near_limit': 1,
      'rate_limit.d.k.over_limit': 2,
      'rate_limit.d.k.after_limit.total_hits': 2,
    });
  });
}

function examineOthers(t: Test, open: OpenStore): void {
  const rate_limit = limit(2, { after_limit: { admit: '50%' } });

  t.test('the local cache does not answer for such a limit', async t => {
    const store = new WatchedStore(await open());
    const decisions = new Decisions({ store, rules: ruleFile({ key: 'k', rate_limit }), localCacheBytes: 1 });
    t.strictSame(await passing(decisions, 8), [1, 2, 4, 6, 8]);
    const plain = ruleFile({ key: 'k', rate_limit: limit(2) });
    const reloaded = new Decisions({ store: await open(), rules: plain, localCacheBytes: 1 });
    t.strictSame(await passing(reloaded, 4), [1, 2]);
    reloaded.load(ruleFile({ key: 'k', rate_limit }));
    t.strictSame(await passing(reloaded, 4), [2, 4], 'also if it knows the key from other rules');
  });

  t.test('the share of an override of the operator begins at its limit', async t => {
    const steering = sharedRecords(record('override', 'k=v', { requests_per_unit: 4 })).buffer;
    const decisions = new Decisions({
      store: await open(),
      rules: ruleFile({ key: 'k', rate_limit }),
      steering,
    });
    t.strictSame(await passing(decisions, 8), [1, 2, 3, 4, 6, 8]);
  });

  t.test('one of several limits admits a share, and the others bind nevertheless', async t => {
    const rate_limits = [limit(2, { after_limit: { admit: '50%' } }), { window: '2h', requests_per_unit: 5 }];
    const decisions = await deciding(open, { key: 'k', rate_limits });
    t.strictSame(await passing(decisions, 10), [1, 2, 4]);
  });

  t.test('such a limit holds no other hits back, and its own are held back', async t => {
    const rules = ruleFile({ key: 'k', rate_limit }, { key: 'other', rate_limit: limit(3) });
    const decisions = new Decisions({ store: await open(), rules, options: { holdBack: true } });
    const both = async () => shown((await decisions.ask(request('d', 'k=v', 'other=1'))).statuses);
    await ask(decisions, 2);
    t.strictSame(await both(), ['OVER_LIMIT 0', 'OK 2']);
    t.strictSame(await both(), ['OK 0', 'OK 1']);
    t.strictSame(await both(), ['OVER_LIMIT 0', 'OK 0']);
    t.strictSame(await both(), ['OVER_LIMIT 0', 'OVER_LIMIT 0'], 'not counted');
    t.equal(await ask(decisions), 'OK 0');
  });

  t.test('in shadow mode, hits that would pass are no hits that would be refused', async t => {
    const decisions = await deciding(open, { key: 'k', shadow_mode: true, rate_limit });
    const growth = await grown(decisions, () => passing(decisions, 6));
    t.match(growth, { 'rate_limit.d.k.shadow_mode': 2, 'rate_limit.d.k.after_limit.total_hits': 2 });
  });

  t.test(
    'an explanation tells the share, how far beyond the limit the request is, and whether it passes',
    async t => {
      const decisions = await deciding(open, { key: 'k', rate_limit });
      const look = async (...others: string[]) =>
        (await decisions.explain(request('d', 'k=v', ...others))).descriptors[0];
      await passing(decisions, 1);
      const below = await look();
      t.match(below, { limit: { afterLimit: '50%' }, status: { code: 'OK' }, count: { now: 1, after: 2 } });
      t.equal(below.beyondLimit, undefined, 'the request is not beyond the limit');
      await passing(decisions, 1);
      const refused = { status: { code: 'OVER_LIMIT' }, beyondLimit: { hits: 1, passes: false } };
      t.match(await look(), { ...refused, count: { now: 2, after: 3 } });
      await passing(decisions, 1);
      const passed = { status: { code: 'OK' }, beyondLimit: { hits: 2, passes: true } };
      t.match(await look(), { ...passed, count: { now: 3, after: 4 } });
      const { descriptors } = await decisions.explain(refund('d', 0, 'k=v'));
      t.equal(descriptors[0].beyondLimit, undefined, 'a refund is always OK');
    },
  );
}

function examineKeys(t: Test, open: OpenStore): void {
  t.test('keys are those of the same limit without a share, so adding one resets no counter', async t => {
    const plain = [limit(2), { window: '5m', requests_per_unit: 2 }];
    for (const rate_limit of plain) {
      const decisions = new Decisions({ store: await open(), rules: ruleFile({ key: 'k', rate_limit }) });
      await ask(decisions, 2);
      decisions.load(ruleFile({ key: 'k', rate_limit: { ...rate_limit, after_limit: { admit: '50%' } } }));
      t.strictSame(await passing(decisions, 4), [2, 4]);
    }
    const months = new Decisions({ store: await open(), rules: null });
    const settings = { mergeDomains: false, calendarMonths: true };
    months.load(ruleFile({ key: 'k', rate_limit: limit(2, { unit: 'month' }) }), settings);
    await ask(months, 2);
    const after_limit = { admit: '50%' };
    months.load(ruleFile({ key: 'k', rate_limit: limit(2, { unit: 'month', after_limit }) }), settings);
    t.strictSame(await passing(months, 4), [2, 4], 'also with months of the calendar');
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(2, { after_limit: TENTH }) });
    const [{ key }] = (await decisions.explain(request('d', 'k=v'))).descriptors;
    t.match(key, /^d_k_v_[0-9]+$/);
  });
}

function equalsTheModel(t: Test, open: OpenStore): void {
  t.test('requests with random hits pass as the count says', async t => {
    const random = new SeededRandom(61);
    for (const [requestsPerUnit, percent] of [
      [20, 10],
      [7, 33],
      [0, 75],
    ] as const) {
      const after_limit = { admit: `${percent}%` };
      const decisions = await deciding(open, {
        key: 'k',
        rate_limit: limit(requestsPerUnit, { after_limit }),
      });
      let count = 0;
      for (let round = 0; round < 60; round++) {
        const asked = Array.from(
          { length: 1 + random.below(10) },
          () => random.below(3) * random.below(4) + 1,
        );
        const expected = asked.map(hits => {
          count += hits;
          const beyond = BigInt(count - requestsPerUnit);
          if (beyond <= 0n) return OK;
          const [each, share] = [BigInt(hits), BigInt(percent)];
          const passed = (n: bigint) => (n * share) / (100n * each);
          return beyond >= each && passed(beyond) > passed(beyond - each) ? OK : 2;
        });
        const found = await Promise.all(asked.map(hits => ask(decisions, hits)));
        t.strictSame(
          found.map(answer => (answer.startsWith('OK') ? OK : 2)),
          expected,
          `round ${round}`,
        );
      }
    }
  });
}
