import t from 'tap';
import { aftersOf, batchOf } from '../../../support/counting.ts';
import { startRedis } from '../../../support/redis-server.ts';
import { PLAIN_USER, redisStore, type Teardown, WITHOUT_SCRIPTS } from '../../../support/stores.ts';

/** More than a call of a function takes as arguments, and what a batch of one mebibyte of requests can ask for. */
const KEYS = 60_000;

const redis = await startRedis({ args: WITHOUT_SCRIPTS });
t.teardown(() => redis.stop());

async function openStore(t: Teardown, auth = '') {
  await redis.command('FLUSHALL');
  const store = redisStore({ socketType: 'tcp', url: redis.address, auth });
  t.teardown(() => store.stop());
  await store.start();
  return store;
}

/** The most keys that one script was given, as the server's own list of slow commands tells. */
async function largestScript(): Promise<number> {
  const entries = (await redis.command('SLOWLOG', 'GET', '100')) as [number, number, number, string[]][];
  const scripts = entries.map(([, , , words]) => words).filter(([name]) => /^eval/i.test(name));
  t.not(scripts.length, 0, 'the list holds the scripts');
  return Math.max(...scripts.map(words => Number(words[2])));
}

await redis.command('CONFIG', 'SET', 'slowlog-log-slower-than', '0', 'slowlog-max-len', '100');

t.test('tens of thousands of keys in a batch are all counted, by scripts of bounded work', async t => {
  const store = await openStore(t);
  const ops = Array.from({ length: KEYS }, (_, i) => ({ key: `key-${i}`, hits: (i % 7) + 1 }));
  const batch = batchOf([{ ops: [...ops, ...ops.slice(0, 10)] }]);
  await redis.command('SLOWLOG', 'RESET');
  await store.increment(batch);
  const expected = [...ops, ...ops.slice(0, 10).map(op => ({ hits: op.hits * 2 }))].map(op => op.hits);
  t.strictSame(aftersOf(batch), expected);
  t.equal(await largestScript(), 5_000);
});

t.test('so are tens of thousands of keys that are held back, and no request is cut apart', async t => {
  const store = await openStore(t);
  const groups = Array.from({ length: KEYS / 100 }, (_, group) => ({
    ops: [
      ...Array.from({ length: 98 }, (_op, i) => ({ key: `key-${group}-${i}`, hits: 1 })),
      { key: 'shared', hits: 1, limit: 1_000_000 },
      { key: 'full', hits: 1, limit: 300 },
    ],
  }));
  const batch = batchOf(groups);
  await redis.command('SLOWLOG', 'RESET');
  await store.incrementHoldingBack(batch);
  const afters = aftersOf(batch);
  const firsts = groups.map((_group, i) =>
    afters.slice(i * 100, i * 100 + 1).concat(afters.slice(i * 100 + 98, i * 100 + 100)),
  );
  const expected = groups.map((_group, i) => (i < 300 ? [1, i + 1, i + 1] : [0, 300, i + 1]));
  t.strictSame(firsts, expected, 'a key of its own, the shared one and the full one');
  t.equal(await largestScript(), 50 * 98 + 2);
});

t.test('a single request beyond the bound is sent by itself', async t => {
  const store = await openStore(t);
  const large = { ops: Array.from({ length: 6_000 }, (_, i) => ({ key: `key-${i}`, hits: 1 })) };
  const small = { ops: [{ key: 'key-0', hits: 1 }] };
  const batch = batchOf([small, large, small]);
  await redis.command('SLOWLOG', 'RESET');
  await store.incrementHoldingBack(batch);
  t.same([aftersOf(batch)[0], aftersOf(batch)[1], aftersOf(batch)[6_001]], [1, 2, 3]);
  t.equal(await largestScript(), 6_000);
});

t.test('without scripts the parts of a large batch are counted by single commands', async t => {
  const store = await openStore(t, PLAIN_USER);
  const ops = Array.from({ length: 6_000 }, (_, i) => ({ key: `key-${i}`, hits: 2 }));
  const batch = batchOf([{ ops }]);
  await store.increment(batch);
  t.strictSame(
    aftersOf(batch),
    ops.map(() => 2),
  );
});
