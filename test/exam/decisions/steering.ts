import type { Test } from 'tap';
import type { RateLimitResponse } from '../../../src/messages/client-codec.ts';
import { ANSWER } from '../../../src/rules/domain-answers.ts';
import type { SteeringRecord } from '../../../src/steering/record.ts';
import { Decisions, descriptor, refund, request } from '../../support/decisions.ts';
import { each } from '../../support/each.ts';
import { record, sharedRecords } from '../../support/steering.ts';
import { grown, OK, type OpenStore, OVER_LIMIT } from './examinee.ts';
import { type LimitText, limit, ruleFile } from './rule-file.ts';

/** The effect of overrides, bans and passes on decisions. */
export function examineSteering(t: Test, open: OpenStore): void {
  examineOverrides(t, open);
  examineBans(t, open);
  examinePasses(t, open);
  examineChanges(t, open);
  examineAnswersOfRecords(t, open);
}

const RULES = ruleFile({ key: 'user', rate_limit: limit(2, { name: 'users' }) });

function examineOverrides(t: Test, open: OpenStore): void {
  t.test('an override raises the limit, shows it, and continues the count', async t => {
    const records = sharedRecords();
    const decisions = new Decisions({ store: await open(), rules: RULES, steering: records.buffer });
    for (let i = 0; i < 3; i++) await decisions.ask(request('d', 'user=ann'));
    records.publish([record('override', 'user=ann', { requests_per_unit: 5 })]);
    const { overallCode, statuses } = await decisions.ask(request('d', 'user=ann', 'user=bob'));
    t.equal(overallCode, OK);
    t.strictSame(
      statuses.map(({ currentLimit, limitRemaining }) => [currentLimit, limitRemaining]),
      [
        [{ name: 'users', requestsPerUnit: 5, unit: 3 }, 1],
        [{ name: 'users', requestsPerUnit: 2, unit: 3 }, 1],
      ],
    );
    const { text } = await decisions.askJson(request('d', 'user=ann'));
    t.match(text, '"currentLimit":{"name":"users","requestsPerUnit":5,"unit":"HOUR"}');
    t.equal((await decisions.ask(request('d', 'user=ann'))).overallCode, OVER_LIMIT);
  });

  t.test('an override applies to a key that the local cache has as over its limit', async t => {
    const records = sharedRecords();
    const decisions = new Decisions({
      store: await open(),
      rules: RULES,
      steering: records.buffer,
      localCacheBytes: 100_000,
    });
    for (let i = 0; i < 4; i++) await decisions.ask(request('d', 'user=ann'));
    records.publish([record('override', 'user=ann', { requests_per_unit: 9 })]);
    t.equal((await decisions.ask(request('d', 'user=ann'))).overallCode, OK);
    records.publish([record('override', 'user=bob', { requests_per_unit: 0 })]);
    t.equal((await decisions.ask(request('d', 'user=bob'))).overallCode, OVER_LIMIT);
    records.publish([]);
    t.equal((await decisions.ask(request('d', 'user=bob'))).overallCode, OK);
  });

  t.test('a factor multiplies each of several limits; a number does not apply to them', async t => {
    const records = sharedRecords(record('override', 'user=*', { factor: 2.5 }));
    const decisions = new Decisions({
      store: await open(),
      rules: ruleFile({ key: 'user', rate_limits: [limit(3), limit(10, { unit: 'day' })] }),
      steering: records.buffer,
    });
    const asked = request('d', descriptor('user=ann', { hitsAddend: 7 }));
    const { statuses } = await decisions.ask(asked);
    t.strictSame(
      [statuses[0].code, statuses[0].limitRemaining, statuses[0].currentLimit?.requestsPerUnit],
      [OK, 0, 7],
    );
    records.publish([record('override', 'user=*', { requests_per_unit: 100 })]);
    t.equal((await decisions.ask(request('d', 'user=ann'))).overallCode, OVER_LIMIT);
    const { descriptors } = await decisions.explain(request('d', 'user=ann'));
    t.match(descriptors[0].steering?.effect, 'several limits');
  });

  t.test('an override applies to the limit that a request brings, and to nothing else', async t => {
    const records = sharedRecords(
      record('override', 'user=ann', { requests_per_unit: 7 }),
      record('override', 'none=1', { requests_per_unit: 0 }),
      record('override', 'free=1', { requests_per_unit: 0 }),
    );
    const decisions = new Decisions({
      store: await open(),
      rules: ruleFile({ key: 'free', rate_limit: { unlimited: true } }),
      steering: records.buffer,
    });
    const own = descriptor('user=ann', { limit: { requestsPerUnit: 2, unit: 3 } });
    const descriptors = [own, descriptor('none=1'), descriptor('free=1')];
    const { overallCode, statuses } = await decisions.ask({ domain: 'd', descriptors, hitsAddend: 0 });
    t.equal(overallCode, OK);
    t.strictSame(statuses[0].currentLimit, { name: '', requestsPerUnit: 7, unit: 3 });
  });

  t.test('sliding windows and token buckets have the limit of the override', async t => {
    const records = sharedRecords(record('override', 'user=*', { requests_per_unit: 6 }));
    const counting: LimitText[] = [
      limit(3, { algorithm: 'sliding_window' }),
      limit(3, { algorithm: 'token_bucket', burst: 3 }),
      { window: '5m', requests_per_unit: 3 },
    ];
    for (const rate_limit of counting) {
      const decisions = new Decisions({
        store: await open(),
        rules: ruleFile({ key: 'user', rate_limit }),
        steering: records.buffer,
      });
      const hits = (count: number) => request('d', descriptor('user=ann', { hitsAddend: count }));
      const all = await decisions.ask(hits(6));
      const { code, limitRemaining, currentLimit } = all.statuses[0];
      t.strictSame(
        [code, limitRemaining, currentLimit?.requestsPerUnit],
        [OK, 0, 6],
        JSON.stringify(rate_limit),
      );
      t.equal((await decisions.ask(hits(1))).overallCode, OVER_LIMIT);
    }
  });
}

