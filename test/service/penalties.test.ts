import t, { type Test } from 'tap';
import { askOverGrpc, askOverHttp, getPage, grpcTo } from '../support/asking.ts';
import { ADMIN_TOKEN, callOperator } from '../support/operator-service.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';
import { run } from '../unit/cli/run.ts';

/** Penalties that outlast the test, and limits whose windows do. */
const RULES = `
domain: shop
answers: {retry_after: true}
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 2, penalty: {for: 7d}}
  - key: tenant
    rate_limit: {window: 5m, requests_per_unit: 2, algorithm: token_bucket, penalty: {for: 7d}}
`;
const CACHE = { LOCAL_CACHE_SIZE_IN_BYTES: '1000000' };
const WEEK_S = 604_800;

/** Starts services with one directory for rules and counters. */
function place(t: Test) {
  const root = writeRules(tempDirectory(t), { 'config/shop.yaml': RULES });
  return async (env: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> => {
    return await serviceFor(t, { env: { RUNTIME_ROOT: root, ADMIN_TOKEN, ...env } });
  };
}

function asked(entry: string, hitsAddend = 1) {
  const [key, value] = entry.split('=');
  return { domain: 'shop', hitsAddend, descriptors: [{ entries: [{ key, value }] }] };
}

/** The whole seconds until the limit of the descriptor resets, and the status of the answer. */
async function ask(service: ServiceProcess, entry: string, hits = 1) {
  const { status, body } = await askOverHttp(service.http, asked(entry, hits));
  const text = String(body.statuses?.[0]?.['durationUntilReset']);
  return { status, resetS: Math.ceil(Number(text.slice(0, -1))) };
}

async function counter(service: ServiceProcess, entry: string, method = 'GET') {
  const path = `/counters?domain=shop&descriptor=${encodeURIComponent(entry)}`;
  return (await callOperator(service, method, path)).json.counters[0];
}

async function keysArePenalized(
  t: Test,
  service: ServiceProcess,
  entries = ['user=ann', 'tenant=t1'],
): Promise<void> {
  for (const entry of entries) {
    t.match(await ask(service, entry, 2), { status: 200 });
    const { status, resetS } = await ask(service, entry);
    t.equal(status, 429);
    // The hits of a year fit again when it ends, which may be after the penalty.
    const ends = entry.startsWith('user=') || resetS <= WEEK_S + 1;
    t.ok(resetS > WEEK_S - 5 && ends, `${resetS} s`);
    t.match(await ask(service, entry), { status: 429 });
  }
}

t.test('with the embedded store, in several threads and after a restart in one', async t => {
  const start = place(t);
  const env = { MEMORY_STORE_SNAPSHOT_PATH: `${tempDirectory(t)}/counters`, ...CACHE };
  const first = await start({ ...env, SERVE_THREADS: '2' });
  await t.test('keys are penalized over /json', t => keysArePenalized(t, first));
  await t.test('operators see violations and penalties', t => operatorsSee(t, first));
  t.match(await first.terminate(), { status: 0 });
  const second = await start(env);
  await t.test('penalties are kept over a restart by the snapshot of the embedded store', async t => {
    for (const entry of ['user=ann', 'tenant=t1']) {
      t.match(await ask(second, entry), { status: 429 });
      t.match(await counter(second, entry), { penalties: 1, penalized_until: /^20/ });
    }
  });
  await t.test('keys are penalized over gRPC, with the end in the answer', t => penalizedOverGrpc(t, second));
  await t.test('a reset of an operator removes the penalty of a key', async t => {
    await keysArePenalized(t, second, ['user=bob', 'tenant=t2']);
    await counter(second, 'user=bob', 'DELETE');
    t.match(await ask(second, 'user=bob'), { status: 200 });
    t.match(await counter(second, 'user=bob'), {
      count: 1,
      violations: 0,
      penalties: 0,
      penalized_until: null,
    });
    t.match(await ask(second, 'tenant=t2'), { status: 429 }, 'other keys stay penalized');
  });
});

async function penalizedOverGrpc(t: Test, service: ServiceProcess): Promise<void> {
  const client = grpcTo(t, service.grpc);
  const entries = [{ key: 'user', value: 'ann' }];
  const request = {
    domain: 'shop',
    descriptors: [{ entries, limit: null, hitsAddend: null }],
    hitsAddend: 1,
  };
  const response = await askOverGrpc(client, request);
  const [{ code, limitRemaining, durationUntilReset }] = response.statuses;
  t.match([code, limitRemaining], [2, 0]);
  t.ok(durationUntilReset! > WEEK_S - 60, 'until the end of the penalty');
  const retryAfter = response.responseHeadersToAdd.find(({ key }) => key === 'Retry-After');
  t.ok(Number(retryAfter?.value) > WEEK_S - 60);
}

async function operatorsSee(t: Test, service: ServiceProcess): Promise<void> {
  for (const entry of ['user=ann', 'tenant=t1']) {
    const { penalized_until: until, ...rest } = await counter(service, entry);
    t.match(rest, { count: 2, remaining: 0, over: true, violations: 0, penalties: 1 });
    t.ok(Math.abs(Date.parse(String(until)) - Date.now() - WEEK_S * 1_000) < 60_000);
  }
  const { refusals } = (await (await fetch(`http://${service.debug}/api/v1/refusals`)).json()) as {
    refusals: { penalized: boolean }[];
  };
  t.ok(refusals.length > 0 && refusals.every(({ penalized }) => penalized), 'the last rejections name it');
  const flags = ['--domain', 'shop', '--descriptors', 'user=ann', '--debug-address', service.debug];
  t.match(
    (await run('counters', 'get', ...flags)).stdout,
    /\nshop\.user: penalized until 20.*Z, .* penalties: 1\n/,
  );
  t.match(
    (await getPage(service.debug, '/rlconfig')).text,
    /shop\.user: window=365d .*, penalty: \{after: 1, for: 7d, factor: 1, max: 7d\}\n/,
  );
}

t.test('two processes share penalties through Redis, over restarts, and a reset reaches both', async t => {
  const redis = await redisFor(t);
  const start = place(t);
  const env = { KVCACHE_URL: redis.address, ...CACHE };
  const [first, second] = [await start(env), await start(env)];
  await keysArePenalized(t, first);
  for (const entry of ['user=ann', 'tenant=t1']) t.match(await ask(second, entry), { status: 429 });
  await first.terminate();
  const third = await start(env);
  t.match(await ask(third, 'user=ann'), { status: 429 });
  const resetMs = Date.now();
  await counter(third, 'user=ann', 'DELETE');
  await until(async () => (await ask(second, 'user=ann', 0)).status === 200);
  t.ok(Date.now() - resetMs < 1_000, 'within a second, though the other process had it in its local cache');
  t.match(await ask(second, 'tenant=t1'), { status: 429 });
});

t.test('while Redis is unavailable, STORE_FAILURE_MODE=local keeps penalties in the process', async t => {
  const redis = await redisFor(t);
  const service = await place(t)({ KVCACHE_URL: redis.address, STORE_FAILURE_MODE: 'local' });
  t.match(await ask(service, 'user=ann', 2), { status: 200 });
  await redis.stop();
  t.match(await ask(service, 'user=ann', 2), { status: 200 }, 'it starts at 0');
  const { status, resetS } = await ask(service, 'user=ann');
  t.ok(status === 429 && resetS > WEEK_S - 60);
});
