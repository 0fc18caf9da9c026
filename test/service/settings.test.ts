import { once } from 'node:events';
import { connect } from 'node:http2';
import t from 'tap';
import { HttpPeer } from '../exam/http-server/peer.ts';
import { askOverHttp, dialled, grpcTo } from '../support/asking.ts';
import { callOverHttp2, openHttp2 } from '../support/grpc-client.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { serviceFor } from '../support/service.ts';
import { type Teardown, tempDirectory } from '../support/temp-directory.ts';

// One test for each setting that no other service test sets: the variable does what it says in the whole program.

const RULES = `
domain: d
descriptors:
  - key: a
    rate_limit: {unit: day, requests_per_unit: 1}
  - key: b
    rate_limit: {unit: day, requests_per_unit: 100}
    metadata: {team: edge}
`;

const entry = (key: string, value = 'x') => ({ entries: [{ key, value }] });
const asking = (...keys: string[]) => ({ domain: 'd', descriptors: keys.map(key => entry(key)) });

const FILES = { 'config/rules.yaml': RULES, 'config/.more.yaml': RULES.replace('domain: d', 'domain: e') };

function rooted(t: Teardown, files: Readonly<Record<string, string>> = { 'config/rules.yaml': RULES }) {
  return { RUNTIME_ROOT: writeRules(tempDirectory(t), files), RUNTIME_WATCH_ROOT: 'false' };
}

/** Settings that do not get in the way of each other. */
const many = await serviceFor(t, {
  env: {
    ...rooted(t, FILES),
    RUNTIME_IGNOREDOTFILES: 'true',
    QUOTA_MODE: 'true',
    RESPONSE_DYNAMIC_METADATA: 'true',
    LIMIT_RESPONSE_HEADERS_ENABLED: 'true',
    LIMIT_LIMIT_HEADER: 'x-limit',
    LIMIT_REMAINING_HEADER: 'x-left',
    LIMIT_RESET_HEADER: 'x-reset',
    GRPC_MAX_METADATA_BYTES: '9000',
    GRPC_MAX_CONNECTION_AGE: '300ms',
    GRPC_MAX_CONNECTION_AGE_GRACE: '300ms',
  },
});
/** The defaults of these settings. */
const none = await serviceFor(t, { env: { ...rooted(t, FILES), RUNTIME_IGNOREDOTFILES: 'false' } });

t.test('RUNTIME_IGNOREDOTFILES leaves out files whose name begins with a dot', async t => {
  for (const [service, status] of [
    [many, 'nothing to limit'],
    [none, 'limited'],
  ] as const) {
    const { body } = await askOverHttp(service.http, { ...asking('a'), domain: 'e' });
    const limited = body.statuses?.[0]?.['currentLimit'] !== undefined;
    t.equal(limited ? 'limited' : 'nothing to limit', status);
  }
});

t.test('QUOTA_MODE refuses only when every descriptor is over its limit', async t => {
  await askOverHttp(many.http, asking('a'));
  t.match(await askOverHttp(many.http, asking('a', 'b')), { status: 200 });
  t.match(await askOverHttp(many.http, asking('a')), { status: 429 });
});

t.test('RESPONSE_DYNAMIC_METADATA fills the metadata of responses', async t => {
  const { body } = await askOverHttp(many.http, asking('b'));
  t.match(JSON.stringify(body['dynamicMetadata']), /"domain":"d"/);
  t.match(JSON.stringify(body['dynamicMetadata']), /"team":"edge"/);
});

t.test('LIMIT_RESPONSE_HEADERS_ENABLED adds three headers, named by their settings', async t => {
  const { body } = await askOverHttp(many.http, { domain: 'd', descriptors: [entry('b', 'headers')] });
  t.match(body['responseHeadersToAdd'], [
    { key: 'x-limit', value: /^100/ },
    { key: 'x-left', value: '99' },
    { key: 'x-reset', value: /^[1-9]\d*$/ },
  ]);
});

