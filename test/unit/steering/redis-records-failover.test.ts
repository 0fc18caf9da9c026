import t, { type Test } from 'tap';
import { type FollowedStore, followed } from '../../exam/steering-store.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { clusterFor } from '../../support/redis-cluster.ts';
import { redisRecordsOpener } from '../../support/redis-records.ts';
import { MASTER_NAME, startWatchedMaster } from '../../support/redis-sentinel.ts';
import { replicated } from '../../support/replicated.ts';
import { record } from '../../support/steering.ts';
import { until } from '../../support/until.ts';

type Env = Readonly<Record<string, string>>;

const TOKEN = { ADMIN_TOKEN: 'a-token-for-these-tests' };
const [ANN, BOB, CID] = ['ann', 'bob', 'cid'].map(user =>
  record('ban', `user=${user}`, { nowS: Math.floor(Date.now() / 1_000) }),
);

/** Two processes that change records, and one that only reads them. */
async function three(t: Test, env: Env) {
  const logger = new KeepingLogger();
  const opened: FollowedStore[] = [];
  for (const more of [TOKEN, TOKEN, {}]) {
    opened.push(await followed(t, await redisRecordsOpener({ ...env, ...more }, { logger })));
  }
  const idsAre = (...ids: readonly string[]) =>
    until(() => opened.every(({ ids: own }) => own.join() === ids.toSorted().join()));
  return { processes: opened, logger, idsAre };
}

function put(store: FollowedStore, each = CID): Promise<void> {
  return until(() =>
    store.put(each).then(
      () => true,
      () => false,
    ),
  );
}

t.test('after a failover by sentinels, all processes have the records of the new master', async t => {
  const { master, replica, sentinel } = await startWatchedMaster(t);
  const env = { REDIS_TYPE: 'sentinel', REDIS_URL: `${MASTER_NAME},${sentinel.address}` };
  const { processes, logger, idsAre } = await three(t, env);
  await processes[0].put(ANN);
  await replicated(master);
  // The next change reaches the master, but not its replica.
  await replica.command('CONFIG', 'SET', 'masteruser', 'nobody', 'masterauth', 'wrong');
  await replica.command('CLIENT', 'KILL', 'TYPE', 'master');
  await until(async () => /connected_slaves:0/.test(String(await master.command('INFO', 'replication'))));
  await processes[0].put(BOB);
  await idsAre(ANN.id, BOB.id);
  await master.kill();
  await idsAre(ANN.id);
  const lost = logger.lines.filter(({ message }) => message.includes('has lost changes'));
  t.equal(lost.length, 3, 'each process logs it');
  t.match(lost[0].fields, { address: new RegExp(MASTER_NAME), lost_changes: 1, records_left: 1 });
  await put(processes[1]);
  await idsAre(ANN.id, CID.id);
});

t.test('in a cluster, records are found after their slot has moved, and after a failover', async t => {
  const cluster = await clusterFor(t);
  const slot = await cluster.slot('sluice:steering');
  const from = await cluster.owner('sluice:steering');
  const to = (from + 1) % cluster.nodes.length;
  const owner = cluster.nodes[to];
  // The only configured node is the one that will be gone.
  const { processes, logger, idsAre } = await three(t, { REDIS_TYPE: 'cluster', REDIS_URL: owner.address });
  await processes[0].put(ANN);
  await idsAre(ANN.id);
  await cluster.startMoving(slot, from, to);
  const move = ['127.0.0.1', owner.port, 'sluice:steering', 0, 5_000];
  await cluster.nodes[from].command('MIGRATE', ...move);
  await cluster.finishMoving(slot, to);
  await put(processes[1], BOB);
  await idsAre(ANN.id, BOB.id);
  const replica = await cluster.addReplica(to);
  t.teardown(() => replica.stop());
  await replicated(owner);
  await owner.kill();
  await replica.command('CLUSTER', 'FAILOVER', 'TAKEOVER');
  await put(processes[1], CID);
  await idsAre(ANN.id, BOB.id, CID.id);
  const lost = logger.lines.filter(({ message }) => message.includes('has lost'));
  t.strictSame(lost, []);
});
