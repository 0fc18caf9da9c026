import t from 'tap';
import { Fault } from '../../../../../src/base/fault.ts';
import { StatsRegistry } from '../../../../../src/stats/registry.ts';
import { TaskStatistics } from '../../../../../src/tasks/model/task-statistics.ts';
import { Settler } from '../../../../../src/tasks/scheduler/attempts/settler.ts';
import { StoreOutage } from '../../../../../src/tasks/scheduler/health/store-outage.ts';
import { Troubles } from '../../../../../src/tasks/scheduler/health/troubles.ts';
import type { SettleAnswer, Settlement } from '../../../../../src/tasks/store/requests.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { ACME, EngineScene, NOON, OK } from '../../../../support/tasks/engine-scene.ts';
import { settlement } from '../../../../support/tasks/factories.ts';

/** A store of which the part with one tenant is away, as when a node of a Redis Cluster is. */
async function withoutPart(t: Parameters<EngineScene['process']>[0]) {
  const scene = await EngineScene.open();
  await scene.store.apply('away', [scene.make.account('away')]);
  const process = await scene.process(t, { slots: 20 });
  process.deliveries.reply = () => OK;
  const { claim, settle } = scene.store;
  scene.store.claim = async (tenant, request) => {
    if (tenant === 'away') throw new Fault('store_failed', 'a node is away');
    return claim.call(scene.store, tenant, request);
  };
  scene.store.settle = async (tenant, settlements) => {
    if (tenant === 'away') throw new Fault('store_failed', 'a node is away');
    return settle.call(scene.store, tenant, settlements);
  };
  const back = (): void => {
    Object.assign(scene.store, { claim, settle });
  };
  return { scene, process, back };
}

t.test('while a part of the store is away, the tenants of the others are served', async t => {
  const { scene, process, back } = await withoutPart(t);
  const workers = await Promise.all(
    [1, 2, 3].map(n => scene.worker({ name: `away-${n}`, timeoutMs: 600_000 }, 'away')),
  );
  const lost: string[] = [];
  for (const worker of workers)
    lost.push(...(await scene.add(worker, 50, {}, { tenant: 'away', heardBy: process })));
  await scene.pass(20_000, 20);
  const worker = await scene.worker();
  const ids: string[] = [];
  for (let second = 0; second < 10; second++) {
    ids.push(...(await scene.add(worker, 10, {}, { heardBy: process })));
    await scene.pass(1_000, 20);
  }
  await scene.pass(2_000, 20);
  t.same(new Set(await scene.statuses(ids)), new Set(['succeeded']));
  back();
  await scene.pass(30_000, 50);
  t.same(new Set(await scene.statuses(lost, 'away')), new Set(['succeeded']), 'and then those of this one');
});

t.test('attempts that there may be never take the place of those that there were', async t => {
  const clock = new ManualClock(NOON);
  const logger = new KeepingLogger();
  const statistics = new TaskStatistics(new StatsRegistry());
  const troubles = new Troubles({ store: { name: 'memory' }, statistics, clock, logger }, () => {});
  const outage = new StoreOutage({ store: { ping: async () => {} }, clock, random: () => 0 }, troubles);
  const told: string[] = [];
  const store = {
    settle: async (_tenant: string, settlements: readonly Settlement[]): Promise<SettleAnswer[]> => {
      told.push(...settlements.map(({ leaseId }) => leaseId));
      return settlements.map(() => ({ kind: 'lost' }));
    },
  };
  const settler = new Settler({ store, clock, logger }, outage, 2);
  const end = (leaseId: string, uncertain: boolean): string[] => {
    const answers: string[] = [];
    settler.add(ACME, {
      settlement: settlement(leaseId, 'released'),
      leaseUntil: NOON + 60_000,
      onRecorded: answer => answers.push(answer?.kind ?? 'nothing'),
      ...(uncertain && { uncertain }),
    });
    return answers;
  };
  const dropped = [end('maybe-1', true), end('maybe-2', true), end('maybe-3', true)][2];
  t.same(dropped, ['nothing']);
  end('was-1', false);
  t.equal(settler.unstored, 1);
  clock.advance(5);
  await new Promise(setImmediate);
  t.same(told, ['maybe-1', 'maybe-2', 'was-1']);
  t.equal(settler.unstored, 0);
  end('maybe-4', true);
  await settler.stop(1_000);
  t.same(told.at(-1), 'maybe-4', 'there is room again');
  t.same(end('late', false), ['nothing']);
  outage.stop();
  t.equal(clock.pending, 0);
});
