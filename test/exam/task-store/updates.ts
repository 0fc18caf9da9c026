import { retryPolicy, USER } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';

export const updating: Topic = test => {
  test('an update changes what it names, and says so', async (scene, t) => {
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

  test('null clears what may be empty', async (scene, t) => {
    const body = { payload: '1', headers: {} };
    const { id } = await scene.add({ type: 'a', expiresAt: scene.now + 9 }, { body });
    const task = await scene.changed(id, 'update', { type: null, expiresAt: null, payload: null });
    t.strictSame([task.type, task.expiresAt], [null, null]);
    t.equal((await scene.store.getWhole(ACME, id))?.body.payload, null);
    t.strictSame((await scene.lastEntry(id)).changed, ['type', 'payload', 'expires_at']);
  });

  test('a field that is as it was does not count', async (scene, t) => {
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

  test('a new time is when the task is due, also for a further attempt', async (scene, t) => {
    const { id } = await scene.taskIn('retry');
    const runAt = scene.now + 1_000;
    const task = await scene.changed(id, 'update', { runAt });
    t.strictSame([task.status, task.runAt, task.dueAt], ['retry', runAt, runAt]);
    t.equal((await scene.lastEntry(id)).nextAttemptAt, runAt);
    const paused = await scene.taskIn('paused');
    t.equal((await scene.changed(paused.id, 'update', { runAt })).dueAt, runAt);
  });

  test('while an attempt runs only tags, metadata and the number of attempts change', async (scene, t) => {
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

  test('a task with another priority starts in another order', async (scene, t) => {
    const first = await scene.add({ priority: 'normal' });
    const second = await scene.add({ priority: 'normal' });
    await scene.changed(first.id, 'update', { priority: 'bulk' });
    t.equal((await scene.startOne()).task.id, second.id);
  });

  test('a replayed task starts again and keeps its history', async (scene, t) => {
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

  test('it may be given other content, which holds from its first attempt on', async (scene, t) => {
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

  test('its result is forgotten, and so is the request to cancel', async (scene, t) => {
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

  test('a time to start by that has come does not hold for it any more', async (scene, t) => {
    const expired = await scene.taskIn('expired', { expiresAt: scene.now });
    t.equal((await scene.changed(expired.id, 'replay')).expiresAt, null);
    t.equal((await scene.startOne()).task.id, expired.id);
    const later = scene.now + 1;
    const canceled = await scene.taskIn('canceled', { expiresAt: later });
    t.equal((await scene.changed(canceled.id, 'replay')).expiresAt, later, 'one that is to come does');
  });
};
