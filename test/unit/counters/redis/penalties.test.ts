import t, { type Test } from 'tap';
import { REFUSED } from '../../../../src/counters/admission/admission.ts';
import type { CounterStore } from '../../../../src/counters/store.ts';
import { atMs, fixedWindow, slidingWindow, tokenBucket } from '../../../support/admission.ts';
import { aftersOf, batchOf, type CountingTime, NOON, type TestOp } from '../../../support/counting.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { redisStore, type TestEndpoint } from '../../../support/stores.ts';

const redis = await startRedis();
const cluster = await startCluster();
t.teardown(() => Promise.all([redis.stop(), cluster.stop()]));

const SERVER: TestEndpoint = { socketType: 'tcp', url: redis.address, auth: '' };
const CLUSTER: TestEndpoint = { socketType: 'tcp', url: cluster.address, auth: '', type: 'cluster' };

/** 20 s after two violated windows. Everything is forgotten after 100 s. */
const PENALTY = { after: 2, forS: 20, factor: 2, maxS: 100, windowS: 10 };
const FIXED: TestOp = { key: 'f', hits: 3, terms: fixedWindow(2, 10, PENALTY) };
const WINDOW: TestOp = { key: 'w', hits: 3, terms: { ...slidingWindow(2, 10), penalty: PENALTY } };
const BUCKET: TestOp = { key: 'b', hits: 3, terms: { ...tokenBucket(2, 10), penalty: PENALTY } };
const ALL = [FIXED, WINDOW, BUCKET];

/** A time in a window of ten seconds. */
function timeAt(ms: number): CountingTime {
  const time = atMs(ms);
  return { ...time, ttlS: 10, expiryS: time.nowS - (time.nowS % 10) + 10 };
}

async function open(t: Test, endpoint: TestEndpoint): Promise<CounterStore> {
  const store = redisStore(endpoint);
  t.teardown(() => store.stop());
  await store.start();
  return store;
}

async function refusals(store: CounterStore, ops: readonly TestOp[], ms: number): Promise<number[]> {
  const batch = batchOf([{ ops }], timeAt(ms));
  await store.increment(batch);
  return Array.from(batch.opRefused.subarray(0, ops.length));
}

for (const [name, endpoint] of Object.entries({ 'one server': SERVER, 'a cluster': CLUSTER })) {
  t.test(name, async t => {
    const command = async (words: string, key: string, ...args: string[]) => {
      const server = endpoint === CLUSTER ? cluster.nodes[await cluster.owner(key)] : redis;
      return server.command(words, key, ...args);
    };
    t.beforeEach(() => Promise.all([redis, ...cluster.nodes].map(server => server.command('FLUSHALL'))));

    t.test('the penalty follows the state of the counter in its key', async t => {
      const store = await open(t, endpoint);
      const noon = NOON.nowS;
      await refusals(
        store,
        ALL.map(op => ({ ...op, hits: 1 })),
        1_000,
      );
      t.equal(await command('GET', 'f'), `${noon + 10} 1;0 0 0 0`);
      await refusals(store, ALL, 1_500);
      t.equal(await command('GET', 'f'), `${noon + 10} 1;1 0 ${noon + 10} 0`);
      t.equal(await command('GET', 'w'), `${noon} 0 1;1 0 ${noon + 12} 0`);
      t.equal(await command('GET', 'b'), `${noon * 1_000 + 6_000};1 0 ${noon + 12} 0`);
      await refusals(store, ALL, 12_000);
      t.equal(await command('GET', 'f'), `${noon + 20} 0;0 1 ${noon + 20} ${noon + 32}`);
      t.match(await command('GET', 'w'), new RegExp(` 1 0;0 1 ${noon + 22} ${noon + 32}$`));
    });

    t.test('a key lives until its penalties are forgotten, and a minute longer', async t => {
      const store = await open(t, endpoint);
      await refusals(store, ALL, 0);
      // The window or the period ends after ten seconds.
      for (const { key } of ALL) {
        const left = Number(await command('TTL', key));
        t.ok(left >= 165 && left <= 170, `${key}: ${left} s`);
      }
      await refusals(store, ALL, 10_000);
      for (const { key } of ALL) {
        const left = Number(await command('TTL', key));
        t.ok(left >= 175 && left <= 180, `${key}: ${left} s`);
      }
    });

    t.test('a value of another program fails alone, and stays', async t => {
      const store = await open(t, endpoint);
      for (const text of ['5', `${NOON.nowS + 10} 1;1 0`, `${NOON.nowS + 10} x;0 0 0 0`, ';1 1 1 1']) {
        await command('SET', 'f', text);
        const batch = batchOf([{ ops: [FIXED, { ...WINDOW, hits: 1 }] }], timeAt(0));
        for (const call of ['increment', 'incrementHoldingBack', 'read'] as const) {
          await store[call]!(batch);
          const [own, other] = call === 'read' ? batch.counts : aftersOf(batch);
          t.ok(Number.isNaN(own) && !Number.isNaN(other), `${call}: ${text}`);
          t.match(batch.failureText, /value is not the state of a limit with a penalty/);
        }
        t.equal(await command('GET', 'f'), text);
      }
    });

    t.test('processes share penalties, also if the clock of one is behind', async t => {
      const [ahead, behind] = [await open(t, endpoint), await open(t, endpoint)];
      await refusals(ahead, [FIXED], 9_900);
      t.same(await refusals(ahead, [{ ...FIXED, hits: 2 }, FIXED], 10_100), [REFUSED.no, REFUSED.penalized]);
      t.same(await refusals(behind, [{ ...FIXED, hits: 1 }], 9_800), [REFUSED.penalized]);
      t.same(await refusals(behind, [{ ...FIXED, hits: 1 }], 30_999), [REFUSED.penalized], 'until 31 s');
      t.same(await refusals(behind, [{ ...FIXED, hits: 1 }], 31_000), [REFUSED.no]);
    });
  });
}
