import t from 'tap';
import type { CallOrigin } from '../../../../src/decision/decider.ts';
import { DecisionLogger } from '../../../../src/decision/decision-log/decision-logger.ts';
import { LogTexts } from '../../../../src/decision/decision-log/log-texts.ts';
import { SharedRate } from '../../../../src/decision/decision-log/shared-rate.ts';
import { encodeRateLimitRequest, type RateLimitRequest } from '../../../../src/messages/client-codec.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { type DecisionSetup, Decisions, descriptor, refund, request } from '../../../support/decisions.ts';
import { FailingStore } from '../../../support/failing-store.ts';
import { record, sharedRecords } from '../../../support/steering.ts';
import { embeddedStore } from '../../../support/stores.ts';

const RULES = `
domain: d
descriptors:
  - key: user
    rate_limit: { unit: hour, requests_per_unit: 2, name: per_user }
  - key: tried
    shadow_mode: true
    rate_limit: { unit: day, requests_per_unit: 0 }
  - key: both
    rate_limits:
      - { unit: minute, requests_per_unit: 1, name: short }
      - { unit: day, requests_per_unit: 1, name: long }
      - { unit: year, requests_per_unit: 9 }
  - key: bucket
    rate_limit: { unit: minute, requests_per_unit: 6, algorithm: token_bucket, burst: 1 }
  - key: model
    rate_limit: {unit: minute, requests_per_unit: 9, classes: {key: tier, high: 100%, low: 0%}}
  - key: login
    rate_limit: { unit: minute, requests_per_unit: 1, penalty: { for: 5m } }
  - key: free
    rate_limit: { unlimited: true }
  - key: budget
    holder: id
    rate_limits:
      - { unit: minute, requests_per_unit: 2, scale: 10, reserve: { for: 5m }, name: tokens }
      - { concurrency: { limit: 1, for: 5m }, name: running }
`;

interface LogSetup extends Partial<DecisionSetup> {
  readonly sample?: number;
  readonly perSecond?: number;
  readonly hashKey?: Uint8Array;
  readonly shadow?: boolean;
}

/** Decisions with a decision log. */
function logged({ sample = 0, perSecond = 1_000, hashKey, shadow = false, ...setup }: LogSetup = {}) {
  const stats = new StatsRegistry();
  const written: string[] = [];
  const modes = { shadow, quota: false };
  const logger = new DecisionLogger({
    sample,
    rate: new SharedRate(SharedRate.memory(), perSecond),
    texts: new LogTexts(hashKey ?? null),
    modes,
    dropped: stats.counter('dropped'),
    write: lines => written.push(lines),
  });
  const store = setup.store ?? embeddedStore();
  const decisions = new Decisions({ rules: RULES, options: { modes }, ...setup, store, observers: [logger] });
  const records = () =>
    written.flatMap(lines => {
      t.match(lines, /^([\x20-\x7e\u00a0-\uffff]+\n)+$/, 'whole lines of printable characters');
      return lines
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line) as Record<string, unknown>);
    });
  return { decisions, records, written, dropped: () => new Map(stats.counters()).get('dropped') ?? 0 };
}

t.test('a record says that a key is penalized, whether the store or the local cache knew it', async t => {
  const { decisions, records } = logged({ localCacheBytes: 100_000 });
  for (let call = 0; call < 3; call++) await decisions.ask(request('d', 'login=ann'));
  t.match(records(), [
    { rule: 'd.login', key: 'd_login_ann_~1m.penalty', count: 1, limit: 1, penalized: true, source: 'store' },
    { rule: 'd.login', penalized: true, source: 'local_cache' },
  ]);
});

t.test('a record of a limit with leases says what they hold', async t => {
  const { decisions, records } = logged({ sample: 1 });
  const call = (text: string, hitsAddend: number) =>
    decisions.ask(request('d', descriptor(text, { hitsAddend })));
  await call('budget=b,id=1', 5);
  await call('budget=b,id=1', 10);
  await call('budget=b,id=2', 4);
  await call('budget=b,id=3', 1);
  t.match(records(), [
    { name: 'running', count: 1, held: 1, limit: 1, window: 'concurrency', remaining: 0 },
    { name: 'tokens', count: 1, held: 0, limit: 2, window: '1m', remaining: 1 },
    { name: 'tokens', code: 'OK', count: 1.4, held: 0.4, remaining: 0 },
    { name: 'running', code: 'OVER_LIMIT', count: 1, held: 1, limit: 1 },
  ]);
});

