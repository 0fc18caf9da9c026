import type { Test } from 'tap';
import type { DescriptorStatus } from '../../../src/messages/client-codec.ts';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { each } from '../../support/each.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { grown, OK, type OpenStore, OVER_LIMIT } from './examinee.ts';
import { bucket, type EntryText, type LimitText, ruleFile, sliding } from './rule-file.ts';

const MINUTE_MS = 60_000;
const HEADERS = { limit: 'l', remaining: 'r', reset: 's' };

/** Limits whose hits the store admits: token buckets and sliding windows. It is 200 s into a window of 5 minutes. */
export function examineAdmissions(t: Test, open: OpenStore): void {
  const limiting = async (limit: LimitText, entry: Partial<EntryText> = {}): Promise<Decisions> => {
    const rules = ruleFile({ key: 'k', rate_limit: limit, ...entry });
    return new Decisions({ store: await open(), rules, options: { headerNames: HEADERS } });
  };
  examineBuckets(t, limiting);
  examineSliding(t, limiting);
  examineHits(t, limiting);
  examineWaits(t, open);
  examineModes(t, limiting);
  examineBatches(t, limiting);
  examineZero(t, limiting);
}

type Limiting = (limit: LimitText, entry?: Partial<EntryText>) => Promise<Decisions>;
type Shown = readonly [code: number, remaining: number, resetS: number | null];

/** The status of a request with these hits. */
async function ask(decisions: Decisions, hitsAddend = 1, text = 'k=v'): Promise<Shown> {
  const descriptors = [descriptor(text, { hitsAddend })];
  return shown((await decisions.ask({ domain: 'd', descriptors, hitsAddend: 0 })).statuses[0]);
}

async function giveBack(decisions: Decisions, hits: number): Promise<Shown> {
  return shown((await decisions.ask(refund('d', hits, 'k=v'))).statuses[0]);
}

function shown({ code, limitRemaining, durationUntilReset }: DescriptorStatus): Shown {
  return [code, limitRemaining, durationUntilReset];
}

function examineBuckets(t: Test, limiting: Limiting): void {
  t.test('a bucket admits its burst at once, then one request for each token that flows in', async t => {
    const decisions = await limiting(bucket(100, 3));
    t.strictSame(await ask(decisions, 0), [OK, 3, 0], 'a full bucket has nothing to wait for');
    t.strictSame(await ask(decisions), [OK, 2, 0.6]);
    t.strictSame(await ask(decisions), [OK, 1, 0.6]);
    t.strictSame(await ask(decisions), [OK, 0, 0.6]);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 0.6]);
    decisions.clock.advance(599);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 0.001], 'refused requests have taken nothing');
    decisions.clock.advance(1);
    t.strictSame(await ask(decisions), [OK, 0, 0.6]);
    decisions.clock.advance(3 * 600);
    t.strictSame(await ask(decisions, 0), [OK, 3, 0], 'and it never holds more than its burst');
  });

  t.test('a request with more hits than the burst never fits: its reset is no next token', async t => {
    const decisions = await limiting(bucket(100, 3));
    t.strictSame(await ask(decisions, 4), [OVER_LIMIT, 3, 60], 'the bucket is full');
    t.strictSame(await ask(decisions), [OK, 2, 0.6]);
    t.strictSame(await ask(decisions, 3), [OVER_LIMIT, 2, 0.6], 'three fit when the next token is there');
    t.strictSame(await ask(decisions, 4), [OVER_LIMIT, 2, 60]);
    t.strictSame(await giveBack(decisions, 4), [OK, 3, 0], 'a refund is no such request');
  });

  t.test('a rate that does not divide into milliseconds loses nothing', async t => {
    const decisions = await limiting(bucket(7, 1));
    const admitted: number[] = [];
    for (let ms = 0; ms < MINUTE_MS; ms += 50) {
      if ((await ask(decisions))[0] === OK) admitted.push(ms);
      decisions.clock.advance(50);
    }
    // A token takes 8 571.4 ms: one at the start, then one at the first request after its token is whole.
    t.same(admitted, [0, 8_600, 17_200, 25_800, 34_400, 43_000, 51_600]);
  });

  t.test('the reset is exact in protobuf and JSON, and whole seconds rounded up in headers', async t => {
    const decisions = await limiting(bucket(100, 3));
    const response = await decisions.ask(request('d', 'k=v'));
    t.strictSame(each(response.responseHeadersToAdd, 'value'), ['100', '2', '1']);
    decisions.clock.advance(350);
    const { text } = await decisions.askJson(request('d', 'k=v'));
    t.match(JSON.parse(text), { statuses: [{ durationUntilReset: '0.250s', limitRemaining: 1 }] });
    const { statuses } = await decisions.ask(request('d', 'k=other'));
    t.equal(statuses[0].durationUntilReset, 0.6);
  });

  t.test('the limit that a status shows is the one that is written, with the unit of its window', async t => {
    const decisions = await limiting(bucket(100, 3, { window: '36h', name: 'slow' }));
    const { statuses } = await decisions.ask(request('d', 'k=v'));
    t.strictSame(statuses[0].currentLimit, { name: 'slow', requestsPerUnit: 100, unit: 3 });
  });
}

