import type { Test } from 'tap';
import t from 'tap';
import { Fault } from '../../../../src/base/fault.ts';
import { REFUSED } from '../../../../src/counters/admission/admission.ts';
import { hashSlot } from '../../../../src/counters/redis/topology/slot-map.ts';
import type { CounterStore } from '../../../../src/counters/store.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { counterStoreExam } from '../../../exam/counter-store.ts';
import { aftersOf, batchOf, count, countHoldingBack, type TestOp } from '../../../support/counting.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { callsFor, concurrent } from '../../../support/leases.ts';
import { startCluster } from '../../../support/redis-cluster.ts';
import { replicated } from '../../../support/replicated.ts';
import { type RedisStoreOptions, redisStore, SINGLE_COMMANDS } from '../../../support/stores.ts';
import { until, untilCounted } from '../../../support/until.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

const cluster = await startCluster();
t.teardown(() => cluster.stop());

async function openStore(t: Test, options: RedisStoreOptions = {}, url = cluster.address) {
  await cluster.flush();
  const logger = new KeepingLogger();
  const store = redisStore({ type: 'cluster', socketType: 'tcp', url, auth: '' }, { logger, ...options });
  t.teardown(() => store.stop());
  await store.start();
  return { store, logger };
}

/** Keys of which the nodes have some each, with the number of the node. */
async function keysOfNodes(count: number): Promise<{ key: string; node: number }[]> {
  const keys = Array.from({ length: count }, (_, i) => `key-${i}`);
  return Promise.all(keys.map(async key => ({ key, node: await cluster.owner(key) })));
}

t.test('the exam of counter stores', t => {
  counterStoreExam(t, async inner => (await openStore(inner)).store, {
    ...SINGLE_COMMANDS,
    leaseBatches: 'what a refused request has taken is taken back after its batch',
  });
  t.end();
});

t.test('leases are listed, and calls are previewed, at the node that has the limit', async t => {
  const { store } = await openStore(t);
  const keys = await keysOfNodes(12);
  t.ok(new Set(keys.map(({ node }) => node)).size > 1);
  const ops = keys.map(({ key }, i) => callsFor(key, concurrent(2))(`holder ${i}`).op(1));
  await countHoldingBack(store, [{ ops }]);
  const lists = await store.leases!(batchOf([{ ops }]), 1);
  t.match(
    lists,
    keys.map((_, i) => ({ count: 1, listed: [{ holder: `holder ${i}`, hits: 1, endsMs: Number }] })),
  );
  const batch = batchOf([{ ops: keys.map(({ key }) => callsFor(key, concurrent(2))('other').op(2)) }]);
  await store.preview!(batch);
  t.same([...batch.opRefused.subarray(0, keys.length)], new Array(keys.length).fill(REFUSED.full));
  t.match(await store.leases!(batch, 5), new Array(keys.length).fill({ count: 1 }), 'nothing has changed');
});

t.test('one node of the cluster is enough to find the others', async t => {
  const stats = new StatsRegistry();
  const { store } = await openStore(t, { stats }, cluster.nodes[1].address);
  const keys = await keysOfNodes(30);
  const ops = keys.map(({ key }) => ({ key, hits: 2 }));
  t.same(
    await count(store, ops),
    ops.map(() => 2),
  );
  const sizes = await Promise.all(cluster.nodes.map(node => node.command('DBSIZE')));
  t.same(
    sizes,
    [0, 1, 2].map(node => keys.filter(each => each.node === node).length),
  );
  t.equal(new Map(stats.gauges()).get('active'), 3);
  await store.stop();
  t.equal(new Map(stats.gauges()).get('active'), 0);
});

t.test('every key has a time to live', async t => {
  const { store } = await openStore(t);
  await count(store, [{ key: 'lives', hits: 1 }]);
  t.equal(await cluster.nodes[await cluster.owner('lives')].command('TTL', 'lives'), 60);
});

