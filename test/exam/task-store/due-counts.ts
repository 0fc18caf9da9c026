import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

const GLOBEX = 'globex';

async function countOf(scene: Scene, max = 100): Promise<number> {
  await scene.lookAround();
  return scene.store.countDue(max);
}

export const dueCounts: Topic = test => {
  test('tasks that wait and whose time has come are counted, whoever is to do them', async (scene, t) => {
    t.equal(await countOf(scene), 0);
    await scene.create([
      scene.newTask({ priority: 'critical' }),
      scene.newTask({ priority: 'bulk', runAt: scene.now - 60_000 }),
      scene.make.newTask(scene.reporter),
      scene.newTask({ runAt: scene.now + 1_000 }),
    ]);
    t.equal(await countOf(scene), 3);
    scene.clock.advance(1_000);
    t.equal(await countOf(scene), 4);
  });

  test('of all tenants together', async (scene, t) => {
    const { store, make } = scene;
    await store.apply(GLOBEX, [make.account(GLOBEX), scene.mailer]);
    await store.create(GLOBEX, make.createRequest([scene.newTask(), scene.newTask()]));
    await scene.add();
    t.equal(await countOf(scene), 3);
  });

  test('of one tenant, with the time since when the oldest one is due', async (scene, t) => {
    const { store, make } = scene;
    t.strictSame(await store.dueOf(ACME), { count: 0, oldestAt: null });
    t.strictSame(await store.dueOf('nobody'), { count: 0, oldestAt: null });
    await store.apply(GLOBEX, [make.account(GLOBEX), scene.mailer]);
    await store.create(GLOBEX, make.createRequest([scene.newTask({ runAt: scene.now - 9_000 })]));
    const oldestAt = scene.now - 5_000;
    await scene.create([
      scene.newTask({ priority: 'bulk', runAt: oldestAt }),
      scene.newTask({ priority: 'critical', runAt: scene.now - 1_000 }),
      scene.newTask({ runAt: scene.now + 1_000 }),
      scene.newTask({ group: 'a', runAt: scene.now - 2_000 }),
      make.newTask(scene.reporter, { runAt: scene.now - 3_000 }),
    ]);
    t.strictSame(await store.dueOf(ACME), { count: 4, oldestAt });
    scene.clock.advance(1_000);
    t.strictSame(await store.dueOf(ACME), { count: 5, oldestAt });
    t.strictSame(await store.dueOf(GLOBEX), { count: 1, oldestAt: scene.now - 10_000 });
    await scene.startOne();
    t.match(await store.dueOf(ACME), { count: 4 }, 'without one that has started');
  });

  test('those that run, are paused, held or over are not', async (scene, t) => {
    await scene.taskIn('running');
    await scene.taskIn('succeeded');
    const retried = await scene.taskIn('retry');
    t.equal(await countOf(scene), 0);
    scene.clock.advance(60_000);
    t.equal(await countOf(scene), 1);
    await scene.changed(retried.id, 'pause');
    t.equal(await countOf(scene), 0);
    await scene.changed(retried.id, 'resume');
    await scene.add({ heldBy: retried.id });
    t.equal(await countOf(scene), 1);
    await scene.changed(retried.id, 'cancel');
    t.equal(await countOf(scene), 1, 'the one that was held');
  });

  test('no more are counted than was asked for', async (scene, t) => {
    await scene.create(Array.from({ length: 7 }, () => scene.newTask()));
    t.equal(await countOf(scene, 5), 5);
    t.equal(await countOf(scene, 7), 7);
    t.equal(await countOf(scene, 8), 7);
  });

  test('one that was removed is not counted any more, nor one that expired once it was ended', async (scene, t) => {
    const [one, other] = [await scene.add(), await scene.add({ expiresAt: scene.now + 10 })];
    await scene.store.remove(ACME, one.id, null);
    t.equal(await countOf(scene), 1);
    scene.clock.advance(10);
    await scene.changed(other.id, 'expire');
    t.equal(await countOf(scene), 0);
  });
};
