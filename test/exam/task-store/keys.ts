import { retryPolicy, USER } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';

export const keys: Topic = test => {
  test('a task that is asked for again is found by its key', async (scene, t) => {
    const { id } = await scene.add({ key: 'k' });
    const task = await scene.changed(id, 'update', { tags: ['changed'] });
    const again = scene.newTask({ key: 'k', type: 'other' });
    t.strictSame(await scene.result(again), { kind: 'existing', task, keyFreeAt: null });
    t.equal(await scene.store.get(ACME, again.task.id), null);
    t.strictSame(await scene.get(id), task, 'and stays as it is');
  });

  test('or refused, with the id of the one that has the key', async (scene, t) => {
    const { id } = await scene.add({ key: 'k' });
    t.strictSame(await scene.result(scene.newTask({ key: 'k' }, { onConflict: 'reject' })), {
      kind: 'refused',
      reason: 'task_key_exists',
      taskId: id,
    });
  });

  test('a task of the same request has its key already', async (scene, t) => {
    const [first, second, third] = await scene.create([
      scene.newTask({ key: 'k' }),
      scene.newTask({ key: 'k' }),
      scene.newTask({ key: 'k' }, { onConflict: 'reject' }),
    ]);
    const task = first.kind === 'created' && first.task;
    t.strictSame(second, { kind: 'existing', task, keyFreeAt: null });
    t.strictSame(third, { kind: 'refused', reason: 'task_key_exists', taskId: task ? task.id : '' });
  });

  test('keys of two workers, and texts that differ in a character, are two keys', async (scene, t) => {
    const items = [
      scene.newTask({ key: 'k' }),
      scene.make.newTask(scene.reporter, { key: 'k' }),
      scene.newTask({ key: 'K' }),
      scene.newTask({ key: 'k:' }),
      scene.newTask(),
      scene.newTask(),
    ];
    const results = await scene.create(items);
    t.ok(results.every(({ kind }) => kind === 'created'));
  });

  for (const status of ['scheduled', 'running', 'retry', 'paused'] as const) {
    test(`a key stays taken while its task is ${status}`, async (scene, t) => {
      const { id } = await scene.taskIn(status, { key: 'k' });
      const result = await scene.result(scene.newTask({ key: 'k' }));
      t.equal(result.kind === 'existing' && result.task.id, id);
    });
  }

  for (const status of ['succeeded', 'failed', 'canceled', 'expired'] as const) {
    test(`a key is free at once when its task is ${status}, unless it is to stay`, async (scene, t) => {
      await scene.taskIn(status, { key: 'k' });
      t.equal((await scene.result(scene.newTask({ key: 'k' }))).kind, 'created');

      const task = await scene.taskIn(status, { key: 'l', keyTtlMs: 1_000, runAt: scene.now - 1 });
      const freeAt = scene.now + 1_000;
      t.strictSame(await scene.result(scene.newTask({ key: 'l' })), {
        kind: 'existing',
        task,
        keyFreeAt: freeAt,
      });
      scene.clock.moveTo(freeAt - 1);
      t.strictSame(await scene.result(scene.newTask({ key: 'l' }, { onConflict: 'reject' })), {
        kind: 'refused',
        reason: 'task_key_exists',
        taskId: task.id,
      });
      scene.clock.moveTo(freeAt);
      t.equal((await scene.result(scene.newTask({ key: 'l' }))).kind, 'created');
    });
  }

  for (const onConflict of ['replace', 'replace_keep_time'] as const) {
    test(`${onConflict} makes a new task although the key of one that ended is not free`, async (scene, t) => {
      const { id } = await scene.taskIn('succeeded', { key: 'k', keyTtlMs: 60_000 });
      const result = await scene.result(scene.newTask({ key: 'k' }, { onConflict }));
      t.equal(result.kind, 'created');
      t.notOk(result.kind === 'created' && result.task.heldBy, 'which waits for nobody');
      t.not(result.kind === 'created' && result.task.id, id);
      scene.clock.advance(60_000);
      t.equal((await scene.result(scene.newTask({ key: 'k' }))).kind, 'existing', 'and has the key now');
    });
  }

  test('a removed task leaves its key at once', async (scene, t) => {
    const ended = await scene.taskIn('succeeded', { key: 'k', keyTtlMs: 60_000 });
    await scene.store.remove(ACME, ended.id, null);
    const next = await scene.result(scene.newTask({ key: 'k' }));
    t.equal(next.kind, 'created');
    await scene.store.remove(ACME, next.kind === 'created' ? next.task.id : '', null);
    t.equal((await scene.result(scene.newTask({ key: 'k' }))).kind, 'created');
  });

  test('a task that lost its key to another does not free it', async (scene, t) => {
    const old = await scene.taskIn('succeeded', { key: 'k', keyTtlMs: 60_000 });
    const { id } = await scene.add({ key: 'k' }, { onConflict: 'replace' });
    await scene.store.remove(ACME, old.id, null);
    const result = await scene.result(scene.newTask({ key: 'k' }));
    t.equal(result.kind === 'existing' && result.task.id, id);
  });

  test('a waiting task is given the new content, under its own id', async (scene, t) => {
    const before = await scene.add({ key: 'k', keyTtlMs: 7, scheduleId: 'sch_1', scheduledFor: 1 });
    scene.clock.advance(10);
    const content = {
      type: 'new',
      priority: 'bulk',
      runAt: scene.now + 5_000,
      expiresAt: scene.now + 50_000,
      timeoutMs: 1_000,
      retry: retryPolicy({ maxAttempts: 2 }),
      tags: ['new'],
      metadata: { a: 'new' },
    } as const;
    const other = {
      keyTtlMs: 9,
      scheduleId: 'sch_2',
      scheduledFor: 2,
      createdBy: { type: 'user', id: 'x' },
    } as const;
    const body = { payload: '"new"', headers: { 'x-new': '1' } };
    const item = scene.newTask({ key: 'k', ...content, ...other }, { onConflict: 'replace', body });
    const task = { ...before, ...content, dueAt: content.runAt, updatedAt: scene.now, version: 2 };
    t.strictSame(await scene.result(item), { kind: 'replaced', task });
    t.strictSame(await scene.store.getWhole(ACME, before.id), { task, body: { ...body, result: null } });
    t.equal(await scene.store.get(ACME, item.task.id), null);
    t.strictSame(await scene.lastEntry(before.id), {
      seq: 2,
      at: scene.now,
      event: 'updated',
      from: 'scheduled',
      to: 'scheduled',
      attempt: 0,
      actor: USER,
      nextAttemptAt: content.runAt,
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

  test('it may keep its time', async (scene, t) => {
    const { id, runAt } = await scene.add({ key: 'k', runAt: scene.now + 60_000 });
    await scene.changed(id, 'run');
    scene.clock.advance(1);
    const dueAt = scene.now - 1;
    const later = { key: 'k', type: 'new', runAt: scene.now + 90_000 };
    const kept = await scene.add(later, { onConflict: 'replace_keep_time' });
    t.strictSame([kept.runAt, kept.dueAt, kept.type], [runAt, dueAt, 'new']);
    t.strictSame((await scene.lastEntry(id)).changed, ['type']);
    const moved = await scene.add({ ...later, runAt }, { onConflict: 'replace' });
    t.strictSame([moved.runAt, moved.dueAt], [runAt, runAt], 'else its time is that of the new content');
  });

  test('the same content again counts as a version, and is no event', async (scene, t) => {
    const before = await scene.add({ key: 'k', runAt: scene.now + 5 });
    scene.clock.advance(1);
    const task = await scene.add({ key: 'k', runAt: scene.now + 4 }, { onConflict: 'replace' });
    t.strictSame(task, { ...before, version: 2, updatedAt: scene.now });
    t.strictSame(await scene.events(before.id), ['created']);
  });

  test('a paused task that has not started is replaced, and stays paused', async (scene, t) => {
    const { id } = await scene.taskIn('paused', { key: 'k' });
    const task = await scene.add({ key: 'k', runAt: scene.now + 9 }, { onConflict: 'replace' });
    t.strictSame(
      [task.id, task.status, task.runAt, task.dueAt],
      [id, 'paused', scene.now + 9, scene.now + 9],
    );
  });

  for (const status of ['running', 'retry', 'paused'] as const) {
    test(`beside a task that has started and is ${status} a new one waits for its end`, async (scene, t) => {
      const first = await scene.taskIn(status === 'paused' ? 'retry' : status, { key: 'k' });
      if (status === 'paused') await scene.changed(first.id, 'pause');
      const item = scene.newTask({ key: 'k' }, { onConflict: 'replace' });
      const result = await scene.result(item);
      t.equal(result.kind, 'created');
      const second = await scene.get(item.task.id);
      t.strictSame([second.status, second.heldBy, second.dueAt], ['scheduled', first.id, null]);
      const holder = await scene.result(scene.newTask({ key: 'k' }));
      t.equal(holder.kind === 'existing' && holder.task.id, second.id, 'it has the key');
    });
  }

  test('the one that waits is replaced by a third', async (scene, t) => {
    const first = await scene.taskIn('running', { key: 'k' });
    const second = await scene.add({ key: 'k' }, { onConflict: 'replace' });
    const runAt = scene.now + 500;
    const third = await scene.add({ key: 'k', type: 'third', runAt }, { onConflict: 'replace' });
    t.strictSame(
      [third.id, third.type, third.heldBy, third.runAt, third.dueAt],
      [second.id, 'third', first.id, runAt, null],
    );
  });

  test('the first one that ends leaves the key to the second', async (scene, t) => {
    await scene.add({ key: 'k', keyTtlMs: 60_000 });
    const { leaseId } = await scene.startOne();
    const second = await scene.add({ key: 'k' }, { onConflict: 'replace' });
    await scene.end(leaseId, 'succeeded');
    const result = await scene.result(scene.newTask({ key: 'k' }));
    t.equal(result.kind === 'existing' && result.task.id, second.id);
    t.equal(result.kind === 'existing' && result.keyFreeAt, null);
  });

  const ends = ['canceled', 'removed'] as const;
  for (const end of ends) {
    test(`the first one has the key again when the second is ${end}`, async (scene, t) => {
      const first = await scene.taskIn('running', { key: 'k' });
      const second = await scene.add({ key: 'k', keyTtlMs: 60_000 }, { onConflict: 'replace' });
      if (end === 'canceled') await scene.changed(second.id, 'cancel');
      else await scene.store.remove(ACME, second.id, null);
      const found = await scene.result(scene.newTask({ key: 'k' }));
      t.equal(found.kind === 'existing' && found.task.id, first.id);
      const third = await scene.add({ key: 'k' }, { onConflict: 'replace' });
      t.equal(third.heldBy, first.id, 'so that never two of a key are live without order');
    });
  }

  test('a replayed task has its key again', async (scene, t) => {
    const { id } = await scene.taskIn('failed', { key: 'k' });
    await scene.changed(id, 'replay');
    const result = await scene.result(scene.newTask({ key: 'k' }));
    t.strictSame(result, { kind: 'existing', task: await scene.get(id), keyFreeAt: null });
  });

  test('also while its own key is not free yet', async (scene, t) => {
    const { id } = await scene.taskIn('failed', { key: 'k', keyTtlMs: 60_000 });
    t.equal((await scene.change(id, 'replay')).kind, 'done');
    scene.clock.advance(60_000);
    t.equal((await scene.result(scene.newTask({ key: 'k' }))).kind, 'existing');
  });

  test('it is refused while another task has the key', async (scene, t) => {
    const old = await scene.taskIn('failed', { key: 'k' });
    const { id } = await scene.add({ key: 'k', keyTtlMs: 1_000 });
    const refused = { kind: 'refused', reason: 'key_taken', task: await scene.get(old.id) };
    t.strictSame(await scene.change(old.id, 'replay'), refused);
    await scene.changed(id, 'cancel');
    t.strictSame(await scene.change(old.id, 'replay'), refused, 'or had it, and it is not free yet');
    scene.clock.advance(1_000);
    t.equal((await scene.change(old.id, 'replay')).kind, 'done');
  });
};