function examineSliding(t: Test, limiting: Limiting): void {
  t.test('at the border of two windows, a sliding one does not admit its limit twice', async t => {
    const decisions = await limiting(sliding(10));
    decisions.clock.advance(99_000);
    t.strictSame(await ask(decisions, 10), [OK, 0, 31]);
    t.equal((await ask(decisions))[0], OVER_LIMIT);
    decisions.clock.advance(1_000);
    t.equal((await ask(decisions))[0], OVER_LIMIT, 'the next window has begun');
    decisions.clock.advance(30_000);
    t.strictSame(await ask(decisions), [OK, 0, 30], 'a tenth of the window before has slid out');
    t.equal((await ask(decisions))[0], OVER_LIMIT);
  });

  t.test('if no hit is left, the reset is when one fits, if there are no others', async t => {
    const decisions = await limiting(sliding(10));
    t.strictSame(await ask(decisions, 9), [OK, 1, 100], 'to the end of the window');
    t.strictSame(await ask(decisions, 2), [OVER_LIMIT, 1, 133.334], 'one hit fits now, two do later');
    t.strictSame(
      await ask(decisions),
      [OK, 0, 130],
      'until a tenth of this window has slid out of the next one',
    );
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 130]);
    decisions.clock.advance(129_999);
    t.strictSame(await ask(decisions), [OVER_LIMIT, 0, 0.001]);
    decisions.clock.advance(1);
    t.equal((await ask(decisions))[0], OK);
    decisions.clock.advance(600_000);
    t.strictSame(await ask(decisions, 0), [OK, 10, 270], 'two windows later nothing is left');
  });

  t.test('only the hits of the current window can be given back', async t => {
    const decisions = await limiting(sliding(10));
    await ask(decisions, 8);
    decisions.clock.advance(100_000 + 150_000);
    t.strictSame(await ask(decisions, 3), [OK, 3, 150], 'half of eight, and three');
    t.strictSame((await giveBack(decisions, 9)).slice(0, 2), [OK, 6]);
  });
}

function examineHits(t: Test, limiting: Limiting): void {
  for (const [name, limit] of [
    ['bucket', bucket(60, 10)],
    ['sliding window', sliding(10)],
  ] as const) {
    t.test(`${name}: hits are admitted together or not at all`, async t => {
      const decisions = await limiting(limit);
      const left = async (hits: number) => (await ask(decisions, hits)).slice(0, 2);
      t.strictSame(await left(7), [OK, 3]);
      t.strictSame(await left(4), [OVER_LIMIT, 3], 'three are left for others');
      t.strictSame(await left(3), [OK, 0]);
      t.strictSame(await left(0), [OVER_LIMIT, 0], 'asking is over the limit when no hit fits');
      t.strictSame(decisions.rule('d.k'), { total_hits: 14, within_limit: 10, near_limit: 2, over_limit: 4 });
    });

    t.test(`${name}: hits that are given back can be used again, up to the limit`, async t => {
      const decisions = await limiting(limit);
      await ask(decisions, 10);
      t.strictSame((await giveBack(decisions, 4)).slice(0, 2), [OK, 4]);
      t.strictSame((await ask(decisions, 4)).slice(0, 2), [OK, 0]);
      t.strictSame((await giveBack(decisions, 1_000)).slice(0, 2), [OK, 10]);
      t.equal(decisions.rule('d.k')['total_negative_hits'], 1_004);
    });

    t.test(`${name}: a limit of the request takes its place`, async t => {
      const decisions = await limiting(limit);
      const own = descriptor('k=v', { limit: { requestsPerUnit: 2, unit: 3 } });
      const { statuses } = await decisions.ask(request('d', own));
      t.strictSame(shown(statuses[0]), [OK, 1, 2_800]);
      t.strictSame((await ask(decisions, 0)).slice(0, 2), [OK, 10], 'whose count is another one');
    });
  }
}

