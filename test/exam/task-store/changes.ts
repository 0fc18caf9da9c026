import type { Test } from 'tap';
import { TASK_STATUSES, type TaskStatus } from '../../../src/tasks/model/task.ts';
import type { TaskChange } from '../../../src/tasks/store/requests.ts';
import { retryPolicy, taskChange, USER } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';

export const changes: Topic = (t, open) => {
  leadsTo(t, open);
  updates(t, open);
  pausesAndResumes(t, open);
  cancels(t, open);
  replays(t, open);
  runsAndExpires(t, open);
  removes(t, open);
};

type Action = TaskChange['action'];
const SAME = 'unchanged';
const NO = 'refused';

/** What becomes of a task in each status. */
const OUTCOMES: Readonly<
  Record<Exclude<Action, 'expire'>, Readonly<Record<TaskStatus, TaskStatus | typeof SAME | typeof NO>>>
> = {
  update: {
    scheduled: 'scheduled',
    running: 'running',
    retry: 'retry',
    paused: 'paused',
    succeeded: NO,
    failed: NO,
    canceled: NO,
    expired: NO,
  },
  pause: {
    scheduled: 'paused',
    running: NO,
    retry: 'paused',
    paused: SAME,
    succeeded: NO,
    failed: NO,
    canceled: NO,
    expired: NO,
  },
  resume: {
    scheduled: SAME,
    running: NO,
    retry: SAME,
    paused: 'scheduled',
    succeeded: NO,
    failed: NO,
    canceled: NO,
    expired: NO,
  },
  cancel: {
    scheduled: 'canceled',
    running: 'running',
    retry: 'canceled',
    paused: 'canceled',
    succeeded: NO,
    failed: NO,
    canceled: SAME,
    expired: NO,
  },
  replay: {
    scheduled: NO,
    running: NO,
    retry: NO,
    paused: NO,
    succeeded: 'scheduled',
    failed: 'scheduled',
    canceled: 'scheduled',
    expired: 'scheduled',
  },
  run: {
    scheduled: 'scheduled',
    running: NO,
    retry: 'retry',
    paused: NO,
    succeeded: NO,
    failed: NO,
    canceled: NO,
    expired: NO,
  },
};

const EVENTS: Readonly<Record<Exclude<Action, 'expire'>, string>> = {
  update: 'updated',
  pause: 'paused',
  resume: 'resumed',
  cancel: 'canceled',
  replay: 'replayed',
  run: 'updated',
};