t.test('a record says the class of the request, unless it has none', async t => {
  const { decisions, records } = logged();
  await decisions.ask(request('d', 'model=m,tier=low', 'model=m,tier=other'));
  t.match(records(), [
    { rule: 'd.model', class: 'low', limit: 9, count: 0, remaining: 0 },
    { rule: 'd.model', class: undefined },
  ]);
});

t.test('a record says which limit refused whom, at which count', async t => {
  const { decisions, records } = logged();
  for (let call = 0; call < 3; call++) await decisions.ask(request('d', 'user=ann'));
  t.same(records(), [
    {
      time: '2023-11-14T22:13:20.000Z',
      code: 'OVER_LIMIT',
      response: 'OVER_LIMIT',
      domain: 'd',
      descriptor: ['user=ann'],
      rule: 'd.user',
      name: 'per_user',
      key: 'd_user_ann_1699999200',
      count: 3,
      limit: 2,
      window: 'hour',
      remaining: 0,
      hits: 1,
      source: 'store',
    },
  ]);
});

t.test('the caller is part of the record, if the front knows it', async t => {
  const { decisions, records } = logged();
  const origin: CallOrigin = { peer: '10.1.2.3', traceId: '0af7651916cd43dd8448eb211c80319c' };
  await new Promise<void>(resolve => {
    decisions.batcher.decide(encodeRateLimitRequest(request('d', 'tried=x')), 'protobuf', {
      gone: false,
      origin,
      answered: () => resolve(),
      refused: () => resolve(),
    });
  });
  t.match(records(), [{ peer: origin.peer, trace_id: origin.traceId }]);
});

t.test('a limit that is exceeded in shadow mode is logged and marked', async t => {
  const { decisions, records } = logged();
  await decisions.ask(request('d', 'tried=x', 'user=ann'));
  t.match(records(), [{ code: 'OVER_LIMIT', shadow: true, response: 'OK', rule: 'd.tried' }]);
  const global = logged({ shadow: true });
  for (let call = 0; call < 3; call++) await global.decisions.ask(request('d', 'user=ann'));
  t.match(global.records(), [{ code: 'OVER_LIMIT', shadow: true, response: 'OK', rule: 'd.user' }]);
});

t.test('of several limits of a rule, each exceeded one has a record', async t => {
  const { decisions, records } = logged();
  for (let call = 0; call < 2; call++) await decisions.ask(request('d', 'both=x'));
  t.match(
    records().map(({ name, window, count }) => [name, window, count]),
    [
      ['short', '1m', 2],
      ['long', '1d', 2],
    ],
  );
});

t.test('the window and the algorithm of other limits, and what they admitted', async t => {
  const { decisions, records } = logged();
  for (let call = 0; call < 2; call++) await decisions.ask(request('d', 'bucket=x'));
  t.match(records(), [{ algorithm: 'token_bucket', window: '1m', count: 1, limit: 6, source: 'store' }]);
});

t.test('a refusal by the local cache has no count', async t => {
  const { decisions, records } = logged({ localCacheBytes: 65_536 });
  for (let call = 0; call < 4; call++) await decisions.ask(request('d', 'user=ann'));
  const [first, second] = records();
  t.match(first, { source: 'store', count: 3 });
  t.match(second, { source: 'local_cache', remaining: 0 });
  t.notOk('count' in second);
});

t.test('a refusal without a count, because the store failed, is told apart', async t => {
  const store = new FailingStore(embeddedStore());
  store.uncountable.add('d_user_ann_1699999200');
  const { decisions, records } = logged({ store, options: { uncounted: 'deny' } });
  await decisions.ask(request('d', 'user=ann'));
  t.match(records(), [{ source: 'failure_mode', code: 'OVER_LIMIT' }]);
  t.notOk('count' in records()[0]);
});

t.test('a limit that the request carries has no rule', async t => {
  const { decisions, records } = logged();
  const limit = { requestsPerUnit: 0, unit: 3 };
  await decisions.ask({ ...request('d', descriptor('user=ann', { limit })), hitsAddend: 2 });
  t.match(records(), [{ limit: 0, window: 'hour', hits: 2, descriptor: ['user=ann'] }]);
  t.notOk('rule' in records()[0]);
});

t.test('requests without a decision and without a limit leave no record', async t => {
  const { decisions, records } = logged({ sample: 1 });
  await t.rejects(decisions.ask(request('', 'user=ann')));
  await decisions.ask(request('d', 'unknown=x', 'free=x'));
  await decisions.ask(request('elsewhere', 'user=ann'));
  t.same(records(), []);
});

