import t from 'tap';
import { each } from '../../../support/each.ts';
import { ACME, EngineScene } from '../../../support/tasks/engine-scene.ts';

const HOUR = 3_600_000;

for (const [how, stepMs] of Object.entries({ 'set back': -HOUR, 'set forward': HOUR })) {
  t.test(
    `a clock that is ${how} by an hour: what other processes make is noticed within a second`,
    async t => {
      const scene = await EngineScene.open();
      const { deliveries } = await scene.process(t);
      const worker = await scene.worker();
      await scene.pass(5_000, 50);
      scene.aheadMs = stepMs;
      const [now] = await scene.add(worker);
      const [later] = await scene.add(worker, 1, { runAt: scene.clock.nowMs() + 10_000 });
      await scene.pass(1_010, 10);
      t.same(deliveries.running, [now]);
      await scene.pass(8_980, 10);
      t.same(deliveries.running, [now], 'and nothing starts before its time');
      await scene.pass(20, 10);
      t.same(deliveries.running, [now, later]);
    },
  );

  t.test(
    `a clock that is ${how} by an hour: changes of other processes are noticed within a second`,
    async t => {
      const scene = await EngineScene.open();
      const { directory } = await scene.process(t);
      const worker = await scene.worker();
      t.match(await directory.worker(ACME, worker.id), { body: { paused: false } });
      scene.aheadMs = stepMs;
      await scene.change(worker, { paused: true });
      await scene.pass(1_000, 100);
      t.match(await directory.worker(ACME, worker.id), { body: { paused: true } });
    },
  );

  t.test(
    `a clock that is ${how} by an hour: a secret that was replaced is not signed with for long`,
    async t => {
      const scene = await EngineScene.open();
      const tenant = 'sealed';
      const dataKey = { masterKeyId: 'm', wrapped: 'w' };
      await scene.store.apply(tenant, [scene.make.account(tenant, { dataKey })]);
      const process = await scene.process(t);
      const worker = await scene.worker({}, tenant);
      const old = scene.make.secret(worker.id, { sealed: 'terces' });
      await scene.store.apply(tenant, [old]);
      await scene.add(worker, 1, {}, { tenant, heardBy: process });
      await scene.turn();
      scene.aheadMs = stepMs;
      await scene.store.apply(tenant, [{ op: 'delete', kind: 'secret', id: old.id, expect: 'any' }]);
      await scene.pass(5_000, 100);
      await scene.add(worker, 1, {}, { tenant, heardBy: process });
      await scene.pass(1_000, 100);
      t.same(each(process.deliveries.requests, 'signing'), [['secret'], []]);
    },
  );
}
