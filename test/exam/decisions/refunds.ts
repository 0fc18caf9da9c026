import type { Test } from 'tap';
import type { RateLimitResponse } from '../../../src/messages/client-codec.ts';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { OK, type OpenStore, OVER_LIMIT } from './examinee.ts';
import { limit, ruleFile } from './rule-file.ts';

const RULES = ruleFile(
  { key: 'k', rate_limit: limit(10) },
  { key: 'shadow', shadow_mode: true, rate_limit: limit(1) },
  { key: 'quota', quota_mode: true, rate_limit: limit(1) },
  { key: 'free', rate_limit: { unlimited: true } },
);

/** Hits that are given back (`is_negative_hits`). */
export function examineRefunds(t: Test, open: OpenStore): void {
  examineCounts(t, open);
  examineAnswers(t, open);
  examineStatistics(t, open);
  examineCaches(t, open);
}

const remaining = ({ statuses }: RateLimitResponse): number[] => statuses.map(each => each.limitRemaining);
const codes = ({ overallCode, statuses }: RateLimitResponse): number[] => [
  overallCode,
  ...statuses.map(each => each.code),
];

function examineCounts(t: Test, open: OpenStore): void {
  t.test('six hits of ten and a refund of four leave eight', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    t.same(remaining(await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 6 })), [4]);
    t.same(remaining(await decisions.ask(refund('d', 4, 'k=v'))), [8]);
    t.same(remaining(await decisions.ask(request('d', 'k=v'))), [7]);
  });

  t.test('five hits and two refunds of three leave the count at 0, and both refunds are OK', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 5 });
    for (const left of [8, 10]) {
      const response = await decisions.ask(refund('d', 3, 'k=v'));
      t.same([codes(response), remaining(response)], [[OK, OK], [left]]);
    }
    t.same(remaining(await decisions.ask(request('d', 'k=v'))), [9]);
  });

  t.test('the hits of a refund are those of the descriptor, else of the request, else one', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    const giveBack = async (own: number | null, shared: number): Promise<number[]> => {
      const given = descriptor('k=v', { hitsAddend: own, isNegativeHits: true });
      return remaining(await decisions.ask({ ...request('d', given), hitsAddend: shared }));
    };
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 9 });
    t.same(await giveBack(null, 0), [2]);
    t.same(await giveBack(null, 3), [5]);
    t.same(await giveBack(1, 3), [6]);
    t.same(await giveBack(0, 3), [6]);
  });

  t.test('requests of one batch count and give back in their order', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    const responses = await Promise.all([
      decisions.ask(refund('d', 4, 'k=v')),
      decisions.ask({ ...request('d', 'k=v'), hitsAddend: 11 }),
      decisions.ask(refund('d', 3, 'k=v')),
      decisions.ask(request('d', 'k=v', 'k=v', 'k=v')),
    ]);
    t.same(responses.map(remaining), [[10], [0], [2], [1, 0, 0]]);
    t.same(responses.map(codes), [
      [OK, OK],
      [OVER_LIMIT, OVER_LIMIT],
      [OK, OK],
      [OVER_LIMIT, OK, OK, OVER_LIMIT],
    ]);
  });

  t.test('a refund is not held back, and what it gives back is there for the hits beside it', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES, options: { holdBack: true } });
    await decisions.ask({ ...request('d', 'k=a', 'k=b'), hitsAddend: 10 });
    const given = descriptor('k=b', { hitsAddend: 2, isNegativeHits: true });
    const over = { ...request('d', 'k=a', 'k=c'), hitsAddend: 0 };
    const response = await decisions.ask({ ...over, descriptors: [...over.descriptors, given] });
    t.same(
      [codes(response), remaining(response)],
      [
        [OVER_LIMIT, OVER_LIMIT, OK, OK],
        [0, 10, 2],
      ],
    );
    const same = { ...request('d', 'k=b', 'k=c'), hitsAddend: 3 };
    const both = await decisions.ask({ ...same, descriptors: [...same.descriptors, given] });
    t.same(
      [codes(both), remaining(both)],
      [
        [OK, OK, OK, OK],
        [1, 7, 4],
      ],
    );
  });
}

