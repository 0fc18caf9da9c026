import type { Test } from 'tap';
import { decodeRateLimitResponse, encodeRateLimitRequest } from '../../../src/messages/client-codec.ts';
import { Decisions, descriptor, request } from '../../support/decisions.ts';
import { deciding, grown, OK, type OpenStore, OVER_LIMIT, shown } from './examinee.ts';
import { limit, ruleFile } from './rule-file.ts';

/** One decision: the limit, its hits, the count before them; what the status says, and what the statistics gain. */
type Row = readonly [
  limit: number,
  hits: number,
  before: number,
  status: readonly [code: number, remaining: number],
  gained: { readonly over?: number; readonly near?: number; readonly within?: number },
];

const ROWS: readonly Row[] = [
  [15, 1, 10, [OK, 4], { within: 1 }],
  [15, 1, 11, [OK, 3], { within: 1 }],
  [15, 1, 12, [OK, 2], { near: 1, within: 1 }],
  [15, 1, 14, [OK, 0], { near: 1, within: 1 }],
  [15, 1, 15, [OVER_LIMIT, 0], { over: 1 }],
  [20, 3, 2, [OK, 15], { within: 3 }],
  [8, 2, 5, [OK, 1], { near: 1, within: 2 }],
  [20, 3, 16, [OK, 1], { near: 3, within: 3 }],
  [20, 3, 19, [OVER_LIMIT, 0], { over: 2, near: 1 }],
  [20, 7, 15, [OVER_LIMIT, 0], { over: 2, near: 4 }],
  [10, 3, 27, [OVER_LIMIT, 0], { over: 3 }],
  [10, 25, 0, [OVER_LIMIT, 0], { over: 15, near: 2 }],
  [10, 10, 0, [OK, 0], { near: 2, within: 10 }],
  [10, 0, 11, [OVER_LIMIT, 0], {}],
  [10, 0, 10, [OK, 0], {}],
  [10, 0, 0, [OK, 10], {}],
  [0, 1, 0, [OVER_LIMIT, 0], { over: 1 }],
  [0, 0, 0, [OK, 0], {}],
  [1, 1, 0, [OK, 0], { near: 1, within: 1 }],
  [4_294_967_295, 4_294_967_295, 0, [OK, 0], { near: 858_993_407, within: 4_294_967_295 }],
  [4_294_967_295, 1, 4_294_967_295, [OVER_LIMIT, 0], { over: 1 }],
];

/** How many hits count, and what one decision adds to the statistics of its rule. */
export function examineHits(t: Test, open: OpenStore): void {
  examineAddends(t, open);
  examineRows(t, open);
  examineRatios(t, open);
  examineOngoing(t, open);
}

function examineRows(t: Test, open: OpenStore): void {
  t.test('status and statistics follow from limit, hits and the count before', async t => {
    const store = await open();
    for (const [i, [requestsPerUnit, hits, before, [code, remaining], gained]] of ROWS.entries()) {
      const rules = ruleFile({ key: 'k', rate_limit: limit(requestsPerUnit) });
      const decisions = new Decisions({ store, rules });
      // A descriptor of its own for each row, with hits of its own: they may be 0.
      const ask = (hitsAddend: number) => decisions.ask(request('d', descriptor(`k=${i}`, { hitsAddend })));
      if (before > 0) await ask(before);
      const name = `limit ${requestsPerUnit}, ${hits} hits after ${before}`;
      const growth = await grown(decisions, async () => {
        const { statuses, overallCode } = await ask(hits);
        t.strictSame([statuses[0].code, statuses[0].limitRemaining], [code, remaining], name);
        t.equal(overallCode, code, name);
      });
      const expected = {
        total_hits: hits,
        over_limit: gained.over,
        near_limit: gained.near,
        within_limit: gained.within,
      };
      const named = Object.entries(expected).filter(([, count]) => (count ?? 0) > 0);
      t.strictSame(
        growth,
        Object.fromEntries(named.map(([stat, count]) => [`rate_limit.d.k.${stat}`, count])),
        name,
      );
    }
  });
}

