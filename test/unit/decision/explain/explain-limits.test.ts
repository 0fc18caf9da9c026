import t from 'tap';
import { Decisions, request } from '../../../support/decisions.ts';
import { embeddedStore } from '../../../support/stores.ts';

const RULES = `
domain: d
descriptors:
  - key: month
    rate_limit: {requests_per_unit: 10, calendar: {period: month, zone: Europe/Berlin, starts: 15}}
  - key: sliding
    rate_limit: {window: 5m, requests_per_unit: 10, algorithm: sliding_window}
  - key: bucket
    rate_limit: {window: 1m, requests_per_unit: 100, algorithm: token_bucket, burst: 4}
  - key: blocked
    rate_limit: {window: 1m, requests_per_unit: 0, algorithm: token_bucket}
  - key: several
    detailed_metric: true
    rate_limits:
      - {name: low, unit: hour, requests_per_unit: 2}
      - {window: 1m, requests_per_unit: 60, algorithm: token_bucket, burst: 9}
      - {name: old, window: 2d, requests_per_unit: 2}
  - key: new
    rate_limit: {unit: hour, requests_per_unit: 9, replaces: [{name: old}]}
`;

function decisionsOnMemory(options = {}): Decisions {
  return new Decisions({ store: embeddedStore(), rules: RULES, options });
}

async function explained(decisions: Decisions, ...texts: string[]) {
  return (await decisions.explain(request('d', ...texts))).descriptors[0];
}

t.test('a calendar: the window is the true one', async t => {
  t.match(await explained(decisionsOnMemory(), 'month=1'), {
    limit: {
      window: 'month@15 Europe/Berlin',
      algorithm: 'fixed_window',
      requestsPerUnit: 10,
      burst: undefined,
    },
    key: 'd_month_1_1697320800~month@15.Europe/Berlin',
    window: { start: '2023-10-14T22:00:00.000Z', end: '2023-11-14T23:00:00.000Z', resetSeconds: 2_800 },
    count: { now: 0, after: 1, heldBack: false },
    level: undefined,
  });
});

t.test('what proxies get of a limit is told, unless it is the usual', async t => {
  const rules = `
domain: d
descriptors:
  - {key: part, rate_limit: {unit: hour, requests_per_unit: 5}, quota: {share: 80%, for: 1m}}
  - {key: usual, rate_limit: {unit: hour, requests_per_unit: 5}, quota: {}}
`;
  const decisions = new Decisions({ store: embeddedStore(), rules });
  t.strictSame((await explained(decisions, 'part=x')).limit?.quota, { share: '80%', forSeconds: 60 });
  t.equal((await explained(decisions, 'usual=x')).limit?.quota, undefined);
});

t.test('a sliding window: what is left of the window before is told apart', async t => {
  const decisions = decisionsOnMemory();
  await decisions.ask({ ...request('d', 'sliding=1'), hitsAddend: 7 });
  decisions.clock.advance(100_000 + 60_000);
  await decisions.ask(request('d', 'sliding=1'));
  t.match(await explained(decisions, 'sliding=1'), {
    limit: { window: '5m', algorithm: 'sliding_window' },
    key: 'd_sliding_1_~5m.sliding',
    window: { start: '2023-11-14T22:15:00.000Z', end: '2023-11-14T22:20:00.000Z', resetSeconds: 240 },
    level: '1 hits in this window, and 6 for the 7 hits in the window before',
    count: { now: 7, after: 8, heldBack: false, refused: false },
  });
});

t.test('a token bucket: it has no window, but a level', async t => {
  const decisions = decisionsOnMemory();
  await decisions.ask({ ...request('d', 'bucket=1'), hitsAddend: 4 });
  decisions.clock.advance(150);
  t.match(await explained(decisions, 'bucket=1'), {
    limit: { window: '1m', algorithm: 'token_bucket', requestsPerUnit: 100, burst: 4 },
    key: 'd_bucket_1_~1m.bucket',
    window: undefined,
    level: 'the bucket holds 0.25 of 4 tokens, and 100 flow in every 1m',
    count: { now: 4, after: 4, heldBack: false, refused: true },
    status: { code: 'OVER_LIMIT', durationUntilReset: '0.450s' },
  });
  t.match(await explained(decisions, 'blocked=1'), { window: undefined, count: { now: 0, refused: true } });
});

t.test('a request with more hits than a limit ever admits: waiting does not help', async t => {
  const decisions = decisionsOnMemory();
  const explained = async (text: string, hitsAddend: number) =>
    (await decisions.explain({ ...request('d', text), hitsAddend })).descriptors[0];
  t.match(await explained('bucket=1', 5), {
    level:
      'the bucket holds 4 of 4 tokens, and 100 flow in every 1m; the limit never admits a request of 5 hits',
    count: { now: 0, after: 0, refused: true },
    status: { code: 'OVER_LIMIT', durationUntilReset: '60s' },
  });
  t.match(await explained('bucket=1', 4), { level: /every 1m$/, count: { refused: false } });
  t.match(await explained('blocked=1', 1), { level: /the limit never admits a request of 1 hit$/ });
  t.match(await explained('sliding=1', 1_000), { level: /the limit never admits a request of 1000 hits$/ });
});

t.test('several limits: each one, which one binds, and why', async t => {
  const decisions = decisionsOnMemory();
  await decisions.ask({ ...request('d', 'several=1', 'new=1'), hitsAddend: 2 });
  const explanation = await explained(decisions, 'several=1', 'new=1');
  t.match(explanation, {
    outcome: 'limited',
    limit: { name: 'low', rule: 'd.several.low', statistics: /\.several_1\.low$/ },
    key: 'd_several_1_1699999200~1h',
    count: { now: 2, after: 3 },
    status: { code: 'OVER_LIMIT' },
    limits: [
      { outcome: 'over', binds: true, why: 'it is the only limit that is exceeded', limit: { name: 'low' } },
      {
        outcome: 'within',
        binds: false,
        why: undefined,
        limit: { name: '', window: '1m', statistics: /\.several_1\.1m$/ },
        key: 'd_several_1_~1m.bucket',
        count: { now: 2, after: 3 },
      },
      {
        outcome: 'replaced',
        binds: false,
        why: '`d.new` also applies to the request and replaces `d.several.old`',
        limit: { window: '2d' },
        key: undefined,
      },
    ],
  });
});

t.test('the reason why a limit binds', async t => {
  const why = async (decisions: Decisions, ...texts: string[]) =>
    (await explained(decisions, ...texts)).limits?.find(({ binds }) => binds);
  const decisions = decisionsOnMemory();
  t.match(await why(decisions, 'several=1'), {
    limit: { name: 'low' },
    why: 'it has the smallest share of its hits left',
  });
  await decisions.ask({ ...request('d', 'several=1'), hitsAddend: 2 });
  t.match(await why(decisions, 'several=1'), {
    limit: { name: 'old' },
    why: 'of the exceeded limits, it is the one that resets last',
  });
  decisions.load(RULES.replace('{name: old,', '{name: old, shadow_mode: true,'));
  t.match(await why(decisions, 'several=1'), {
    limit: { name: 'low' },
    why: 'of the exceeded limits, it is the one whose mode has the most effect',
  });
  decisions.load(RULES.replace('[{name: old}]', '[{name: old}, {name: low}]'));
  t.match(await why(decisions, 'several=1', 'new=1'), { why: 'it is the only limit that applies' });
});