function examineAnswers(t: Test, open: OpenStore): void {
  t.test('a refund is OK with what remains, also while its key is over the limit', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 15 });
    const { text, overLimit } = await decisions.askJson(refund('d', 2, 'k=v'));
    t.notOk(overLimit);
    const currentLimit = { requestsPerUnit: 10, unit: 'HOUR' };
    t.same(JSON.parse(text), {
      overallCode: 'OK',
      statuses: [{ code: 'OK', currentLimit, durationUntilReset: '2800s' }],
    });
  });

  t.test('a refund is OK in shadow and quota mode too, and its quota counts as left', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    await decisions.ask({ ...request('d', 'shadow=v', 'quota=v'), hitsAddend: 5 });
    t.same(codes(await decisions.ask(refund('d', 1, 'shadow=v', 'quota=v'))), [OK, OK, OK]);
    const given = descriptor('quota=v', { hitsAddend: 1, isNegativeHits: true });
    const mixed = await decisions.ask(request('d', given, descriptor('quota=v')));
    t.same(codes(mixed), [OK, OK, OVER_LIMIT]);
  });

  t.test('a refund without a limit of its own, or of an unlimited rule, is OK', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    const response = await decisions.ask(refund('d', 3, 'none=v', 'free=v'));
    t.same(
      [codes(response), remaining(response)],
      [
        [OK, OK, OK],
        [0, 4_294_967_295],
      ],
    );
    t.same(decisions.rule('d.free'), { total_negative_hits: 3 });
  });

  t.test('a descriptor that brings its own limit gives back on the same count', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    const own = { limit: { requestsPerUnit: 20, unit: 3 } };
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 6 });
    const given = descriptor('k=v', { ...own, hitsAddend: 4, isNegativeHits: true });
    t.same(remaining(await decisions.ask(request('d', given))), [18]);
  });
}

function examineStatistics(t: Test, open: OpenStore): void {
  t.test('refunds count what they ask for as `total_negative_hits`, and nothing else', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES });
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 15 });
    const before = decisions.rule('d.k');
    await decisions.ask(refund('d', 2, 'k=v'));
    await decisions.ask(refund('d', 40, 'k=v'));
    t.same(decisions.rule('d.k'), { ...before, total_negative_hits: 42 });
  });
}

function examineCaches(t: Test, open: OpenStore): void {
  t.test('the local cache forgets a key that was refunded', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES, localCacheBytes: 1 });
    await decisions.ask({ ...request('d', 'k=v', 'k=w'), hitsAddend: 11 });
    t.same(codes(await decisions.ask(request('d', 'k=v'))), [OVER_LIMIT, OVER_LIMIT]);
    t.equal(decisions.rule('d.k')['over_limit_with_local_cache'], 1, 'the cache knew');
    t.same(
      remaining(await decisions.ask(refund('d', 4, 'k=v'))),
      [3],
      'hits that the cache answered are not counted',
    );
    t.same(remaining(await decisions.ask(request('d', 'k=v'))), [2]);
    t.same(codes(await decisions.ask(request('d', 'k=w'))), [OVER_LIMIT, OVER_LIMIT], 'and keeps the others');
    t.equal(decisions.rule('d.k')['over_limit_with_local_cache'], 2);
  });

  t.test('a refund is there for the hits behind it, whatever the local cache knew', async t => {
    const decisions = new Decisions({ store: await open(), rules: RULES, localCacheBytes: 1 });
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 11 });
    const responses = await Promise.all([
      decisions.ask(request('d', 'k=v')),
      decisions.ask(refund('d', 4, 'k=v')),
      decisions.ask(request('d', 'k=v')),
    ]);
    t.same(responses.map(remaining), [[0], [3], [2]]);
    await decisions.ask({ ...request('d', 'k=v'), hitsAddend: 3 });
    const given = descriptor('k=v', { hitsAddend: 5, isNegativeHits: true });
    const asked = descriptor('k=v', { hitsAddend: 1 });
    const both = await decisions.ask(request('d', given, asked));
    t.same(
      [codes(both), remaining(both)],
      [
        [OK, OK, OK],
        [4, 3],
      ],
    );
  });
}
