import type { Test } from 'tap';
import { ANSWER } from '../../../src/rules/domain-answers.ts';
import { GREATEST_LIMIT, GREATEST_SLIDING_LIMIT } from '../../../src/rules/rule-set.ts';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { record, sharedRecords } from '../../support/steering.ts';
import { deciding, OK, type OpenStore, OVER_LIMIT } from './examinee.ts';
import { bucket, type LimitText, limit, ruleFile, sliding } from './rule-file.ts';

/** What the 32-bit fields of protobuf say of greater numbers. */
const MOST_IN_PROTOBUF = 4_294_967_295;

const HEADERS = { limit: 'l', remaining: 'r', reset: 's' };

/** More hits than a request without hits of its descriptors can have. */
const hits = (count: number, text = 'k=v') => request('d', descriptor(text, { hitsAddend: count }));

/** Code, limit and remaining hits of an answer in JSON, which has the true numbers. */
async function told(
  decisions: Decisions,
  count: number,
): Promise<[code: string, limit: number, left: number]> {
  const { text } = await decisions.askJson(hits(count));
  const { statuses } = JSON.parse(text);
  const { code, currentLimit, limitRemaining = 0 } = statuses[0];
  return [code, currentLimit.requestsPerUnit, limitRemaining];
}

/** Limits beyond 32 bits, in fixed windows. */
export function examineLargeLimits(t: Test, open: OpenStore): void {
  t.test('a limit of 2^53 - 1 admits exactly as many hits', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(GREATEST_LIMIT) });
    const codes: number[] = [];
    for (const count of [5_000_000_000, GREATEST_LIMIT - 5_000_000_064, 63]) {
      codes.push((await decisions.ask(hits(count))).overallCode);
    }
    t.strictSame(codes, [OK, OK, OK]);
    t.strictSame((await decisions.ask(hits(2))).overallCode, OVER_LIMIT);
    t.strictSame(decisions.rule('d.k')['over_limit'], 1);
    t.strictSame(decisions.rule('d.k')['within_limit'], GREATEST_LIMIT - 1);
  });

  t.test('protobuf tells at most 2^32 - 1, JSON, headers and metadata the truth', async t => {
    const decisions = new Decisions({
      store: await open(),
      rules: ruleFile({ key: 'k', rate_limit: limit(50_000_000_000, { name: 'n' }) }),
      options: { headerNames: HEADERS, dynamicMetadata: true, answers: ANSWER.ratelimitHeaders },
    });
    const { statuses, responseHeadersToAdd } = await decisions.ask(hits(7_000_000_000));
    const { currentLimit, limitRemaining } = statuses[0];
    t.strictSame(currentLimit, { name: 'n', requestsPerUnit: MOST_IN_PROTOBUF, unit: 3 });
    t.equal(limitRemaining, MOST_IN_PROTOBUF);
    t.strictSame(
      responseHeadersToAdd.map(({ value }) => value),
      ['50000000000', '43000000000', '2800', '"n";q=50000000000;w=3600', '"n";r=43000000000;t=2800'],
    );
    t.strictSame(await told(decisions, 40_000_000_000), ['OK', 50_000_000_000, 3_000_000_000]);
    t.equal((await decisions.ask(hits(1))).statuses[0].limitRemaining, 2_999_999_999);
    t.strictSame(await told(decisions, 3_000_000_000), ['OVER_LIMIT', 50_000_000_000, 0]);
  });

  t.test('integers of structured fields have at most 15 digits, other headers the true number', async t => {
    const decisions = new Decisions({
      store: await open(),
      rules: ruleFile({ key: 'k', rate_limit: limit(GREATEST_LIMIT, { name: 'n' }) }),
      options: { headerNames: HEADERS, answers: ANSWER.ratelimitHeaders },
    });
    const { responseHeadersToAdd } = await decisions.ask(hits(1));
    t.strictSame(
      responseHeadersToAdd.map(({ value }) => value),
      [
        '9007199254740991',
        '9007199254740990',
        '2800',
        '"n";q=999999999999999;w=3600',
        '"n";r=999999999999999;t=2800',
      ],
    );
  });

  t.test('the headers report the descriptor with the least remaining, also beyond 32 bits', async t => {
    const rules = ruleFile(
      { key: 'k', rate_limit: limit(9_000_000_000) },
      { key: 'less', rate_limit: limit(8_000_000_000) },
      { key: 'unlimited', rate_limit: { unlimited: true } },
    );
    const decisions = new Decisions({ store: await open(), rules, options: { headerNames: HEADERS } });
    const reported = async (...texts: string[]) =>
      (await decisions.ask(request('d', ...texts))).responseHeadersToAdd.map(({ value }) => value);
    t.strictSame(await reported('k=a'), ['9000000000', '8999999999', '2800']);
    t.strictSame(await reported('unlimited=a', 'k=b', 'less=b'), ['8000000000', '7999999999', '2800']);
  });

  t.test('hits are given back beyond 32 bits', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(60_000_000_000) });
    await decisions.ask(hits(60_000_000_000));
    await decisions.ask(refund('d', 10_000_000_000, 'k=v'));
    t.strictSame(await told(decisions, 0), ['OK', 60_000_000_000, 10_000_000_000]);
    t.equal(decisions.rule('d.k')['total_negative_hits'], 10_000_000_000);
  });

  t.test('a limit that is used up holds back hits of others', async t => {
    const decisions = new Decisions({
      store: await open(),
      rules: ruleFile(
        { key: 'k', rate_limit: limit(6_000_000_000) },
        { key: 'other', rate_limit: limit(9_000_000_000) },
      ),
      options: { holdBack: true },
    });
    const both = (count: number) =>
      request(
        'd',
        descriptor('k=v', { hitsAddend: count }),
        descriptor('other=v', { hitsAddend: 4_500_000_000 }),
      );
    t.equal((await decisions.ask(both(6_000_000_000))).overallCode, OK);
    t.equal((await decisions.ask(both(1))).overallCode, OVER_LIMIT);
    const { statuses } = await decisions.ask(hits(0, 'other=v'));
    t.equal(statuses[0].limitRemaining, MOST_IN_PROTOBUF);
    t.equal((await decisions.explain(hits(0, 'other=v'))).descriptors[0].count?.now, 4_500_000_000);
  });

  t.test('an operator can set a limit beyond 32 bits, also with a factor', async t => {
    const records = sharedRecords(record('override', 'k=v', { requests_per_unit: 7_000_000_000 }));
    const decisions = new Decisions({
      store: await open(),
      rules: ruleFile({ key: 'k', rate_limit: limit(4_000_000_000) }),
      steering: records.buffer,
    });
    t.strictSame(await told(decisions, 6_500_000_000), ['OK', 7_000_000_000, 500_000_000]);
    records.publish([record('override', 'k=v', { factor: 2.5 })]);
    t.strictSame(await told(decisions, 0), ['OK', 10_000_000_000, 3_500_000_000]);
    records.publish([record('override', 'k=v', { factor: 1_000_000 })]);
    t.strictSame((await told(decisions, 0))[1], 4_000_000_000_000_000);
  });

  t.test('an explanation tells the true limit and count', async t => {
    const decisions = await deciding(open, { key: 'k', rate_limit: limit(50_000_000_000) });
    await decisions.ask(hits(7_000_000_000));
    const { descriptors } = await decisions.explain(hits(1));
    t.match(descriptors[0], { limit: { requestsPerUnit: 50_000_000_000 }, count: { now: 7_000_000_000 } });
  });
}

