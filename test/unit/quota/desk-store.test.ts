import t from 'tap';
import { FailingStore } from '../../support/failing-store.ts';
import { GatedStore } from '../../support/gated-store.ts';
import { DeskScene } from '../../support/quota/desk-scene.ts';
import { bucketId, usageReports } from '../../support/quota/model-proxy.ts';
import { embeddedStore } from '../../support/stores.ts';
import { until } from '../../support/until.ts';

const RULES = `{ domain: api, descriptors: [{ key: user, rate_limit: { unit: minute, requests_per_unit: 6000 } }] }`;

/** A message that reports one request for each of some users. */
function usersReport(users: number): Uint8Array {
  const usages = Array.from({ length: users }, (_, i) => ({
    id: bucketId([['user', String(i)]]),
    allowed: 1,
    denied: 0,
  }));
  return usageReports('api', usages);
}

/** Lets the next batch through when it comes. Returns its number of ops. */
async function passNext(store: GatedStore): Promise<number> {
  await until(() => store.waiting.length > 0);
  const batch = store.waiting.shift()!;
  batch.pass();
  return batch.ops;
}

/** A round in which the store takes too long: it is paid for, and that is given back. Returns the ops of the payment. */
async function lateRound(scene: DeskScene, store: GatedStore): Promise<number> {
  await until(() => store.waiting.length > 0);
  scene.decisions.clock.advance(600);
  const ops = await passNext(store);
  await passNext(store);
  return ops;
}

t.test(
  'while the store fails, nothing is granted that is not paid, and grants that proxies have end',
  async t => {
    const store = new FailingStore(embeddedStore());
    const scene = new DeskScene({ rules: RULES, store });
    const proxy = scene.open();
    await proxy.reports('user=ann', 10);
    const [{ ttlS }] = await proxy.reports('user=ann', 10);
    store.failure = 'no store';
    // What was paid before and is not needed can still be granted.
    for (let second = 0; second < 5; second++) {
      await scene.pass(1_000);
      await proxy.reports('user=ann', 10);
    }
    for (let second = 0; second < ttlS + 2; second++) {
      await scene.pass(1_000);
      t.same(await proxy.reports('user=ann', 10), []);
    }
    t.ok(scene.decisions.counter('ratelimit.quota.store_errors') >= ttlS + 2);
    t.same(scene.decisions.logger.lines, [], 'the store logs that itself');
    store.failure = null;
    t.match(await proxy.reports('user=ann', 10), [{ kind: 'token_bucket' }]);
    t.ok((await scene.counted('user=ann')) >= 10 * (ttlS + 5), 'what was reported meanwhile is counted');
  },
);

t.test('keys that the store cannot count are denied', async t => {
  const store = new FailingStore(embeddedStore());
  const scene = new DeskScene({ rules: RULES, store });
  const proxy = scene.open();
  store.uncountable.add('api_user_ann_1699999980');
  t.match(await proxy.reports('user=ann', 10), [{ kind: 'deny_all' }]);
  t.match(await proxy.reports('user=bob', 10), [{ kind: 'token_bucket' }]);
  store.uncountable.clear();
  await scene.pass(1_000);
  t.match(await proxy.reports('user=ann', 10), [{ kind: 'token_bucket' }]);
});

t.test('a round whose store has taken too long grants nothing, and gives back what it has paid', async t => {
  const store = new GatedStore();
  const scene = new DeskScene({ rules: RULES, store });
  const proxy = scene.open();
  const reported = proxy.reports('user=ann', 0);
  await lateRound(scene, store);
  t.same(await reported, []);
  t.equal(scene.decisions.counter('ratelimit.quota.late'), 1);
  const counted = scene.counted('user=ann');
  await passNext(store);
  t.equal(await counted, 0);
  const again = proxy.reports('user=ann', 0);
  await passNext(store);
  t.match(await again, [{ kind: 'token_bucket' }]);
});