t.test('EXPIRATION_JITTER_MAX_SECONDS is what a counter lives longer than its window, at most', async t => {
  const redis = await redisFor(t);
  const DAY_S = 86_400;
  for (const [jitter, least, most] of [
    ['0', DAY_S - 60, DAY_S],
    ['1000000', DAY_S + 1, DAY_S + 1_000_000],
  ] as const) {
    const env = {
      ...rooted(t),
      KVCACHE_URL: `127.0.0.1:${redis.port}`,
      EXPIRATION_JITTER_MAX_SECONDS: jitter,
    };
    const service = await serviceFor(t, { env: { ...env, CACHE_KEY_PREFIX: `${jitter}:` } });
    await askOverHttp(service.http, asking('b'));
    const [key] = (await redis.command('KEYS', `${jitter}:*_*`)) as string[];
    const ttlS = Number(await redis.command('TTL', key));
    t.ok(ttlS >= least && ttlS <= most, `${ttlS} s with a jitter below ${jitter} s`);
    await service.terminate();
  }
});

t.test('MAX_QUEUED_DECISIONS limits waiting requests; the next is rejected and may be retried', async t => {
  const redis = await redisFor(t);
  const env = { ...rooted(t), KVCACHE_URL: `127.0.0.1:${redis.port}`, MAX_QUEUED_DECISIONS: '1' };
  const service = await serviceFor(t, { env });
  const before = await askOverHttp(service.http, asking('b'));
  t.match(before, { status: 200 });
  redis.freeze();
  const asked = [askOverHttp(service.http, asking('b')), askOverHttp(service.http, asking('b'))];
  const refused = await Promise.race(asked);
  t.match(refused, { status: 503, body: { error: { code: 'overloaded' } } });
  redis.thaw();
  const statuses = (await Promise.all(asked)).map(answer => answer.status);
  t.same(statuses.sort(), [200, 503]);
});

t.test('HTTP_MAX_CONNECTIONS and HTTP_MAX_HELD_BYTES bound what callers take of the HTTP port', async t => {
  const bounds = { HTTP_MAX_CONNECTIONS: '3', HTTP_MAX_HELD_BYTES: '8388608' };
  const service = await serviceFor(t, { env: { ...rooted(t), ...bounds } });
  const port = Number(service.http.slice(service.http.lastIndexOf(':') + 1));
  const open = async (): Promise<HttpPeer> => {
    const peer = await HttpPeer.open(port);
    t.teardown(() => peer.destroy());
    return peer;
  };
  const peers = [await open(), await open(), await open()];
  // The last byte of each body is missing.
  const head = 'POST /json HTTP/1.1\r\nHost: exam\r\nContent-Length: 4194304\r\n\r\n';
  for (const peer of peers) await peer.write([head, ' '.repeat(4_194_303)]);
  await peers[0].until(() => peers[0].closed, 10_000);
  t.match(peers[0].answers, [{ status: 503, body: /too many request bodies are incomplete/ }]);
  // One more has room.
  await open();
  const refused = await open();
  await refused.until(() => refused.closed, 10_000);
  t.match(refused.answers, [{ status: 503, body: /too many connections/ }]);
});

t.test('GRPC_MAX_METADATA_BYTES bounds the metadata of a call, which is 128 KiB by default', async t => {
  for (const [service, advertised, bytes, status] of [
    [none, 131_072, 60_000, 200],
    [many, 9_000, 8_000, 200],
    [many, 9_000, 9_000, 431],
  ] as const) {
    const session = openHttp2(dialled(service.grpc));
    t.teardown(() => session.destroy());
    const headers = { 'x-long': 'x'.repeat(bytes) };
    const answer = await callOverHttp2(session, '/grpc.health.v1.Health/Check', headers);
    t.equal(answer[':status'], status, `${bytes} bytes of ${advertised}`);
    t.equal(session.remoteSettings.maxHeaderListSize, advertised);
  }
});

t.test('GRPC_MAX_CONNECTION_AGE asks a connection to go, GRPC_MAX_CONNECTION_AGE_GRACE cuts it', async t => {
  const session = connect(`http://${many.grpc}`);
  session.on('error', () => {});
  const closed = once(session, 'close');
  // A watch that nobody ends keeps the connection busy.
  const watch = session.request({
    ':method': 'POST',
    ':path': '/grpc.health.v1.Health/Watch',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  watch.on('error', () => {});
  watch.end(Buffer.alloc(5));
  await once(session, 'goaway');
  t.notOk(watch.closed, 'calls under way go on');
  await closed;
  const other = grpcTo(t, many.grpc);
  t.match(await other.unary('/grpc.health.v1.Health/Check'), { status: 0 }, 'new connections are welcome');
});