/** The same with the other algorithms. */
export function examineLargeAdmissions(t: Test, open: OpenStore): void {
  const cases: readonly (readonly [name: string, text: LimitText, most: number])[] = [
    ['sliding window', sliding(GREATEST_SLIDING_LIMIT), GREATEST_SLIDING_LIMIT],
    ['sliding window of a day', sliding(50_000_000_007, { window: '1d' }), 50_000_000_007],
    ['bucket', bucket(5_000_000_000, 90_000_000_000), 90_000_000_000],
    ['penalty', limit(GREATEST_LIMIT, { penalty: { after: 1, for: '1h' } }), GREATEST_LIMIT],
  ];
  for (const [name, rate_limit, most] of cases) {
    t.test(`${name}: as many hits as the limit says, and not one more`, async t => {
      const decisions = await deciding(open, { key: 'k', rate_limit });
      const limitTold = rate_limit.requests_per_unit!;
      t.strictSame(await told(decisions, most - 10), ['OK', limitTold, 10]);
      t.strictSame(await told(decisions, 9), ['OK', limitTold, 1]);
      await decisions.ask(refund('d', most - 1, 'k=v'));
      t.strictSame(await told(decisions, most), ['OK', limitTold, 0]);
      t.strictSame(await told(decisions, 1), ['OVER_LIMIT', limitTold, 0]);
    });
  }

  t.test('hits of the window before weigh exactly what is left of them', async t => {
    const decisions = await deciding(open, {
      key: 'k',
      rate_limit: sliding(50_000_000_007, { window: '1d' }),
    });
    await decisions.ask(hits(50_000_000_007));
    // 80 000 s into the window of a day.
    decisions.clock.advance((86_400 - 80_000 + 28_800) * 1_000);
    t.strictSame(await told(decisions, 0), ['OK', 50_000_000_007, 50_000_000_007 - 33_333_333_338]);
  });

  t.test('an override that an algorithm cannot count becomes the nearest one that it can', async t => {
    const records = sharedRecords(record('override', 'k=v', { requests_per_unit: GREATEST_LIMIT }));
    for (const [rate_limit, requests, most] of [
      [sliding(3), GREATEST_SLIDING_LIMIT, GREATEST_SLIDING_LIMIT],
      // The burst can be counted as it is.
      [bucket(3, 3, { window: '1s' }), 9_007_199_254_740_000, GREATEST_LIMIT],
    ] as const) {
      const decisions = new Decisions({
        store: await open(),
        rules: ruleFile({ key: 'k', rate_limit }),
        steering: records.buffer,
      });
      t.strictSame(await told(decisions, most), ['OK', requests, 0]);
      t.strictSame(await told(decisions, 1), ['OVER_LIMIT', requests, 0]);
    }
  });
}
