import t from 'tap';
import { createStoreSpans } from '../../../../src/app/tracing/store-spans.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { tracedDecider } from '../../../../src/transports/tracing.ts';
import { KeptSpans } from '../../../support/kept-spans.ts';

/** The span of a call for three keys, one of which has a limit per second, of the store of these settings. */
function spanOf(env: Readonly<Record<string, string>>) {
  const tracing = new KeptSpans();
  const spans = createStoreSpans(loadSettings(env));
  const decider = tracedDecider(
    {
      decide: (_request, _format, reply) =>
        spans.called([reply], { beganMs: 1, durationMs: 1, keys: 3, keysPerSecond: 1, failure: null }),
    },
    tracing,
  );
  const reply = { gone: false, answered: () => {}, refused: () => {} };
  tracing.current.during(
    tracing.begin('call', {}, () => ''),
    () => decider.decide(new Uint8Array(), 'json', reply),
  );
  const [{ name, kind, attributes }] = tracing.begun[0].children[0].children;
  return { name, kind, attributes };
}

const BATCH = { 'sluice.batch.requests': 1, 'db.operation.batch.size': 3 };
const REDIS = { 'db.system.name': 'redis', 'db.operation.name': 'PIPELINE' };
const MEMCACHED = { 'db.system.name': 'memcached', 'db.operation.name': 'get', 'keysToGet length': 3 };

t.test('Redis has the name of the reference implementation, and the address of a single server', async t => {
  const lengths = { 'pipeline length': 2, 'perSecondPipeline length': 1 };
  const redis = (attributes: object) => ({
    name: 'Redis Pipeline Execution',
    kind: 'client',
    attributes: { ...BATCH, ...REDIS, ...lengths, ...attributes },
  });
  const tcp = { 'server.address': 'redis.example.com', 'server.port': 6_380, 'db.namespace': '2' };
  t.same(
    spanOf({
      BACKEND_TYPE: 'redis',
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: 'redis://user:hunter2@redis.example.com:6380/2',
    }),
    redis(tcp),
  );
  t.same(
    spanOf({ BACKEND_TYPE: 'redis', REDIS_SOCKET_TYPE: 'unix', REDIS_URL: '/run/redis.sock' }),
    redis({ 'server.address': '/run/redis.sock', 'db.namespace': '0' }),
  );
  t.same(
    spanOf({ BACKEND_TYPE: 'redis', REDIS_TYPE: 'CLUSTER', REDIS_URL: 'a:1,b:2' }),
    redis({}),
    'any node may be asked',
  );
});

t.test('memcached and the embedded store', async t => {
  const memcached = { BACKEND_TYPE: 'memcache', MEMCACHE_HOST_PORT: 'cache:11211' };
  const attributes = { ...BATCH, ...MEMCACHED };
  t.same(spanOf(memcached), {
    name: 'Memcached Fetch Execution',
    kind: 'client',
    attributes: { ...attributes, 'server.address': 'cache', 'server.port': 11_211 },
  });
  t.same(spanOf({ ...memcached, MEMCACHE_HOST_PORT: 'a:1,b:2' }).attributes, attributes);
  t.same(spanOf({ BACKEND_TYPE: 'memory' }), {
    name: 'Embedded Store Execution',
    kind: 'internal',
    attributes: BATCH,
  });
});