function examineAddends(t: Test, open: OpenStore): void {
  const asking = async (): Promise<(own: number | null, shared: number) => Promise<number>> => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(100) });
    return async (own, shared) => {
      const { statuses } = await decisions.ask({
        ...request('d', descriptor('k=v', { hitsAddend: own })),
        hitsAddend: shared,
      });
      return statuses[0].limitRemaining;
    };
  };

  t.test('0 hits in the request count as 1, 0 in a descriptor count nothing', async t => {
    const remaining = await asking();
    t.equal(await remaining(null, 0), 99);
    t.equal(await remaining(0, 0), 99, 'the descriptor only asks');
    t.equal(await remaining(0, 7), 99, 'whatever the request says');
    t.equal(await remaining(null, 7), 92);
    t.equal(await remaining(3, 7), 89, 'a descriptor’s own hits come before the request’s');
  });

  t.test('a check at exactly the limit passes, so checking first lets one more through', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(1) });
    const codes: number[] = [];
    for (let work = 0; work < 3; work++) {
      const check = request('d', descriptor('k=v', { hitsAddend: 0 }));
      codes.push((await decisions.ask(check)).overallCode);
      await decisions.ask(request('d', 'k=v'));
    }
    t.strictSame(codes, [OK, OK, OVER_LIMIT]);
  });

  t.test('hits of a request count for each of its descriptors, on one key one by one', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(10) });
    const { statuses } = await decisions.ask({
      ...request('d', 'k=a', 'k=b', 'k=a', 'k=a'),
      hitsAddend: 4,
    });
    t.strictSame(shown(statuses), ['OK 6', 'OK 6', 'OK 2', 'OVER_LIMIT 0']);
    const expected = { total_hits: 16, within_limit: 12, near_limit: 2, over_limit: 2 };
    t.strictSame(decisions.rule('d.k'), expected);
  });

  t.test('hits beyond 32 bits are counted', async t => {
    const remaining = await asking();
    t.equal(await remaining(50_000_000_000, 0), 0);
    t.equal(await remaining(0, 0), 0);
  });
}

function examineRatios(t: Test, open: OpenStore): void {
  t.test('the near limit is worked out in single precision', async t => {
    const store = await open();
    for (const [nearLimitRatio, requestsPerUnit, near] of [
      [0.7, 90, 63],
      [0.57, 100, 57],
      [0.29, 100, 29],
      [0.8, 5_242_881, 4_194_305],
      [0.8, 4_294_967_295, 3_435_973_888],
      [0, 10, 0],
      [1, 10, 10],
    ]) {
      const rules = ruleFile({ key: 'k', rate_limit: limit(requestsPerUnit) });
      const decisions = new Decisions({ store, rules, options: { nearLimitRatio } });
      const ask = (hits: number) =>
        decisions.ask({ ...request('d', `k=${nearLimitRatio}_${requestsPerUnit}`), hitsAddend: hits });
      if (near > 0) await ask(near);
      const name = `${nearLimitRatio} of ${requestsPerUnit}`;
      t.notOk('near_limit' in decisions.rule('d.k'), `${name}: ${near} is not near`);
      await ask(1);
      const isNear = near < requestsPerUnit;
      t.equal(
        decisions.rule('d.k')['near_limit'] ?? 0,
        isNear ? 1 : 0,
        `${name}: ${near + 1} is near or over`,
      );
    }
  });

  t.test('a ratio of 1 never takes near hits away, however the limit rounds', async t => {
    // In single precision this limit is 4294967296, one more than itself.
    const rules = ruleFile({ key: 'k', rate_limit: limit(4_294_967_295) });
    const decisions = new Decisions({ store: await open(), rules, options: { nearLimitRatio: 1 } });
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 4_294_967_294 });
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 2 });
    const expected = { total_hits: 4_294_967_296, within_limit: 4_294_967_294, over_limit: 1 };
    t.strictSame(decisions.rule('d.k'), expected);
  });
}

