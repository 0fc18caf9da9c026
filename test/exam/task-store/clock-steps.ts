import type { Test } from 'tap';
import { taskChange } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** What every store does if the clock that it takes its time from is set, while it runs and between two runs. */

async function isDueIn(t: Test, scene: Scene, ms: number): Promise<void> {
  scene.clock.advance(ms - 1);
  t.strictSame((await scene.claim(1)).tasks, [], 'it does not start early');
  scene.clock.advance(1);
  t.equal((await scene.claim(1)).tasks.length, 1, 'it starts in time');
}

/** Sets the clock of the store back: while it runs, or between two runs. */
async function setBack(scene: Scene, ms: number, betweenRuns: boolean): Promise<void> {
  scene.clock.advance(-ms);
  if (betweenRuns) await scene.reopen();
}

/** The next task starts after `leastMs` at the earliest, and after `mostMs` at the latest. */
async function startsWithin(t: Test, scene: Scene, leastMs: number, mostMs: number): Promise<void> {
  scene.clock.advance(leastMs - 1);
  t.strictSame((await scene.claim(1)).tasks, [], 'it does not start early');
  scene.clock.advance(mostMs - leastMs + 1);
  t.equal((await scene.claim(1)).tasks.length, 1, 'it starts in time');
}

export const clockSteps: Topic = test => {
  test('delays of a new task count from the clock of the store', async (scene, t) => {
    const task = await scene.add({ runAt: { afterMs: MINUTE }, expiresAt: { afterMs: HOUR } });
    const [runAt, expiresAt] = [scene.now + MINUTE, scene.now + HOUR];
    t.match(task, { runAt, dueAt: runAt, expiresAt });
    t.strictSame(await scene.get(task.id), task);
    await isDueIn(t, scene, MINUTE);
  });

  test('delays of a change count from the clock of the store', async (scene, t) => {
    const { id } = await scene.add();
    scene.clock.advance(SECOND);
    const patch = { runAt: { afterMs: MINUTE }, expiresAt: { afterMs: HOUR } };
    const answer = await scene.store.change(ACME, id, taskChange('update', patch));
    const [runAt, expiresAt] = [scene.now + MINUTE, scene.now + HOUR];
    t.match(answer, { kind: 'done', task: { runAt, dueAt: runAt, expiresAt } });
    t.strictSame((await scene.lastEntry(id)).changed, ['run_at', 'expires_at']);
    await isDueIn(t, scene, MINUTE);
  });

  test('a task that replaces another, and one that is replayed, have their delays too', async (scene, t) => {
    const { id } = await scene.add({ key: 'k' });
    const replacing = await scene.add(
      { key: 'k', runAt: { afterMs: MINUTE }, expiresAt: { afterMs: HOUR } },
      { onConflict: 'replace' },
    );
    t.match(replacing, { id, dueAt: scene.now + MINUTE, expiresAt: scene.now + HOUR });
    await scene.store.change(ACME, id, taskChange('cancel'));
    const answer = await scene.store.change(ACME, id, taskChange('replay', { runAt: { afterMs: SECOND } }));
    t.match(answer, { kind: 'done', task: { runAt: scene.now + SECOND, dueAt: scene.now + SECOND } });
  });

  for (const [when, betweenRuns] of [
    ['while the store runs', false],
    ['between two runs', true],
  ] as const) {
    test(`the clock is set back ${when}: delays of before and after take longer by the step at most`, async (scene, t) => {
      await scene.add({ runAt: { afterMs: MINUTE } });
      await setBack(scene, HOUR, betweenRuns);
      await startsWithin(t, scene, MINUTE, HOUR + MINUTE);
      await setBack(scene, HOUR, betweenRuns);
      await scene.add({ runAt: { afterMs: 20 * MINUTE } });
      await startsWithin(t, scene, 20 * MINUTE, HOUR + 20 * MINUTE);
    });

    test(`the clock is set back ${when}: a worker with a rate goes on to start tasks`, async (scene, t) => {
      const rate = { limit: 1, perMs: SECOND, burst: 1 };
      for (let i = 0; i < 3; i++) await scene.add({ runAt: scene.now - 2 * DAY });
      t.equal((await scene.claim(3, { rate })).tasks.length, 1);
      await setBack(scene, DAY, betweenRuns);
      t.equal((await scene.claim(3, { rate })).tasks.length, 0);
      scene.clock.advance(2 * SECOND);
      t.equal((await scene.claim(3, { rate })).tasks.length, 1);
    });

    test(`the clock is set back ${when}: leases settle, or end later by the step at most`, async (scene, t) => {
      await scene.add({ timeoutMs: MINUTE });
      await scene.add({ timeoutMs: MINUTE });
      const [one, other] = [await scene.startOne(), await scene.startOne()];
      await setBack(scene, HOUR, betweenRuns);
      t.match(await scene.settle(one.leaseId, 'succeeded'), { kind: 'settled' });
      scene.clock.advance(MINUTE - 1);
      t.strictSame(await scene.store.overdue(10), []);
      scene.clock.advance(HOUR + MINUTE);
      t.match(await scene.store.overdue(10), [{ leases: [{ leaseId: other.leaseId }] }]);
    });
  }

  test('the clock is set forward: nothing stands still, and what is created then waits in full', async (scene, t) => {
    await scene.add({ runAt: { afterMs: 20 * MINUTE }, timeoutMs: MINUTE });
    scene.clock.advance(DAY);
    await scene.reopen();
    const { leaseId } = await scene.startOne();
    await scene.add({ runAt: { afterMs: 20 * MINUTE } });
    await isDueIn(t, scene, 20 * MINUTE);
    t.match(
      await scene.settle(leaseId, 'succeeded'),
      { kind: 'settled' },
      'a lease that is over still settles',
    );
  });
};