function examineBans(t: Test, open: OpenStore): void {
  t.test('a ban refuses without counting, also the other descriptors, and says when it ends', async t => {
    const records = sharedRecords(record('ban', 'user=*bot*', { seconds: 90 }));
    const decisions = new Decisions({
      store: await open(),
      rules: ruleFile(
        { key: 'user', shadow_mode: true, quota_mode: true, rate_limit: limit(5) },
        { key: 'path', rate_limit: limit(5) },
      ),
      steering: records.buffer,
    });
    const growth = await grown(decisions, async () => {
      const { overallCode, statuses } = await decisions.ask(request('d', 'user=my-bot-1', 'path=/a'));
      t.equal(overallCode, OVER_LIMIT);
      t.strictSame(statuses, [
        { code: OVER_LIMIT, currentLimit: null, limitRemaining: 0, durationUntilReset: 90 },
        { code: OK, currentLimit: null, limitRemaining: 0, durationUntilReset: null },
      ]);
    });
    t.strictSame(growth, {
      'rate_limit.d.user.total_hits': 1,
      'rate_limit.d.user.over_limit': 1,
      'steering.banned': 1,
    });
    const { text } = await decisions.askJson(request('d', 'user=my-bot-1'));
    t.match(text, '"durationUntilReset":"90s"');
    records.publishAhead(-30_000);
    t.match((await decisions.askJson(request('d', 'user=my-bot-1'))).text, '"durationUntilReset":"120s"');
    records.publish([]);
    const { statuses } = await decisions.ask(request('d', 'user=my-bot-1', 'path=/a'));
    t.strictSame(each(statuses, 'limitRemaining'), [4, 4], 'nothing was counted');
  });

  t.test('a ban refuses descriptors without a rule, and in domains without rules', async t => {
    const records = sharedRecords(record('ban', 'ip=10.0.0.*'), record('ban', 'ip', { domain: 'other' }));
    const decisions = new Decisions({ store: await open(), rules: RULES, steering: records.buffer });
    t.equal((await decisions.ask(request('d', 'ip=10.0.0.7'))).overallCode, OVER_LIMIT);
    t.equal((await decisions.ask(request('d', 'ip=10.0.1.7'))).overallCode, OK);
    t.equal((await decisions.ask(request('d', 'ip=10.0.0.7,user=ann'))).overallCode, OK, 'another length');
    t.equal((await decisions.ask(request('other', 'ip=10.0.1.7'))).overallCode, OVER_LIMIT);
  });

  t.test('a ban of one of several limits, and refunds of a banned key', async t => {
    const records = sharedRecords();
    const decisions = new Decisions({
      store: await open(),
      rules: ruleFile({ key: 'user', rate_limits: [limit(3), limit(10, { unit: 'day' })] }),
      steering: records.buffer,
    });
    await decisions.ask(request('d', 'user=ann'));
    records.publish([record('ban', 'user=ann')]);
    t.equal((await decisions.ask(request('d', 'user=ann'))).overallCode, OVER_LIMIT);
    t.equal((await decisions.ask(refund('d', 1, 'user=ann'))).overallCode, OK);
    records.publish([]);
    t.equal((await decisions.ask(request('d', 'user=ann'))).statuses[0].limitRemaining, 2);
  });

  t.test('global shadow mode applies to bans as well', async t => {
    const options = { modes: { shadow: true, quota: true } };
    const steering = sharedRecords(record('ban', 'user=ann')).buffer;
    const decisions = new Decisions({ store: await open(), rules: RULES, options, steering });
    const { overallCode, statuses } = await decisions.ask(request('d', 'user=ann'));
    t.strictSame([overallCode, statuses[0].code], [OK, OVER_LIMIT]);
  });
}

