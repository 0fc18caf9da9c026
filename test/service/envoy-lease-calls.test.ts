import t, { type Test } from 'tap';
import { Envoy, envoyMissing, type Substitutions } from '../support/envoy.ts';
import { ModelServer } from '../support/model-server.ts';
import { addresses, askModel, type ModelCall } from '../support/proxies/model-gateway.ts';
import {
  type Answerer,
  RecordingLimiter,
  type SentDescriptor,
} from '../support/proxies/recording-limiter.ts';
import { until } from '../support/until.ts';

// What a real Envoy sends with ops/envoy/budgets.yaml: the calls that docs/budgets.md relies on.

const OK = 1;
const OVER_LIMIT = 2;

/** Tokens and slots as the file sends them; the name of the lease is left out, because it is random. */
const held = (tokens: number) => ({ user: tokens, running: 'hits of the request' });
const settled = (tokens: number) => ({ 'user: settle': tokens, ...released });
const released = { 'running: release': 'hits of the request' };

function readable(call: readonly SentDescriptor[]): Record<string, unknown> {
  const each = call.map(({ entries, hits, isRefund }) => {
    const [key] = Object.keys(entries);
    const { lease_action: action } = entries;
    return [
      action === undefined ? key : `${key}: ${action}`,
      isRefund ? `refund of ${hits}` : (hits ?? 'hits of the request'),
    ];
  });
  return Object.fromEntries(each);
}

async function start(t: Test, answer: Answerer = () => OK, substitutions: Substitutions = []) {
  const model = await ModelServer.start(t);
  const limiter = await RecordingLimiter.start(t, answer);
  const envoy = await Envoy.start(t, 'budgets.yaml', [
    ...addresses(model.port, limiter.grpc),
    ...substitutions,
  ]);
  return { model, limiter, envoy };
}

/** Resolves once there were so many calls. */
const called = (limiter: RecordingLimiter, count: number) => until(() => limiter.calls.length === count);

t.test('each request makes two calls, which name the same holder', { skip: envoyMissing }, async t => {
  const { model, limiter, envoy } = await start(t);
  const cases: readonly [ModelCall, status: number, estimate: number, used: number][] = [
    [{ max_tokens: 500, used: 700 }, 200, 500, 700],
    [{ max_tokens: 500, used: 0 }, 200, 500, 0],
    [{ used: 30 }, 200, 1_000, 30],
    [{ max_tokens: '77', used: 30 }, 200, 77, 30],
    [{ max_tokens: 'many', used: 30 }, 200, 1_000, 30],
    [{ max_tokens: 500, used: 1.9 }, 200, 500, 1],
    [{ max_tokens: 500, used: 123, stream: true }, 200, 500, 123],
    [{ max_tokens: 500, used: 1e9 }, 200, 500, 1e9],
    // A failure has used nothing.
    [{ max_tokens: 500, used: 70, end: 'fails' }, 500, 500, 0],
    [{ max_tokens: 500, used: 70, end: 'dies_early' }, 503, 500, 0],
    // What has begun and says no usage has used its estimate.
    [{ max_tokens: 500, used: 70, stream: true, end: 'dies' }, 0, 500, 500],
  ];
  for (const [call, status, estimate, used] of cases) {
    limiter.calls.length = 0;
    t.equal((await askModel(envoy, 'ann', call)).status, status, JSON.stringify(call));
    await called(limiter, 2);
    t.same(limiter.calls.map(readable), [held(estimate), settled(used)], JSON.stringify(call));
    const holders = limiter.calls.flatMap(sent => sent.map(({ entries }) => entries['lease']));
    t.equal(new Set(holders).size, 1);
    t.equal(model.requests.at(-1)?.headers['x-lease'], holders[0], 'the model knows it as well');
  }
});

t.test('a client that disconnects in the middle ends the lease', { skip: envoyMissing }, async t => {
  const { model, limiter, envoy } = await start(t);
  for (const stream of [false, true]) {
    limiter.calls.length = 0;
    const client = new AbortController();
    const asked = askModel(envoy, 'ann', { max_tokens: 500, stream, end: 'hangs', signal: client.signal });
    await until(() => model.running === 1);
    client.abort();
    t.equal((await asked).status, 0);
    await called(limiter, 2);
    t.same(limiter.calls.map(readable), [held(500), settled(500)]);
    await until(() => model.running === 0);
  }
});

t.test(
  'one that disconnects before the first call is answered does not, so its lease lasts until it ends',
  { skip: envoyMissing },
  async t => {
    const { limiter, envoy } = await start(t, () => (limiter.calls.length === 1 ? undefined : OK));
    const client = new AbortController();
    const asked = askModel(envoy, 'ann', { max_tokens: 500, signal: client.signal });
    await called(limiter, 1);
    client.abort();
    t.equal((await asked).status, 0);
    await until(async () => (await envoy.statistic('http.front.downstream_rq_active')) === 0);
    await askModel(envoy, 'ann', { max_tokens: 600, used: 6 });
    await called(limiter, 3);
    t.same(limiter.calls.map(readable), [held(500), held(600), settled(6)]);
  },
);