t.test('a proxy whose round was late is answered in the next tick, without another report', async t => {
  const store = new GatedStore();
  const scene = new DeskScene({ rules: RULES, store });
  const proxy = scene.open();
  const reported = proxy.reports('user=ann', 0);
  await lateRound(scene, store);
  t.same(await reported, []);
  scene.decisions.clock.advance(250);
  await passNext(store);
  await scene.desk.idle();
  t.match(proxy.sent(), [{ kind: 'token_bucket' }]);
});

t.test(
  'after a round that has taken too long, rounds have fewer buckets until they are in time again',
  async t => {
    const store = new GatedStore();
    const scene = new DeskScene({ rules: RULES, store });
    scene.open().send(usersReport(1_000));
    const sizes: number[] = [];
    for (let round = 0; round < 5; round++)
      sizes.push(await (round < 2 ? lateRound(scene, store) : passNext(store)));
    // A payment of each bucket, and two sums of the demand board.
    t.same(
      sizes,
      [250, 125, 63, 126, 250].map(buckets => 3 * buckets),
    );
  },
);

t.test('a round has fewer buckets if many proxies wait for each', async t => {
  const store = new GatedStore();
  const scene = new DeskScene({ rules: RULES, store });
  for (let proxy = 0; proxy < 1_000; proxy++) scene.open().send(usersReport(5));
  t.equal(
    await passNext(store),
    3 * 3,
    'a payment of each of three buckets, and two sums of the demand board',
  );
});

t.test('reports that arrive while the store is asked are looked at together afterwards', async t => {
  const store = new GatedStore();
  const scene = new DeskScene({ rules: RULES, store });
  const proxies = [scene.open(), scene.open(), scene.open()];
  const first = proxies[0].reports('user=ann', 100);
  await until(() => store.waiting.length > 0);
  const others = proxies.slice(1).map(proxy => proxy.reports('user=ann', 200));
  t.equal(store.waiting.length, 1);
  store.waiting.shift()!.pass();
  await until(() => store.waiting.length > 0);
  t.equal(store.waiting.length, 1);
  store.waiting.shift()!.pass();
  for (const each of [first, ...others]) t.match(await each, [{ kind: 'token_bucket' }]);
});

t.test(
  'a stream that closes while the store is asked is sent nothing, and what was paid for it is given back',
  async t => {
    const store = new GatedStore();
    const scene = new DeskScene({ rules: RULES, store });
    const [proxy, other] = [scene.open(), scene.open()];
    const reported = Promise.all([proxy.reports('user=ann', 0), other.reports('user=ann', 0)]);
    await until(() => store.waiting.length > 0);
    proxy.close();
    other.close();
    store.waiting.shift()!.pass();
    await passNext(store);
    t.same(await reported, [[], []]);
    const counted = scene.counted('user=ann');
    await passNext(store);
    t.equal(await counted, 0);
    t.equal(scene.desk.bucketCount, 0);
  },
);

t.test('rules that are replaced during a round are in use until it ends, and not longer', async t => {
  const store = new GatedStore();
  const scene = new DeskScene({ rules: RULES, store });
  const first = scene.generation!;
  const proxy = scene.open();
  const reported = proxy.reports('user=ann', 0);
  await until(() => store.waiting.length > 0);
  scene.load(RULES);
  t.notOk(first.isIdle);
  store.waiting.shift()!.fail();
  await reported;
  t.ok(first.isIdle);
  t.ok(scene.generation!.isIdle);
});

t.test('a round that fails because of a bug is logged, and others follow', async t => {
  const scene = new DeskScene({ rules: RULES });
  const proxy = scene.open();
  const generation = scene.generation!;
  Object.defineProperty(generation.rules, 'bucketOrders', {
    value: () => {
      throw new Error('broken');
    },
    configurable: true,
  });
  t.same(await proxy.reports('user=ann', 1), []);
  t.match(scene.decisions.logger.messages('error'), [
    'Could not grant quotas (this is a bug; please report it)',
  ]);
  t.ok(generation.isIdle);
  Object.defineProperty(generation.rules, 'bucketOrders', { value: () => [] });
  t.match(await proxy.reports('user=ann', 1), [{ kind: 'token_bucket' }]);
});