t.test('a slot that moves to another node takes its counts along, and nothing is counted twice', async t => {
  const { store } = await openStore(t);
  const slot = await cluster.slot('{moving}a');
  const from = await cluster.owner('{moving}a');
  const to = (from + 1) % 3;
  const [source, target] = [cluster.nodes[from], cluster.nodes[to]];
  const both = [
    { key: '{moving}a', hits: 1 },
    { key: 'stays', hits: 1 },
  ];
  t.same(await count(store, both), [1, 1]);

  await cluster.startMoving(slot, from, to);
  t.same(await count(store, both), [2, 2], 'still at the old node');
  t.same(await count(store, [{ key: '{moving}new', hits: 5 }]), [5], 'a new key is made at the new one: ASK');
  t.equal(await target.command('CLUSTER', 'COUNTKEYSINSLOT', slot), 1);

  await source.command('MIGRATE', '127.0.0.1', target.port, '{moving}a', 0, 5_000);
  t.same(await count(store, both), [3, 3], 'at the new one already: ASK');
  t.same((await countHoldingBack(store, [{ ops: [{ key: '{moving}a', hits: 9, limit: 4 }] }])).afters, [12]);

  await cluster.finishMoving(slot, to);
  t.same(await count(store, both), [13, 4], 'only at the new one: MOVED');
  t.same(await count(store, [{ key: '{moving}new', hits: 1 }]), [6]);

  // As it was.
  await cluster.moveBack(slot, to, from);
  t.same(await untilCounted(store, both), [1, 1]);
});

t.test('refunds of a slot that moves follow it, and none is made twice', async t => {
  const { store } = await openStore(t);
  const slot = await cluster.slot('{going}a');
  const from = await cluster.owner('{going}a');
  const to = (from + 1) % 3;
  const [source, target] = [cluster.nodes[from], cluster.nodes[to]];
  const refund = (key: string, hits: number): TestOp => ({ key, hits, isRefund: true });
  const both = [refund('{going}a', 1), refund('stays', 1), { key: '{going}b', hits: 1 }];
  await count(store, [
    { key: '{going}a', hits: 20 },
    { key: 'stays', hits: 20 },
  ]);
  await cluster.startMoving(slot, from, to);
  await Promise.all(cluster.nodes.map(node => node.command('SCRIPT', 'FLUSH')));
  t.same(
    await count(store, both),
    [19, 19, 1],
    'still at the old node, whose new keys are at the new one: ASK',
  );
  t.same(await count(store, [refund('{going}none', 3)]), [0], 'absent at both');

  await source.command('MIGRATE', '127.0.0.1', target.port, '{going}a', 0, 5_000);
  await Promise.all(cluster.nodes.map(node => node.command('SCRIPT', 'FLUSH')));
  t.same(await count(store, both), [18, 18, 2], 'at the new one already: ASK');
  const hits = { key: '{going}a', hits: 5 };
  t.same(await count(store, [refund('{going}a', 30), hits]), [0, 5], 'in the order of the batch');
  t.same((await countHoldingBack(store, [{ ops: [refund('{going}a', 2)] }])).afters, [3]);

  await cluster.finishMoving(slot, to);
  t.same(await count(store, both), [2, 17, 3], 'only at the new one: MOVED');
  t.equal(await target.command('EXISTS', '{going}none'), 0);

  // As it was.
  await cluster.moveBack(slot, to, from);
  t.same(await untilCounted(store, [{ key: '{going}a', hits: 1 }]), [1]);
});

t.test('a batch takes one connection of a node, also with hits and refunds for it', async t => {
  const onEmpty = { behavior: 'error', waitMs: 0 } as const;
  const { store } = await openStore(t, { poolSize: 1, onEmpty });
  await count(store, [{ key: '{node}a', hits: 6 }]);
  const ops = [
    { key: '{node}a', hits: 4, isRefund: true },
    { key: '{node}b', hits: 3 },
  ];
  const node = cluster.nodes[await cluster.owner('{node}a')];
  await node.command('CLIENT', 'PAUSE', 50, 'ALL');
  t.same(await count(store, ops), [2, 3]);
});

t.test('a key that Redis cannot count fails alone', async t => {
  const { store } = await openStore(t);
  await cluster.nodes[await cluster.owner('list')].command('LPUSH', 'list', 'x');
  const batch = batchOf([{ ops: ['a', 'list', 'b'].map(key => ({ key, hits: 1 })) }]);
  await store.increment(batch);
  t.same(aftersOf(batch), [1, Number.NaN, 1]);
  t.match(batch.failureText, /^WRONGTYPE/);
});

