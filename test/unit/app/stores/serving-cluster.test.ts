import t from 'tap';
import { count } from '../../../support/counting.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { clusterFor } from '../../../support/redis-cluster.ts';
import { countEverywhere, openServingStores } from '../../../support/serving-stores.ts';
import { until } from '../../../support/until.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

const ONE = [{ key: 'a', hits: 1 }];

/** How often a command was called, or redirected, by INFO. */
function callsOf(info: unknown, command: string, which: 'calls' | 'rejected_calls' = 'calls'): number {
  const [line = ''] = String(info)
    .split('\r\n')
    .filter(each => each.startsWith(`cmdstat_${command}:`));
  return Number(new RegExp(`[:,]${which}=([0-9]+)`).exec(line)?.[1] ?? 0);
}

t.test('one thread asks a cluster for its slots, however many there are', async t => {
  const cluster = await clusterFor(t);
  const clock = new ManualClock(1_700_000_000_000);
  const env = { KVCACHE_TYPE: 'cluster', KVCACHE_URL: cluster.address, KVCACHE_POOL_SIZE: '5' };
  const { threads } = await openServingStores(t, env, { count: 3, clock });
  const asked = async () => {
    const infos = await Promise.all(cluster.nodes.map(node => node.command('INFO', 'commandstats')));
    return infos.reduce<number>((sum, info) => sum + callsOf(info, 'cluster|slots'), 0);
  };
  t.equal(await asked(), 1, 'at start');
  let ticks = 0;
  await until(async () => {
    clock.advance(5_000);
    ticks++;
    return (await asked()) > 10;
  });
  t.ok((await asked()) <= 1 + ticks, 'and then once every five seconds at most', { ticks });
  t.same(await countEverywhere(threads, 1), [1, 2, 3]);
});

t.test('threads follow a slot that moves to another node, and learn its new place', async t => {
  const cluster = await clusterFor(t);
  const clock = new ManualClock(1_700_000_000_000);
  const env = { KVCACHE_TYPE: 'cluster', KVCACHE_URL: cluster.address, KVCACHE_POOL_SIZE: '3' };
  const { threads } = await openServingStores(t, env, { count: 2, clock });
  const slot = await cluster.slot('a');
  const from = await cluster.owner('a');
  const to = (from + 1) % 3;
  const [source, target] = [cluster.nodes[from], cluster.nodes[to]];
  t.same(await countEverywhere(threads, 1), [1, 2]);
  await cluster.startMoving(slot, from, to);
  await source.command('MIGRATE', '127.0.0.1', target.port, 'a', 0, 5_000);
  t.same(await countEverywhere(threads, 1), [3, 4], 'ASK is followed');
  await cluster.finishMoving(slot, to);
  clock.advance(1_000);
  t.same(await countEverywhere(threads, 1), [5, 6], 'MOVED is followed');
  const redirected = async () =>
    callsOf(await source.command('INFO', 'commandstats'), 'incrby', 'rejected_calls');
  t.ok((await redirected()) >= 2);
  let counted = 6;
  await until(async () => {
    const before = await redirected();
    for (const { opened } of threads) t.same(await count(opened.store, ONE), [++counted]);
    return (await redirected()) === before;
  });
  t.pass('and then all threads know the new place, although no regular look was due');
});