function examinePasses(t: Test, open: OpenStore): void {
  t.test('a pass allows without counting, neither hits nor refunds', async t => {
    const records = sharedRecords(record('pass', 'user=ann'));
    const decisions = new Decisions({
      store: await open(),
      rules: ruleFile({ key: 'user', rate_limits: [limit(1), limit(1, { unit: 'day' })] }),
      steering: records.buffer,
    });
    const growth = await grown(decisions, async () => {
      for (let i = 0; i < 3; i++)
        t.equal((await decisions.ask(request('d', 'user=ann', 'x=1'))).overallCode, OK);
    });
    t.equal(growth['steering.passed'], 3);
    await decisions.ask(refund('d', 1, 'user=ann'));
    records.publish([]);
    t.equal((await decisions.ask(request('d', 'user=ann'))).overallCode, OK);
    t.equal((await decisions.ask(request('d', 'user=ann'))).overallCode, OVER_LIMIT);
  });
}

function examineChanges(t: Test, open: OpenStore): void {
  t.test('a record ends at its second', async t => {
    const records = sharedRecords(
      record('ban', 'user=ann', { seconds: 60 }),
      record('ban', 'user=bob', { seconds: 120 }),
    );
    const decisions = new Decisions({ store: await open(), rules: RULES, steering: records.buffer });
    const codes = async () =>
      (await decisions.ask(request('d', 'user=ann', 'user=bob'))).statuses.map(({ code }) => code);
    decisions.clock.advance(59_999);
    t.strictSame(await codes(), [OVER_LIMIT, OVER_LIMIT]);
    decisions.clock.advance(1);
    t.strictSame(await codes(), [OK, OVER_LIMIT]);
    decisions.clock.advance(60_000);
    t.strictSame(await codes(), [OK, OK]);
  });

  t.test('explanations name the record and tell the decision that follows', async t => {
    const records = sharedRecords(
      record('ban', 'user=eve', { reason: 'scraping' }),
      record('pass', 'user=root'),
      record('override', 'user=ann', { factor: 2 }),
    );
    const decisions = new Decisions({ store: await open(), rules: RULES, steering: records.buffer });
    for (const [name, outcome, kind] of [
      ['eve', 'banned', 'ban'],
      ['root', 'passed', 'pass'],
      ['ann', 'limited', 'override'],
      ['bob', 'limited', undefined],
    ] as const) {
      const asked = request('d', `user=${name}`);
      const told = await decisions.explain(asked);
      t.strictSame(JSON.parse((await decisions.askJson(asked)).text), told.answer, name);
      t.strictSame([told.descriptors[0].outcome, told.descriptors[0].steering?.kind], [outcome, kind]);
    }
    const { descriptors } = await decisions.explain(request('d', 'user=eve', 'user=bob'));
    t.equal(descriptors[0].steering?.reason, 'scraping');
    t.equal(descriptors[1].outcome, 'not counted');
    const raised = await decisions.explain(request('d', 'user=ann'));
    t.equal(raised.descriptors[0].limit?.requestsPerUnit, 4);
  });
}

function examineAnswersOfRecords(t: Test, open: OpenStore): void {
  const answers = Object.values(ANSWER).reduce((bits: number, bit) => bits | bit, 0);
  const asking = async (only: SteeringRecord): Promise<Decisions> =>
    new Decisions({
      store: await open(),
      rules: RULES,
      options: { answers },
      steering: sharedRecords(only).buffer,
    });
  const fields = ({ responseHeadersToAdd }: RateLimitResponse): Record<string, string> =>
    Object.fromEntries(responseHeadersToAdd.map(({ key, value }) => [key, value]));

  t.test('headers show the limit of an override, and that of the rule for others', async t => {
    const decisions = await asking(record('override', 'user=ann', { requests_per_unit: 5 }));
    for (const [text, quota] of [
      ['user=ann', 5],
      ['user=bob', 2],
      ['user=ann', 5],
    ] as const) {
      const response = await decisions.ask(request('d', text));
      t.equal(fields(response)['RateLimit-Policy'], `"users";q=${quota};w=3600`, text);
    }
  });

  t.test('a ban says when it ends, and names no policy', async t => {
    const decisions = await asking(record('ban', 'user=ann'));
    const response = await decisions.ask(request('d', 'user=ann', 'user=bob'));
    const seconds = response.statuses[0].durationUntilReset;
    t.equal(response.overallCode, OVER_LIMIT);
    t.strictSame(fields(response), {
      'Retry-After': String(seconds),
      'Content-Type': 'application/problem+json',
    });
    t.strictSame(JSON.parse(response.rawBody), {
      type: 'about:blank',
      title: 'Too Many Requests',
      status: 429,
      'retry-after': seconds,
    });
    t.strictSame(response.dynamicMetadata, {
      matched_rule: { ban: true, code: 'OVER_LIMIT', name: 'users', rule: 'd.user' },
    });
  });
}