function examineOngoing(t: Test, open: OpenStore): void {
  t.test('a descriptor over its limit is counted on, and so are those beside it', async t => {
    const decisions = await deciding(
      open,
      { key: 'few', rate_limit: limit(1) },
      { key: 'many', rate_limit: limit(10) },
    );
    for (let i = 0; i < 4; i++) await decisions.ask(request('d', 'few=x', 'many=x'));
    const { statuses } = await decisions.ask(request('d', descriptor('many=x', { hitsAddend: 0 })));
    t.equal(statuses[0].limitRemaining, 6);
    const looser = ruleFile({ key: 'few', rate_limit: limit(10) });
    decisions.load(looser);
    const few = await decisions.ask(request('d', 'few=x'));
    t.equal(few.statuses[0].limitRemaining, 5, 'the four hits, and this one');
  });

  t.test('statistics go on over a rule reload, also of rules that are gone', async t => {
    const rules = ruleFile({ key: 'a', rate_limit: limit(10) }, { key: 'b', rate_limit: limit(10) });
    const decisions = new Decisions({ store: await open(), rules });
    await decisions.ask(request('d', 'a=1', 'b=1'));
    decisions.load(ruleFile({ key: 'x' }, { key: 'a', rate_limit: limit(10) }));
    await decisions.ask(request('d', 'a=1', 'b=1'));
    decisions.load(rules);
    await decisions.ask(request('d', 'b=1'));
    t.strictSame(decisions.rule('d.a'), { total_hits: 2, within_limit: 2 });
    t.strictSame(decisions.rule('d.b'), { total_hits: 2, within_limit: 2 });
  });

  t.test('requests of one batch are counted as if one came after the other', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(10) });
    const hits = [3, 1, 4, 1, 5, 2];
    const responses = await Promise.all(
      hits.map(hitsAddend => decisions.ask({ ...request('d', 'k=v'), hitsAddend })),
    );
    t.strictSame(
      responses.flatMap(({ statuses }) => shown(statuses)),
      ['OK 7', 'OK 6', 'OK 2', 'OK 1', 'OVER_LIMIT 0', 'OVER_LIMIT 0'],
    );
    t.strictSame(decisions.rule('d.k'), { total_hits: 16, within_limit: 9, near_limit: 2, over_limit: 6 });
  });

  t.test('more requests than a batch holds are all counted, in their order', async t => {
    const decisions = await deciding(
      open,
      { key: 'first', rate_limit: limit(1) },
      { key: 'k', rate_limit: limit(1_500), shadow_mode: true },
    );
    const asked = Array.from({ length: 2_000 }, () => decisions.ask(request('d', 'k=v')));
    const left = (await Promise.all(asked)).map(({ statuses }) => statuses[0].limitRemaining);
    t.strictSame(left, [...Array(1_500).keys()].reverse().concat(Array(500).fill(0)));
    t.strictSame(decisions.rule('d.k'), {
      total_hits: 2_000,
      within_limit: 1_500,
      near_limit: 300,
      over_limit: 500,
      shadow_mode: 500,
    });
    t.equal(decisions.batcher.pending, 0);
  });

  t.test('what is being decided during a rule reload keeps its rules and its statistics', async t => {
    const named = (name: string) => ruleFile({ key: 'k', rate_limit: limit(10, { name }) });
    const decisions = new Decisions({ store: await open(), rules: named('old') });
    const names: (string | undefined)[] = [];
    const totals: (number | undefined)[] = [];
    const bytes = encodeRateLimitRequest(request('d', 'k=v'));
    const decide = (): Promise<void> =>
      new Promise((resolve, reject) => {
        decisions.batcher.decide(bytes, 'protobuf', {
          gone: false,
          answered: response => {
            names.push(decodeRateLimitResponse(response).statuses[0].currentLimit?.name);
            // Statistics are read while others may not be counted yet.
            totals.push(decisions.rule('d.k')['within_limit']);
            resolve();
          },
          refused: reject,
        });
      });
    const first = [decide(), decide(), decide()];
    // The batch leaves at the end of this turn; the reload comes before a store elsewhere has answered.
    await new Promise(resolve => setImmediate(resolve));
    decisions.load(named('new'));
    await Promise.all([...first, decide()]);
    // Batches may overtake each other.
    t.strictSame(names.toSorted(), ['new', 'old', 'old', 'old']);
    t.ok(
      totals.every((total, i) => total !== undefined && total > i && total <= 4),
      `whoever has an answer finds its hits counted: ${totals}`,
    );
    t.equal(decisions.rule('d.k')['within_limit'], 4);
  });
}
