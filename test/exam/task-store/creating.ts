import { READ_BYTES } from '../../../src/tasks/store/task-store.ts';
import { each } from '../../support/each.ts';
import { retryPolicy } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

async function created(scene: Scene, item: ReturnType<Scene['newTask']>) {
  const result = await scene.result(item);
  if (result.kind !== 'created') throw new Error(`not created: ${result.kind}`);
  return result.task;
}

export const creating: Topic = test => {
  test('a task is scheduled for its time, and kept as it was given', async (scene, t) => {
    const item = scene.newTask(
      {
        type: 'email.welcome',
        priority: 'high',
        runAt: scene.now + 60_000,
        expiresAt: scene.now + 600_000,
        timeoutMs: 5_000,
        retry: retryPolicy({
          maxAttempts: 3,
          factor: 1.5,
          jitter: 0.25,
          scheduleMs: [1_000, 2_000],
          maxAgeMs: 90_000,
        }),
        key: 'order:17/a.b_c-d',
        keyTtlMs: 1_000,
        tags: ['a', 'b'],
        metadata: { order: '17' },
        scheduleId: 'sch_1',
        scheduledFor: scene.now - 1,
        createdBy: { type: 'schedule', id: 'sch_1' },
      },
      { body: { payload: '{"to":"ann"}', headers: { 'x-a': '1', accept: 'text/plain' } } },
    );
    scene.clock.advance(5);
    const task = {
      ...item.task,
      status: 'scheduled',
      dueAt: item.task.runAt,
      attempt: 0,
      deferrals: 0,
      lastError: null,
      cancelRequestedAt: null,
      updatedAt: scene.now,
      startedAt: null,
      finishedAt: null,
      version: 1,
    };
    const body = { ...item.body, result: null };
    t.strictSame(await scene.create([item]), [{ kind: 'created', task }]);
    t.strictSame(await scene.store.get(ACME, task.id), task);
    t.strictSame(await scene.store.getWhole(ACME, task.id), { task, body });
    t.strictSame(await scene.store.bodies(ACME, [task.id]), new Map([[task.id, body]]));
  });

  test('its history begins with an entry by who made it', async (scene, t) => {
    const createdBy = { type: 'schedule', id: 'sch_1' } as const;
    const item = scene.newTask({ runAt: scene.now + 60_000, createdBy });
    scene.clock.advance(5);
    const { id } = await created(scene, item);
    t.strictSame(await scene.history(id), [
      {
        seq: 1,
        at: scene.now,
        event: 'created',
        from: null,
        to: 'scheduled',
        attempt: 0,
        actor: createdBy,
        nextAttemptAt: item.task.runAt,
      },
    ]);
  });

  test('tasks of several makers can be made at once: the first entry of each names its own', async (scene, t) => {
    const createdBy = { type: 'schedule', id: 'sch_1' } as const;
    const { id } = await created(scene, scene.newTask({ createdBy }));
    t.same(
      (await scene.history(id)).map(({ event, actor }) => [event, actor]),
      [['created', createdBy]],
    );
  });

  test('a time in the past is kept', async (scene, t) => {
    const task = await scene.add({ runAt: scene.now - 3_600_000 });
    t.equal(task.runAt, scene.now - 3_600_000);
    t.equal(task.dueAt, task.runAt);
  });

  test('what is not there is null', async (scene, t) => {
    const id = scene.make.id('task');
    t.equal(await scene.store.get(ACME, id), null);
    t.equal(await scene.store.getWhole(ACME, id), null);
    t.strictSame(await scene.store.bodies(ACME, [id]), new Map([[id, null]]));
  });

  const texts = {
    'quotes and control characters': `'"\\\n\t;--{}[]%$`,
    'characters of every plane': 'äß€漢🚀',
    'what looks like a number': '0123',
    'what looks like a word of a programming language': 'null',
    'an empty text': '',
  };
  for (const [name, text] of Object.entries(texts)) {
    test(`${name} stay as they are`, async (scene, t) => {
      const item = scene.newTask(
        { type: text, tags: [text, 'b'], metadata: { a: text } },
        { body: { payload: JSON.stringify({ text }), headers: { 'x-text': text } } },
      );
      const { id } = await created(scene, item);
      const whole = await scene.store.getWhole(ACME, id);
      t.equal(whole?.task.type, text);
      t.strictSame(whole?.task.tags, [text, 'b']);
      t.strictSame(whole?.task.metadata, { a: text });
      t.strictSame(whole?.body, { ...item.body, result: null });
    });
  }

  test('a large payload stays as it is, and none is none', async (scene, t) => {
    const payload = JSON.stringify('ä'.repeat(131_000));
    const large = await scene.add({}, { body: { payload, headers: {} } });
    const none = await scene.add({}, { body: { payload: null, headers: {} } });
    const bodies = await scene.store.bodies(ACME, [none.id, large.id]);
    t.ok(bodies.get(large.id)?.payload === payload);
    t.strictSame(bodies.get(none.id), { payload: null, headers: {}, result: null });
  });

  test('bodies are read up to a bound of their bytes, and the rest is for the next call', async (scene, t) => {
    const third = { body: { payload: JSON.stringify('ä'.repeat(150_000)), headers: {} } };
    const whole = { body: { payload: JSON.stringify('x'.repeat(READ_BYTES)), headers: {} } };
    const ids: string[] = [];
    for (const rest of [third, whole, third, third, third, third]) ids.push((await scene.add({}, rest)).id);
    const missing = scene.make.id('task');
    ids.splice(2, 0, missing);
    const calls: string[][] = [];
    for (let left = ids; left.length > 0; left = left.slice(calls.at(-1)!.length)) {
      const bodies = await scene.store.bodies(ACME, left);
      calls.push([...bodies.keys()]);
      t.equal([...bodies].find(([, body]) => body === null)?.[0], bodies.has(missing) ? missing : undefined);
    }
    t.strictSame(calls.flat(), ids);
    t.strictSame(
      calls.map(({ length }) => length),
      [1, 2, 3, 1],
    );
  });

  test('five hundred tasks fit into one request', async (scene, t) => {
    const items = Array.from({ length: 500 }, (_, i) => scene.newTask({ type: `n${i}` }));
    const results = await scene.create(items);
    t.strictSame(
      results.map(result => result.kind !== 'refused' && result.task.type),
      items.map(({ task }) => task.type),
    );
    t.equal((await scene.store.counts(ACME, null)).scheduled, 500);
  });

  test('a task needs a worker; those beside it are made', async (scene, t) => {
    const items = [scene.newTask(), scene.newTask({ workerId: 'wrk_nobody' }), scene.newTask()];
    const results = await scene.create(items);
    t.strictSame(results[1], { kind: 'refused', reason: 'worker_missing' });
    t.strictSame(each(results, 'kind'), ['created', 'refused', 'created']);
    t.equal(await scene.store.get(ACME, items[1].task.id), null);
  });

  test('the quota counts open tasks, those of the request included', async (scene, t) => {
    const first = await scene.add();
    const results = await scene.create([scene.newTask(), scene.newTask(), scene.newTask()], { maxOpen: 3 });
    t.strictSame(each(results, 'kind'), ['created', 'created', 'refused']);
    t.strictSame(results[2], { kind: 'refused', reason: 'quota_exceeded' });
    await scene.changed(first.id, 'cancel');
    t.equal(
      (await scene.result(scene.newTask(), { maxOpen: 3 })).kind,
      'created',
      'an ended task is not open',
    );
    await scene.changed(first.id, 'replay');
    t.equal((await scene.result(scene.newTask(), { maxOpen: 3 })).kind, 'refused', 'a replayed one is again');
    await scene.store.remove(ACME, first.id, null);
    t.equal((await scene.result(scene.newTask(), { maxOpen: 4 })).kind, 'created', 'a removed one is not');
  });

  test('a task that exists, or is replaced, needs no room in the quota', async (scene, t) => {
    await scene.add({ key: 'k' });
    const full = { maxOpen: 1 };
    t.equal((await scene.result(scene.newTask({ key: 'k' }), full)).kind, 'existing');
    const replacing = scene.newTask({ key: 'k' }, { onConflict: 'replace' });
    t.equal((await scene.result(replacing, full)).kind, 'replaced');
  });

  test('a missing worker is reported before a taken key, and a taken key before the quota', async (scene, t) => {
    const { id } = await scene.add({ key: 'k' });
    const items = [
      scene.newTask({ key: 'k', workerId: 'wrk_nobody' }, { onConflict: 'reject' }),
      scene.newTask({ key: 'k' }, { onConflict: 'reject' }),
      scene.newTask(),
    ];
    t.strictSame(await scene.create(items, { maxOpen: 1 }), [
      { kind: 'refused', reason: 'worker_missing' },
      { kind: 'refused', reason: 'task_key_exists', taskId: id },
      { kind: 'refused', reason: 'quota_exceeded' },
    ]);
  });
};