/** A request is told when it fits itself: then it is admitted, and a millisecond before it is not. */
function examineWaits(t: Test, open: OpenStore): void {
  for (const [name, entry] of [
    ['bucket', { rate_limit: bucket(7, 10) }],
    ['sliding window', { rate_limit: sliding(10) }],
    ['several limits', { rate_limits: [sliding(12), bucket(40, 10)] }],
    ['bucket and penalty', { rate_limit: bucket(7, 10, { penalty: { after: 1, for: '5s' } }) }],
  ] as const) {
    t.test(`${name}: a rejected request fits when it has waited as long as it is told`, async t => {
      const decisions = new Decisions({
        store: await open(),
        rules: ruleFile({ key: 'k', ...entry }),
        localCacheBytes: 1,
        // Otherwise, a request that one of several limits refuses takes hits of the others.
        options: { holdBack: true },
      });
      const random = new SeededRandom(7);
      let waits = 0;
      for (let i = 0; i < 60; i++) {
        const hits = 1 + random.below(10);
        const [code, , resetS] = await ask(decisions, hits);
        if (code === OVER_LIMIT) {
          waits++;
          const waitMs = Math.round(resetS! * 1_000);
          // With a penalty, each rejection may be a violation that prolongs the wait.
          if (name.endsWith('penalty')) decisions.clock.advance(waitMs);
          else {
            decisions.clock.advance(waitMs - 1);
            const [early, , leftS] = await ask(decisions, hits);
            t.strictSame([early, leftS], [OVER_LIMIT, 0.001]);
            decisions.clock.advance(1);
          }
          t.equal((await ask(decisions, hits))[0], OK, `${hits} hits after ${waitMs} ms`);
        }
        decisions.clock.advance(random.below(40_000));
      }
      t.ok(waits > 10, `${waits} waits`);
    });
  }
}

function examineModes(t: Test, limiting: Limiting): void {
  t.test('shadow mode lets pass what the store did not admit, and counts it as such', async t => {
    const decisions = await limiting(bucket(60, 2), { shadow_mode: true });
    const growth = await grown(decisions, async () => {
      t.strictSame(await ask(decisions, 2), [OK, 0, 1]);
      t.strictSame(await ask(decisions, 3), [OK, 0, 1]);
    });
    t.strictSame(growth, {
      'rate_limit.d.k.total_hits': 5,
      'rate_limit.d.k.within_limit': 2,
      'rate_limit.d.k.near_limit': 1,
      'rate_limit.d.k.over_limit': 3,
      'rate_limit.d.k.shadow_mode': 3,
    });
  });

  t.test('values that share a threshold share a bucket', async t => {
    const decisions = await limiting(bucket(60, 2), { value: 'v*', share_threshold: true });
    const codes = [];
    for (const text of ['k=v1', 'k=v2', 'k=v3'])
      codes.push((await decisions.ask(request('d', text))).overallCode);
    t.strictSame(codes, [OK, OK, OVER_LIMIT]);
  });
}

function examineBatches(t: Test, limiting: Limiting): void {
  for (const [name, limit] of [
    ['bucket', bucket(60, 10)],
    ['sliding window', sliding(10)],
  ] as const) {
    t.test(`${name}: equal requests of one batch are answered as one after the other`, async t => {
      const together = await limiting(limit);
      const apart = await limiting(limit);
      const hits = [1, 1, 1, 3, 3, 0, 5, 1, 0, 2, 1];
      const found = await Promise.all(hits.map(each => ask(together, each)));
      const expected: Shown[] = [];
      for (const each of hits) expected.push(await ask(apart, each, 'k=apart'));
      t.strictSame(found, expected);
      t.strictSame(together.rule('d.k'), apart.rule('d.k'));
      t.equal(found.filter(([code]) => code === OVER_LIMIT).length, 4);
    });
  }
}

function examineZero(t: Test, limiting: Limiting): void {
  for (const [name, limit] of [
    ['bucket', { window: '1m', requests_per_unit: 0, algorithm: 'token_bucket' }],
    ['sliding window', sliding(0)],
  ] as const) {
    t.test(`${name}: a limit of 0 admits nothing, at any time`, async t => {
      const decisions = await limiting(limit);
      for (let day = 0; day < 3; day++) {
        t.strictSame((await ask(decisions)).slice(0, 2), [OVER_LIMIT, 0]);
        t.strictSame((await ask(decisions, 0)).slice(0, 2), [OVER_LIMIT, 0]);
        decisions.clock.advance(24 * 60 * MINUTE_MS);
      }
    });
  }
}