t.test('of the allowed requests, one in the sample is logged with each of its limits', async t => {
  const { decisions, records } = logged({ sample: 3 });
  for (let call = 0; call < 7; call++)
    await decisions.ask(request('d', `user=${call}`, `both=${call}`, 'free=x'));
  t.same(
    records().map(({ code, descriptor }) => [code, descriptor]),
    ['2', '5'].flatMap(call => [
      ['OK', [`user=${call}`]],
      ['OK', [`both=${call}`]],
    ]),
  );
  await decisions.ask(refund('d', 1, 'user=a'));
  await decisions.ask(refund('d', 1, 'user=a'));
  t.match(records().at(-1), { refund: true, code: 'OK' });
});

t.test('more records than allowed per second are dropped, counted, and told by the next record', async t => {
  const { decisions, records, dropped } = logged({ perSecond: 2 });
  for (let call = 0; call < 5; call++) await decisions.ask(request('d', 'tried=x'));
  t.equal(records().length, 2);
  t.equal(dropped(), 3);
  decisions.clock.advance(1_000);
  await decisions.ask(request('d', 'tried=x'));
  await decisions.ask(request('d', 'tried=x'));
  t.same(
    records().map(record => record['dropped']),
    [undefined, undefined, 3, undefined],
  );
});

t.test('no text of a request can end a line, forge a field or control a terminal', async t => {
  const { decisions, records, written } = logged();
  const value = 'a\n{"code":"OK"}\r\u0000\u001b[2J\u007f\u009b\u2028\u2029"\\';
  const asked: RateLimitRequest = request('d', {
    entries: [{ key: 'tried', value }],
    limit: null,
    hitsAddend: null,
    isNegativeHits: false,
  });
  await decisions.ask(asked);
  t.equal(written.join('').indexOf('\n'), written.join('').length - 1, 'one line');
  t.notMatch(written.join(''), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029]/);
  t.same(records()[0]['descriptor'], [`tried=${value}`]);
});

t.test('long texts are cut between characters and marked, so that each line is short', async t => {
  const { decisions, records, written } = logged();
  await decisions.ask(request('d', `tried=${'ä'.repeat(4_000)}`));
  t.same(records()[0]['descriptor'], [`tried=${'ä'.repeat(128)}…[cut]`]);
  t.match(records()[0]['key'], /^d_tried_ä{124}…\[cut\]$/);
  const limit = { requestsPerUnit: 0, unit: 3 };
  const entries = Array.from({ length: 200 }, () => ({
    key: '\u0001'.repeat(500),
    value: '\u0002'.repeat(500),
  }));
  await decisions.ask(request('d', { entries, limit, hitsAddend: null, isNegativeHits: false }));
  t.ok(written[1].length < 16_384, `${written[1].length} bytes`);
  t.match((records()[1]['descriptor'] as string[]).at(-1), /^…\[19\d more\]$/);
});

t.test('with a key, values and cache keys are hashes, equal for equal texts', async t => {
  const first = logged({ hashKey: Buffer.from('secret') });
  const second = logged({ hashKey: Buffer.from('secret') });
  const other = logged({ hashKey: Buffer.from('other') });
  for (const { decisions } of [first, second, other]) {
    await decisions.ask(request('d', 'tried=ann@example.com'));
    await decisions.ask(request('d', 'tried=bob'));
  }
  t.notMatch(first.written.join(''), /ann|bob/);
  t.match(first.records()[0], { descriptor: [/^tried=hash:[0-9a-f]{16}$/], key: /^hash:[0-9a-f]{16}$/ });
  t.same(first.records(), second.records());
  const values = [...first.records(), ...other.records()].map(record => String(record['descriptor']));
  t.equal(new Set(values).size, 4);
});

t.test('a ban is logged without a limit, and a limit that was overridden is marked', async t => {
  const records = sharedRecords(
    record('ban', 'user=eve', {}),
    record('ban', 'other=eve', {}),
    record('override', 'user=ann', { requests_per_unit: 0 }),
  );
  const { decisions, records: lines } = logged({ steering: records.buffer });
  for (const text of ['user=eve', 'other=eve', 'user=ann']) await decisions.ask(request('d', text));
  t.match(lines(), [
    {
      code: 'OVER_LIMIT',
      response: 'OVER_LIMIT',
      rule: 'd.user',
      descriptor: ['user=eve'],
      hits: 1,
      source: 'ban',
    },
    { code: 'OVER_LIMIT', descriptor: ['other=eve'], source: 'ban' },
    { limit: 0, overridden: true, source: 'store' },
  ]);
  for (const field of ['key', 'count', 'limit', 'window', 'remaining']) t.notOk(field in lines()[0], field);
  t.notOk('rule' in lines()[1]);
});
