import { TASK_STATUSES, type TaskStatus } from '../../../src/tasks/model/task.ts';
import type { TaskChange } from '../../../src/tasks/store/requests.ts';
import { taskChange, USER } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';

type Action = TaskChange['action'];
const SAME = 'unchanged';
const NO = 'refused';

/** What becomes of a task in each status, in the order of {@link TASK_STATUSES}. */
const OUTCOMES: Readonly<
  Record<Exclude<Action, 'expire'>, readonly (TaskStatus | typeof SAME | typeof NO)[]>
> = {
  update: ['scheduled', 'running', 'retry', 'paused', NO, NO, NO, NO],
  pause: ['paused', NO, 'paused', SAME, NO, NO, NO, NO],
  resume: [SAME, NO, SAME, 'scheduled', NO, NO, NO, NO],
  cancel: ['canceled', 'running', 'canceled', 'canceled', NO, NO, SAME, NO],
  replay: [NO, NO, NO, NO, 'scheduled', 'scheduled', 'scheduled', 'scheduled'],
  run: ['scheduled', NO, 'retry', NO, NO, NO, NO, NO],
};

const EVENTS: Readonly<Record<Exclude<Action, 'expire'>, string>> = {
  update: 'updated',
  pause: 'paused',
  resume: 'resumed',
  cancel: 'canceled',
  replay: 'replayed',
  run: 'updated',
};

export const changes: Topic = test => {
  for (const action of Object.keys(OUTCOMES) as (keyof typeof OUTCOMES)[]) {
    test(`${action} leads from each status to where it should`, async (scene, t) => {
      for (const [at, status] of TASK_STATUSES.entries()) {
        await scene.clear();
        const before = await scene.taskIn(status);
        const entries = await scene.history(before.id);
        scene.clock.advance(1);
        const outcome = OUTCOMES[action][at];
        const answer = await scene.change(before.id, action, action === 'update' ? { tags: ['new'] } : {});
        if (outcome === SAME) t.strictSame(answer, { kind: 'unchanged', task: before }, status);
        if (outcome === NO) t.strictSame(answer, { kind: 'refused', reason: 'status', task: before }, status);
        if (outcome === SAME || outcome === NO) {
          t.strictSame(await scene.get(before.id), before, `${status}: nothing changes`);
          t.strictSame(await scene.history(before.id), entries, `${status}: nothing is written`);
          continue;
        }
        const after = await scene.get(before.id);
        t.strictSame(answer, { kind: 'done', task: after }, status);
        t.strictSame(
          [after.status, after.version, after.updatedAt],
          [outcome, before.version + 1, scene.now],
          status,
        );
        const entry = await scene.lastEntry(before.id);
        t.equal(entry.seq, entries.length + 1, `${status}: one entry`);
        const event = action === 'cancel' && status === 'running' ? 'cancel_requested' : EVENTS[action];
        t.strictSame(
          [entry.event, entry.from, entry.to, entry.at, entry.actor],
          [event, status, outcome, scene.now, USER],
          status,
        );
      }
    });
  }

  test('a task that is not there is missing', async (scene, t) => {
    t.strictSame(await scene.change('tsk_nobody', 'pause'), {
      kind: 'refused',
      reason: 'missing',
      task: null,
    });
  });

  test('a version that is expected must be that of the task, whatever the change', async (scene, t) => {
    const task = await scene.taskIn('paused');
    for (const action of ['update', 'pause', 'resume', 'cancel', 'replay', 'run', 'expire'] as const) {
      const request = taskChange(action, {}, { expectVersion: task.version - 1 });
      t.strictSame(
        await scene.store.change(ACME, task.id, request),
        { kind: 'refused', reason: 'version', task },
        action,
      );
    }
    const request = taskChange('resume', {}, { expectVersion: task.version });
    t.equal((await scene.store.change(ACME, task.id, request)).kind, 'done');
  });

  test('a task is removed with all that belongs to it, unless it runs', async (scene, t) => {
    for (const status of TASK_STATUSES) {
      const task = await scene.taskIn(status, { scheduleId: 'sch_1' });
      const answer = await scene.store.remove(ACME, task.id, null);
      t.equal(answer, status === 'running' ? 'running' : 'removed', status);
      if (status === 'running') continue;
      t.equal(await scene.store.get(ACME, task.id), null, status);
      t.equal(await scene.store.history(ACME, task.id, { after: null, limit: 1, order: 'asc' }), null);
      t.equal((await scene.store.counts(ACME, null))[status], 0, `${status} is not counted any more`);
      t.equal(await scene.store.remove(ACME, task.id, null), 'missing');
    }
    t.equal((await scene.store.openOfSchedule(ACME, 'sch_1', 10)).length, 1);
    scene.clock.advance(60_000);
    t.strictSame((await scene.claim(10)).tasks, [], 'nothing of them starts');
  });

  test('a version that is expected must be that of the task', async (scene, t) => {
    const { id, version } = await scene.taskIn('paused');
    t.equal(await scene.store.remove(ACME, id, version - 1), 'version');
    t.equal(await scene.store.remove(ACME, id, version), 'removed');
    const running = await scene.taskIn('running');
    t.equal(
      await scene.store.remove(ACME, running.id, running.version - 1),
      'version',
      'also of one that runs',
    );
  });
};
