import type { Test } from 'tap';
import { settlement } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

export const fencing: Topic = test => {
  const lost = { kind: 'lost' };

  /** Everything of the task must be as before. */
  async function nothingChanges(
    t: Test,
    scene: Scene,
    id: string,
    act: () => Promise<unknown>,
  ): Promise<void> {
    const before = [await scene.store.getWhole(ACME, id), await scene.history(id)];
    await act();
    t.strictSame([await scene.store.getWhole(ACME, id), await scene.history(id)], before);
  }

  test('a lease that nobody has is lost', async (scene, t) => {
    t.strictSame(await scene.settle(scene.make.leaseId(), 'succeeded'), lost);
  });

  test('the same end again is known, another is lost, and neither changes the task', async (scene, t) => {
    const { id } = await scene.add();
    const { leaseId } = await scene.startOne();
    const task = await scene.end(leaseId, 'attempt_failed', { delayMs: 1_000 });
    await nothingChanges(t, scene, id, async () => {
      t.strictSame(await scene.settle(leaseId, 'attempt_failed', { delayMs: 9 }), { kind: 'already', task });
      t.strictSame(await scene.settle(leaseId, 'succeeded', { result: '1' }), lost);
    });
    const renamed = await scene.changed(id, 'update', { tags: ['new'] });
    t.strictSame(
      await scene.settle(leaseId, 'attempt_failed'),
      { kind: 'already', task: renamed },
      'also when the task was changed since',
    );
  });

  test('it is forgotten when another attempt begins, or the task is replayed or removed', async (scene, t) => {
    const { id } = await scene.add();
    const first = await scene.startOne();
    await scene.end(first.leaseId, 'attempt_failed');
    const second = await scene.startOne();
    await nothingChanges(t, scene, id, async () => {
      t.strictSame(await scene.settle(first.leaseId, 'attempt_failed'), lost);
      t.strictSame(await scene.settle(first.leaseId, 'succeeded'), lost);
    });
    t.equal((await scene.settle(second.leaseId, 'succeeded')).kind, 'settled');
    await scene.changed(id, 'replay');
    t.strictSame(await scene.settle(second.leaseId, 'succeeded'), lost);
    const third = await scene.startOne();
    await scene.end(third.leaseId, 'succeeded');
    await scene.store.remove(ACME, id, null);
    t.strictSame(await scene.settle(third.leaseId, 'succeeded'), lost);
  });

  test('a lease past its time settles while nobody has ended it', async (scene, t) => {
    await scene.add({ timeoutMs: 1_000 });
    const { leaseId } = await scene.startOne({ lease: { mode: 'push', ms: 0 } });
    scene.clock.advance(60_000);
    t.equal((await scene.settle(leaseId, 'succeeded')).kind, 'settled');
  });

  test('a lease has not expired before its time', async (scene, t) => {
    const { id } = await scene.add({ timeoutMs: 1_000 });
    const { leaseId, leaseUntil } = await scene.startOne();
    scene.clock.moveTo(leaseUntil - 1);
    await nothingChanges(t, scene, id, async () => {
      t.strictSame(await scene.settle(leaseId, 'lease_expired'), lost);
    });
    scene.clock.moveTo(leaseUntil);
    t.equal((await scene.settle(leaseId, 'lease_expired')).kind, 'settled');
  });

  test('several attempts are ended in order, each for itself', async (scene, t) => {
    await scene.create([scene.newTask(), scene.newTask()]);
    const { tasks } = await scene.claim(2);
    const [a, b] = tasks.map(({ leaseId }) => leaseId);
    const answers = await scene.store.settle(ACME, [
      settlement(a, 'attempt_failed', { delayMs: 1 }),
      settlement(a, 'attempt_failed'),
      settlement(a, 'succeeded'),
      settlement(scene.make.leaseId(), 'succeeded'),
      settlement(b, 'succeeded', { result: '2' }),
    ]);
    t.strictSame(
      answers.map(answer => [answer.kind, answer.kind === 'lost' ? null : answer.task.status]),
      [
        ['settled', 'retry'],
        ['already', 'retry'],
        ['lost', null],
        ['lost', null],
        ['settled', 'succeeded'],
      ],
    );
    t.strictSame(await scene.store.settle(ACME, []), []);
  });

  test('of two ends at the same time one counts', async (scene, t) => {
    await scene.add();
    const { leaseId } = await scene.startOne();
    const answers = await Promise.all([
      scene.settle(leaseId, 'succeeded'),
      scene.settle(leaseId, 'no_retry'),
      scene.settle(leaseId, 'attempt_failed'),
    ]);
    t.strictSame(answers.map(({ kind }) => kind).sort(), ['lost', 'lost', 'settled']);
  });
};