t.test('a node that is killed under load fails its own keys only, until it is back', async t => {
  const { store, logger } = await openStore(t);
  const keys = await keysOfNodes(12);
  const ops = keys.map(({ key }) => ({ key, hits: 1 }));
  const seen = new Map<string, number[]>();
  let rounds = 0;
  let stopped = false;
  let failures = 0;
  const load = async () => {
    while (!stopped) {
      const batch = batchOf([{ ops }]);
      try {
        await store.increment(batch);
        for (const [i, after] of aftersOf(batch).entries()) {
          if (!Number.isNaN(after)) seen.set(keys[i].key, [...(seen.get(keys[i].key) ?? []), after]);
          else {
            failures++;
            if (keys[i].node !== 1) t.fail(`${keys[i].key} of node ${keys[i].node} was not counted`);
          }
        }
        if (batch.failureText !== '') t.match(batch.failureText, cluster.nodes[1].address);
      } catch (failure) {
        t.fail(failure instanceof Fault ? failure.message : String(failure));
      }
      rounds++;
    }
  };
  const running = Promise.all([load(), load(), load()]);
  await until(() => rounds > 30);
  await cluster.nodes[1].kill();
  await until(() => failures > 30);
  stopped = true;
  await running;
  for (const { key, node } of keys.filter(each => each.node !== 1)) {
    const counts = (seen.get(key) ?? []).sort((a, b) => a - b);
    t.same(
      counts,
      counts.map((_, i) => i + 1),
      `${key} of node ${node} was counted once each time`,
    );
  }
  await t.rejects(
    count(store, [{ key: keys.find(each => each.node === 1)?.key ?? '', hits: 1 }]),
    { code: 'store_failed' },
    'a batch with nothing but its keys fails',
  );
  await cluster.nodes[1].restart();
  await cluster.ok();
  const afters = await untilCounted(store, ops);
  t.ok(afters.every((after, i) => keys[i].node !== 1 || after >= 1));
  t.same(logger.messages('error'), ['Redis is unavailable', 'Redis is available again']);
  t.same(logger.messages('warning'), []);
});

t.test('a node that does not answer fails its own keys after the time-out', async t => {
  const { store } = await openStore(t, { timeoutMs: 3_000 });
  const keys = await keysOfNodes(12);
  const ops = keys.map(({ key }) => ({ key, hits: 1 }));
  await count(store, ops);
  cluster.nodes[2].freeze();
  const batch = batchOf([{ ops }]);
  await store.increment(batch);
  cluster.nodes[2].thaw();
  t.same(
    aftersOf(batch).map(Number.isNaN),
    keys.map(({ node }) => node === 2),
  );
  t.match(batch.failureText, new RegExp(`Redis at ${cluster.nodes[2].address}: no answer within 3000 ms`));
  await untilCounted(store, ops);
});

t.test('a replica that takes the place of its master is found, and goes on counting', async t => {
  const { store } = await openStore(t);
  const replica = await cluster.addReplica(0);
  t.teardown(() => replica.stop());
  const { key } = (await keysOfNodes(12)).find(each => each.node === 0)!;
  const ops = [{ key, hits: 1 }];
  t.same(await count(store, ops), [1]);
  await replicated(cluster.nodes[0]);
  await cluster.nodes[0].kill();
  await t.rejects(untilFailed(store, ops), { code: 'store_failed' });
  await replica.command('CLUSTER', 'FAILOVER', 'TAKEOVER');
  const [after] = await untilCounted(store, ops);
  t.equal(after, 2, 'the failed attempts counted nothing');
  t.equal(await replica.command('GET', key), '2');
});

t.test('hash slots are those of Redis', async t => {
  const keys = [
    '',
    'a',
    '{tag}a',
    'b{tag}',
    '{}a',
    'a{}b{c}',
    '{a',
    'a}b{c}',
    '{{a}}',
    'ä{ü}',
    'x'.repeat(999),
  ];
  for (const key of keys) {
    const bytes = Buffer.from(`<${key}>`);
    const expected = Number(await cluster.nodes[1].command('CLUSTER', 'KEYSLOT', key));
    t.equal(hashSlot(bytes, 1, bytes.length - 1), expected, key);
  }
});

t.test('a cluster that is not there is named with what is wrong', async t => {
  const store = redisStore(
    { type: 'cluster', socketType: 'tcp', url: '127.0.0.1:1,127.0.0.1:2', auth: '' },
    { startMaxElapsedMs: 30 },
  );
  t.teardown(() => store.stop());
  await t.rejects(store.start(), {
    // Which one is asked last changes with each attempt.
    message: /could not connect (?=.*127.0.0.1:1: .*ECONNREFUSED)(?=.*127.0.0.1:2: .*ECONNREFUSED)/,
  });
});

/** Counts nothing until the store fails. */
async function untilFailed(store: CounterStore, ops: readonly TestOp[]): Promise<never> {
  const nothing = ops.map(op => ({ ...op, hits: 0 }));
  for (;;) await count(store, nothing);
}