function leadsTo(t: Test, open: Parameters<Topic>[1]): void {
  for (const action of Object.keys(OUTCOMES) as (keyof typeof OUTCOMES)[]) {
    t.test(`${action} leads from each status to where it should`, async t => {
      const scene = await open(t);
      for (const status of TASK_STATUSES) {
        await scene.clear();
        const before = await scene.taskIn(status);
        const entries = await scene.history(before.id);
        scene.clock.advance(1);
        const outcome = OUTCOMES[action][status];
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

  t.test('a task that is not there is missing', async t => {
    const scene = await open(t);
    t.strictSame(await scene.change('tsk_nobody', 'pause'), {
      kind: 'refused',
      reason: 'missing',
      task: null,
    });
  });

  t.test('a version that is expected must be that of the task, whatever the change', async t => {
    const scene = await open(t);
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
}

function updates(t: Test, open: Parameters<Topic>[1]): void {
  t.test('an update changes what it names, and says so', async t => {
    const scene = await open(t);
    const before = await scene.add({ tags: ['a'] }, { body: { payload: '1', headers: { a: '1' } } });
    const patch = {
      metadata: { a: 'b' },
      headers: { b: '2' },
      type: 'new',
      expiresAt: scene.now + 90_000,
      payload: '2',
      priority: 'low',
      timeoutMs: 4_000,
      retry: retryPolicy({ baseMs: 500, scheduleMs: [5] }),
      tags: [],
      runAt: scene.now + 60_000,
    } as const;
    const { payload, headers, ...fields } = patch;
    const task = { ...before, ...fields, dueAt: patch.runAt, version: 2 };
    t.strictSame(await scene.change(before.id, 'update', patch), { kind: 'done', task });
    t.strictSame(await scene.store.getWhole(ACME, before.id), {
      task,
      body: { payload, headers, result: null },
    });
    t.strictSame(await scene.lastEntry(before.id), {
      seq: 2,
      at: scene.now,
      event: 'updated',
      from: 'scheduled',
      to: 'scheduled',
      attempt: 0,
      actor: USER,
      nextAttemptAt: patch.runAt,
      changed: [
        'type',
        'payload',
        'headers',
        'priority',
        'run_at',
        'expires_at',
        'timeout',
        'retry',
        'tags',
        'metadata',
      ],
    });
  });

  t.test('null clears what may be empty', async t => {
    const scene = await open(t);
    const body = { payload: '1', headers: {} };
    const { id } = await scene.add({ type: 'a', expiresAt: scene.now + 9 }, { body });
    const task = await scene.changed(id, 'update', { type: null, expiresAt: null, payload: null });
    t.strictSame([task.type, task.expiresAt], [null, null]);
    t.equal((await scene.store.getWhole(ACME, id))?.body.payload, null);
    t.strictSame((await scene.lastEntry(id)).changed, ['type', 'payload', 'expires_at']);
  });

  t.test('a field that is as it was does not count', async t => {
    const scene = await open(t);
    const { id, runAt, tags } = await scene.add();
    const { leaseId } = await scene.startOne();
    const running = await scene.get(id);
    const same = { runAt, type: null, tags };
    t.strictSame(await scene.change(id, 'update', same), { kind: 'unchanged', task: running });
    t.strictSame(await scene.change(id, 'update', {}), { kind: 'unchanged', task: running });
    await scene.end(leaseId, 'attempt_failed', { delayMs: 5_000 });
    const { dueAt } = await scene.changed(id, 'update', { ...same, tags: ['new'] });
    t.equal(dueAt, scene.now + 5_000, 'so a task that waits for its next attempt goes on waiting');
    t.strictSame((await scene.lastEntry(id)).changed, ['tags']);
  });

  t.test('a new time is when the task is due, also for a further attempt', async t => {
    const scene = await open(t);
    const { id } = await scene.taskIn('retry');
    const runAt = scene.now + 1_000;
    const task = await scene.changed(id, 'update', { runAt });
    t.strictSame([task.status, task.runAt, task.dueAt], ['retry', runAt, runAt]);
    t.equal((await scene.lastEntry(id)).nextAttemptAt, runAt);
    const paused = await scene.taskIn('paused');
    t.equal((await scene.changed(paused.id, 'update', { runAt })).dueAt, runAt);
  });

  t.test('while an attempt runs only tags, metadata and the number of attempts change', async t => {
    const scene = await open(t);
    const before = await scene.taskIn('running');
    const patch = {
      tags: ['x'],
      metadata: { a: '1' },
      retry: retryPolicy({ maxAttempts: 7, baseMs: 9_999 }),
    };
    const task = await scene.changed(before.id, 'update', patch);
    t.strictSame(task, {
      ...before,
      tags: ['x'],
      metadata: { a: '1' },
      retry: { ...before.retry, maxAttempts: 7 },
      version: before.version + 1,
    });
    const entry = await scene.lastEntry(before.id);
    t.strictSame(entry.changed, ['retry', 'tags', 'metadata']);
    t.notOk('nextAttemptAt' in entry);
    const ignored = await scene.change(before.id, 'update', {
      retry: retryPolicy({ maxAttempts: 7, factor: 9 }),
    });
    t.equal(ignored.kind, 'unchanged');

    const refused = [
      { type: 'x' },
      { payload: '1' },
      { headers: { a: '1' } },
      { priority: 'low' },
      { runAt: 1 },
      { expiresAt: 1 },
      { timeoutMs: 1 },
    ] as const;
    for (const patch of refused) {
      t.strictSame(await scene.change(before.id, 'update', { tags: ['y'], ...patch }), {
        kind: 'refused',
        reason: 'status',
        task,
      });
    }
    t.strictSame(await scene.get(before.id), task);
  });

  t.test('a task with another priority starts in another order', async t => {
    const scene = await open(t);
    const first = await scene.add({ priority: 'normal' });
    const second = await scene.add({ priority: 'normal' });
    await scene.changed(first.id, 'update', { priority: 'bulk' });
    t.equal((await scene.startOne()).task.id, second.id);
  });
}

function pausesAndResumes(t: Test, open: Parameters<Topic>[1]): void {
  t.test('a paused task keeps its time and does not start', async t => {
    const scene = await open(t);
    const before = await scene.add();
    const paused = await scene.changed(before.id, 'pause');
    t.equal(paused.dueAt, before.dueAt);
    t.equal((await scene.lastEntry(before.id)).nextAttemptAt, before.dueAt);
    t.strictSame((await scene.claim(1)).tasks, []);
    const resumed = await scene.changed(before.id, 'resume');
    t.strictSame([resumed.status, resumed.dueAt], ['scheduled', before.dueAt]);
    t.equal((await scene.startOne()).task.id, before.id);
  });

  t.test('a task that has started is resumed to wait for its next attempt', async t => {
    const scene = await open(t);
    const before = await scene.taskIn('retry');
    await scene.changed(before.id, 'pause');
    const task = await scene.changed(before.id, 'resume');
    t.strictSame([task.status, task.dueAt, task.attempt], ['retry', before.dueAt, 1]);
  });

  t.test('also when none of its attempts counted', async t => {
    const scene = await open(t);
    const { id } = await scene.add();
    await scene.end((await scene.startOne()).leaseId, 'released');
    await scene.changed(id, 'pause');
    const task = await scene.changed(id, 'resume');
    t.strictSame([task.status, task.attempt], ['retry', 0]);
  });

  t.test('a replayed task has not started', async t => {
    const scene = await open(t);
    const { id } = await scene.taskIn('failed');
    await scene.changed(id, 'replay');
    await scene.changed(id, 'pause');
    t.equal((await scene.changed(id, 'resume')).status, 'scheduled');
  });
}

function cancels(t: Test, open: Parameters<Topic>[1]): void {
  t.test('a task that waits is canceled at once', async t => {
    const scene = await open(t);
    const { id } = await scene.add();
    scene.clock.advance(1);
    const task = await scene.changed(id, 'cancel');
    t.strictSame(
      [task.status, task.dueAt, task.finishedAt, task.cancelRequestedAt],
      ['canceled', null, scene.now, null],
    );
    t.notOk('nextAttemptAt' in (await scene.lastEntry(id)));
    t.strictSame((await scene.claim(1)).tasks, []);
  });

  t.test('one that runs is asked to stop, once', async t => {
    const scene = await open(t);
    const { id } = await scene.taskIn('running');
    scene.clock.advance(1);
    const task = await scene.changed(id, 'cancel');
    t.strictSame([task.status, task.cancelRequestedAt, task.finishedAt], ['running', scene.now, null]);
    const { seq: _seq, ...entry } = await scene.lastEntry(id);
    t.strictSame(entry, {
      at: scene.now,
      event: 'cancel_requested',
      from: 'running',
      to: 'running',
      attempt: 1,
      actor: USER,
    });
    scene.clock.advance(1);
    t.strictSame(await scene.change(id, 'cancel'), { kind: 'unchanged', task });
  });

  t.test('one that succeeded although it was asked to stop cannot be canceled', async t => {
    const scene = await open(t);
    const { id } = await scene.add();
    const { leaseId } = await scene.startOne();
    await scene.changed(id, 'cancel');
    const task = await scene.end(leaseId, 'succeeded');
    t.strictSame(await scene.change(id, 'cancel'), { kind: 'refused', reason: 'status', task });
  });
}

function replays(t: Test, open: Parameters<Topic>[1]): void {
  t.test('a replayed task begins anew, and its history goes on', async t => {
    const scene = await open(t);
    const { id, runAt } = await scene.add({ retry: retryPolicy({ maxAttempts: 1 }) });
    await scene.end((await scene.startOne()).leaseId, 'deferred');
    const { leaseId } = await scene.startOne();
    scene.clock.advance(10);
    const failed = await scene.end(leaseId, 'attempt_failed', { error: { code: 'http_5xx', message: 'no' } });
    t.strictSame([failed.status, failed.attempt, failed.deferrals], ['failed', 1, 1]);
    scene.clock.advance(10);
    t.strictSame(await scene.changed(id, 'replay'), {
      ...failed,
      status: 'scheduled',
      dueAt: scene.now,
      attempt: 0,
      deferrals: 0,
      startedAt: null,
      finishedAt: null,
      updatedAt: scene.now,
      version: failed.version + 1,
    });
    t.equal((await scene.get(id)).runAt, runAt);
    const { seq, attempt, nextAttemptAt } = await scene.lastEntry(id);
    t.strictSame([seq, attempt, nextAttemptAt], [6, 0, scene.now]);
  });

  t.test('it may be given other content, which holds from its first attempt on', async t => {
    const scene = await open(t);
    const failed = await scene.taskIn('failed', { type: 'a', tags: ['x'] });
    const runAt = scene.now + 60_000;
    const patch = {
      payload: '{"fixed":true}',
      headers: { 'x-a': 'b' },
      runAt,
      expiresAt: runAt + 1,
      type: 'a',
    };
    const task = await scene.changed(failed.id, 'replay', patch);
    t.match(task, { status: 'scheduled', dueAt: runAt, runAt, expiresAt: runAt + 1, type: 'a', tags: ['x'] });
    const whole = await scene.store.getWhole(ACME, failed.id);
    t.strictSame(whole?.body, { payload: '{"fixed":true}', headers: { 'x-a': 'b' }, result: null });
    const { event, changed, nextAttemptAt } = await scene.lastEntry(failed.id);
    t.strictSame(
      [event, changed, nextAttemptAt],
      ['replayed', ['payload', 'headers', 'run_at', 'expires_at'], runAt],
    );
    t.strictSame((await scene.changed(failed.id, 'update', { tags: [] })).version, task.version + 1);
  });

  t.test('its result is forgotten, and so is the request to cancel', async t => {
    const scene = await open(t);
    const { id } = await scene.add({}, { body: { payload: '1', headers: {} } });
    const { leaseId } = await scene.startOne();
    await scene.changed(id, 'cancel');
    await scene.end(leaseId, 'succeeded', { result: '{"ok":true}' });
    await scene.changed(id, 'replay');
    const whole = await scene.store.getWhole(ACME, id);
    t.strictSame(whole?.body, { payload: '1', headers: {}, result: null });
    t.equal(whole?.task.cancelRequestedAt, null);
    t.equal((await scene.end((await scene.startOne()).leaseId, 'attempt_failed')).status, 'retry');
  });

  t.test('a time to start by that has come does not hold for it any more', async t => {
    const scene = await open(t);
    const expired = await scene.taskIn('expired', { expiresAt: scene.now });
    t.equal((await scene.changed(expired.id, 'replay')).expiresAt, null);
    t.equal((await scene.startOne()).task.id, expired.id);
    const later = scene.now + 1;
    const canceled = await scene.taskIn('canceled', { expiresAt: later });
    t.equal((await scene.changed(canceled.id, 'replay')).expiresAt, later, 'one that is to come does');
  });
}

function runsAndExpires(t: Test, open: Parameters<Topic>[1]): void {
  t.test('a task that is to run now is due, and keeps its time', async t => {
    const scene = await open(t);
    const { id, runAt } = await scene.add({ runAt: scene.now + 3_600_000 });
    scene.clock.advance(1);
    const task = await scene.changed(id, 'run');
    t.strictSame([task.dueAt, task.runAt], [scene.now, runAt]);
    const { changed, nextAttemptAt } = await scene.lastEntry(id);
    t.strictSame([changed, nextAttemptAt], [['run_at'], scene.now]);
    t.equal((await scene.startOne()).task.id, id);
  });

  t.test('a task expires when it has not started in time', async t => {
    const scene = await open(t);
    for (const status of TASK_STATUSES) {
      const expiresAt = scene.now + 10;
      await scene.clear();
      const before = await scene.taskIn(status, status === 'expired' ? {} : { expiresAt });
      const early = { kind: 'refused', reason: 'status', task: before };
      t.strictSame(await scene.change(before.id, 'expire'), early, `${status}, too early`);
      scene.clock.moveTo(expiresAt);
      const answer = await scene.change(before.id, 'expire');
      if (status !== 'scheduled' && status !== 'retry') {
        t.strictSame(answer, early, status);
        continue;
      }
      t.equal(answer.kind, 'done', status);
      const task = await scene.get(before.id);
      t.strictSame([task.status, task.dueAt, task.finishedAt], ['expired', null, scene.now], status);
      const { event, from, to } = await scene.lastEntry(before.id);
      t.strictSame([event, from, to], ['expired', status, 'expired']);
    }
    const never = await scene.add();
    t.equal((await scene.change(never.id, 'expire')).kind, 'refused', 'nor one that may start at any time');
  });
}

function removes(t: Test, open: Parameters<Topic>[1]): void {
  t.test('a task is removed with all that belongs to it, unless it runs', async t => {
    const scene = await open(t);
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

  t.test('a version that is expected must be that of the task', async t => {
    const scene = await open(t);
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
}