t.test(
  'a rejected request makes the second call as well, without tokens',
  { skip: envoyMissing },
  async t => {
    const { limiter, envoy } = await start(t, () => OVER_LIMIT);
    t.equal((await askModel(envoy, 'ann', { max_tokens: 500, used: 70 })).status, 429);
    await called(limiter, 2);
    t.same(limiter.calls.map(readable), [held(500), released]);
  },
);

t.test('costs beyond 10^9 are left out', { skip: envoyMissing }, async t => {
  const { model, limiter, envoy } = await start(t);
  t.equal((await askModel(envoy, 'ann', { max_tokens: 500, used: 1e9 + 1 })).status, 200);
  await called(limiter, 2);
  t.same(limiter.calls.map(readable), [held(500), released]);
  const came = model.requests.length;
  for (const max_tokens of [-1, 0, 0.5, 100_001, 1e9 + 1, '-5']) {
    const { status, text } = await askModel(envoy, 'ann', { max_tokens, used: 70 });
    t.match([status, text], [400, 'max_tokens must be a number from 1 to 100000'], String(max_tokens));
  }
  t.equal(model.requests.length, came, 'the filter before rejects such estimates');
  t.equal(limiter.calls.length, 2, 'and what it rejects makes no call');
});

t.test('without that filter, such estimates would hold nothing', { skip: envoyMissing }, async t => {
  const { limiter, envoy } = await start(t, () => OK, [['estimate < 1 or estimate > 100000', 'false']]);
  for (const max_tokens of [-1, 1e9 + 1]) {
    limiter.calls.length = 0;
    t.equal((await askModel(envoy, 'ann', { max_tokens, used: 70 })).status, 200);
    await called(limiter, 2);
    t.same(limiter.calls.map(readable), [{ running: 'hits of the request' }, settled(70)]);
  }
});

t.test(
  'an estimate can come from a header, which must not be missing either',
  { skip: envoyMissing },
  async t => {
    const { limiter, envoy } = await start(t, () => OK, [
      ['%DYNAMIC_METADATA(budget:estimate)%', '%REQ(x-estimate)%'],
    ]);
    await askModel(envoy, 'ann', { used: 70 }, { 'x-estimate': '44' });
    await called(limiter, 2);
    t.same(limiter.calls.map(readable), [held(44), settled(70)]);
    await askModel(envoy, 'ann', { used: 70 });
    await called(limiter, 4);
    t.same(limiter.calls.slice(2).map(readable), [{ running: 'hits of the request' }, settled(70)]);
  },
);

t.test(
  'a body that does not fit into the buffer of the connection is rejected',
  { skip: envoyMissing },
  async t => {
    const { limiter, envoy } = await start(t);
    const words = ['x'.repeat(2 * 1024 * 1024)];
    t.equal((await askModel(envoy, 'ann', { max_tokens: 500, words })).status, 413);
    t.same(limiter.calls, []);
  },
);

/** Entries of Envoy's own id of the request in place of those of the file. */
const BY_REQUEST_ID = ['header_name: x-lease', 'header_name: x-request-id'] as const;
const AT_THE_EDGE = [
  '                stat_prefix: front\n',
  '                stat_prefix: front\n                use_remote_address: true\n',
] as const;
const LOOPBACK_IS_INTERNAL = [
  'use_remote_address: true\n',
  `use_remote_address: true
                internal_address_config: { cidr_ranges: [{ address_prefix: 127.0.0.0, prefix_len: 8 }] }
`,
] as const;

t.test(
  'clients can choose x-request-id unless Envoy knows that they are external',
  { skip: envoyMissing },
  async t => {
    const forged = { 'x-lease': 'forged', 'x-request-id': 'forged' };
    const holdersWith = async (...substitutions: Substitutions): Promise<Set<string>> => {
      const { limiter, envoy } = await start(t, () => OK, substitutions);
      await askModel(envoy, 'ann', { used: 1 }, forged);
      await called(limiter, 2);
      return new Set(limiter.calls.flat().map(({ entries }) => entries['lease']));
    };
    t.notOk((await holdersWith()).has('forged'), 'the holder of the file');
    t.same([...(await holdersWith(BY_REQUEST_ID))], ['forged']);
    t.notOk((await holdersWith(BY_REQUEST_ID, AT_THE_EDGE)).has('forged'));
    t.same([...(await holdersWith(BY_REQUEST_ID, AT_THE_EDGE, LOOPBACK_IS_INTERNAL))], ['forged']);
  },
);
