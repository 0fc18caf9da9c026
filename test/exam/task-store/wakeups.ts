import type { NewTask } from '../../../src/tasks/store/requests.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

const WAKE = { wake: true } as const;
const FIFO = { groups: { concurrency: 1, fifo: true } } as const;

/** The hint of the mailer: how long from now, and null for none. */
async function hint(scene: Scene): Promise<number | null> {
  const found = await scene.store.wakeups(scene.now + 366 * 86_400_000, 1_000);
  const own = found.filter(({ tenant, workerId }) => tenant === ACME && workerId === scene.mailer.id);
  return own.length === 0 ? null : own[0].at - scene.now;
}

async function replaceKept(scene: Scene, id: string, key: string): Promise<void> {
  const item: NewTask = scene.newTask({ key }, { ...WAKE, onConflict: 'replace' });
  const result = await scene.result(item);
  if (result.kind !== 'replaced' || result.task.id !== id) throw new Error(`not replaced: ${result.kind}`);
}

export const wakeups: Topic = test => {
  test('a worker that is pushed to is told of, when its earliest task is due', async (scene, t) => {
    t.equal(await hint(scene), null);
    await scene.add({ runAt: scene.now + 5_000 }, WAKE);
    t.equal(await hint(scene), 5_000);
    await scene.add({ runAt: scene.now + 9_000 }, WAKE);
    t.equal(await hint(scene), 5_000);
    await scene.create([
      scene.newTask({ runAt: scene.now + 3_000 }, WAKE),
      scene.newTask({ runAt: scene.now + 4_000 }, WAKE),
    ]);
    t.equal(await hint(scene), 3_000);
  });

  test('one that asks for its tasks itself is not', async (scene, t) => {
    await scene.add();
    t.equal(await hint(scene), null);
  });

  test('nor is one whose tasks cannot start', async (scene, t) => {
    const { id } = await scene.taskIn('running');
    await scene.add({ heldBy: id }, WAKE);
    t.equal(await hint(scene), null, 'held');
    await scene.create([scene.newTask({}, WAKE)], { maxOpen: 0 });
    t.equal(await hint(scene), null, 'refused');
  });

  /** What makes a task of a worker due that nobody knows of: each is given a task that was made `wake`. */
  const causes: Readonly<Record<string, (scene: Scene, id: string) => Promise<unknown>>> = {
    'is to run now': (scene, id) => scene.changed(id, 'run'),
    'is given an earlier time': (scene, id) => scene.changed(id, 'update', { runAt: scene.now }),
    'is replaced': (scene, id) => replaceKept(scene, id, 'k'),
    'is resumed': async (scene, id) => {
      await scene.changed(id, 'update', { runAt: scene.now });
      await scene.changed(id, 'pause');
      await scene.store.setWakeup(ACME, scene.mailer.id, null);
      await scene.changed(id, 'resume');
    },
    'is replayed': async (scene, id) => {
      await scene.changed(id, 'cancel');
      await scene.changed(id, 'replay');
    },
  };
  for (const [name, act] of Object.entries(causes)) {
    test(`a task that ${name} is told of`, async (scene, t) => {
      const { id } = await scene.add({ key: 'k', runAt: scene.now + 60_000 }, WAKE);
      await scene.store.setWakeup(ACME, scene.mailer.id, null);
      await act(scene, id);
      t.equal(await hint(scene), 0);
    });
  }

  test('a task that is let go is told of', async (scene, t) => {
    for (const end of ['settled', 'canceled', 'removed'] as const) {
      await scene.clear();
      const holder = await scene.taskIn(end === 'settled' ? 'scheduled' : 'retry');
      await scene.add({ heldBy: holder.id }, WAKE);
      if (end === 'settled') await scene.end((await scene.startOne()).leaseId, 'succeeded');
      if (end === 'canceled') await scene.changed(holder.id, 'cancel');
      if (end === 'removed') await scene.store.remove(ACME, holder.id, null);
      t.equal(await hint(scene), 0, end);
    }
  });

  /** How the first task of a fifo group, which waits for its next attempt, makes way for the one behind it. */
  const waysOut: Readonly<Record<string, (scene: Scene, id: string) => Promise<unknown>>> = {
    'is paused': (scene, id) => scene.changed(id, 'pause'),
    'is canceled': (scene, id) => scene.changed(id, 'cancel'),
    'is removed': (scene, id) => scene.store.remove(ACME, id, null),
    'is put off': (scene, id) => scene.changed(id, 'update', { runAt: scene.now + 120_000 }),
    'moves behind it and is due earlier than before': (scene, id) =>
      scene.changed(id, 'update', { runAt: scene.now + 30_000 }),
    expires: (scene, id) => {
      scene.clock.advance(10_000);
      return scene.changed(id, 'expire');
    },
  };
  for (const [name, act] of Object.entries(waysOut)) {
    test(`the next task of a fifo group is told of when the first one ${name}`, async (scene, t) => {
      const { id } = await scene.add({ group: 'a', expiresAt: scene.now + 10_000 }, WAKE);
      const next = await scene.add({ group: 'a' }, WAKE);
      await scene.end((await scene.startOne(FIFO)).leaseId, 'attempt_failed', { delayMs: 60_000 });
      t.strictSame((await scene.claim(5, FIFO)).tasks, []);
      t.equal(await hint(scene), 60_000);
      await act(scene, id);
      t.equal(await hint(scene), 0);
      t.equal((await scene.startOne(FIFO)).task.id, next.id);
    });
  }

  test('a change that leaves the first task of a fifo group in its place is not told of', async (scene, t) => {
    const { id } = await scene.add({ group: 'a' }, WAKE);
    await scene.add({ group: 'a' }, WAKE);
    await scene.end((await scene.startOne(FIFO)).leaseId, 'attempt_failed', { delayMs: 60_000 });
    await scene.claim(5, FIFO);
    await scene.changed(id, 'update', { tags: ['eu'] });
    t.equal(await hint(scene), 60_000);
  });

  test('nor is the next task of one that asks for its tasks itself', async (scene, t) => {
    const pull = { ...FIFO, lease: { mode: 'pull', ms: 60_000 } } as const;
    const { id } = await scene.add({ group: 'a' });
    await scene.add({ group: 'a' });
    await scene.end((await scene.startOne(pull)).leaseId, 'attempt_failed', { delayMs: 60_000 });
    await scene.changed(id, 'cancel');
    t.equal(await hint(scene), null);
  });

  test('a claim that pushes leaves the time at which to ask again', async (scene, t) => {
    await scene.create([scene.newTask({}, WAKE), scene.newTask({ runAt: scene.now + 7_000 }, WAKE)]);
    t.equal((await scene.claim(5)).nextAt, scene.now + 7_000);
    t.equal(await hint(scene), 7_000);
    scene.clock.advance(7_000);
    t.equal((await scene.claim(5, { concurrency: 1 })).nextAt, scene.now + 1_000);
    t.equal(await hint(scene), 1_000);
    t.equal((await scene.claim(5)).nextAt, null);
    t.equal(await hint(scene), null);
  });

  test('a claim that pulls takes the hint away', async (scene, t) => {
    await scene.create([scene.newTask({}, WAKE), scene.newTask({ runAt: scene.now + 7_000 }, WAKE)]);
    await scene.claim(5, { lease: { mode: 'pull', ms: 60_000 } });
    t.equal(await hint(scene), null);
  });

  test('the next attempt is told of where the last one was pushed', async (scene, t) => {
    await scene.create([scene.newTask(), scene.newTask({}, WAKE)]);
    const pushed = await scene.startOne();
    await scene.store.setWakeup(ACME, scene.mailer.id, null);
    await scene.end(pushed.leaseId, 'attempt_failed', { delayMs: 4_000 });
    t.equal(await hint(scene), 4_000);
    const pulled = await scene.startOne({ lease: { mode: 'pull', ms: 60_000 } });
    await scene.end(pulled.leaseId, 'attempt_failed', { delayMs: 3_000 });
    t.equal(await hint(scene), null);
  });

  test('a hint can be put off, and taken away', async (scene, t) => {
    await scene.add({}, WAKE);
    await scene.store.setWakeup(ACME, scene.mailer.id, scene.now + 30_000);
    t.equal(await hint(scene), 30_000);
    await scene.store.setWakeup(ACME, scene.mailer.id, null);
    t.equal(await hint(scene), null);
    await scene.store.setWakeup(ACME, scene.mailer.id, null);
    await scene.store.setWakeup(ACME, scene.mailer.id, scene.now);
    t.equal(await hint(scene), 0);
  });

  test('hints of all tenants that have come are given, the earliest first', async (scene, t) => {
    const { store, make, now } = scene;
    await store.apply('globex', [make.account('globex'), scene.mailer]);
    await store.setWakeup(ACME, scene.mailer.id, now + 20);
    await store.setWakeup('globex', scene.mailer.id, now + 10);
    await store.setWakeup(ACME, scene.reporter.id, now + 30);
    const all = [
      { tenant: 'globex', workerId: scene.mailer.id, at: now + 10 },
      { tenant: ACME, workerId: scene.mailer.id, at: now + 20 },
      { tenant: ACME, workerId: scene.reporter.id, at: now + 30 },
    ];
    t.strictSame(await store.wakeups(now + 9, 10), []);
    t.strictSame(await store.wakeups(now + 20, 10), all.slice(0, 2));
    t.strictSame(await store.wakeups(now + 30, 10), all);
    t.strictSame(await store.wakeups(now + 30, 2), all.slice(0, 2));
  });
};
