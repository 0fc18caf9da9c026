import { each } from '../../support/each.ts';
import { idempotency } from '../../support/tasks/factories.ts';
import type { Topic } from './exam.ts';
import { ACME } from './scene.ts';

/** Requests that make several tasks, or more than tasks. */

export const creatingTogether: Topic = test => {
  test('an atomic request with a refused task makes none', async (scene, t) => {
    const items = [
      scene.newTask({ key: 'k' }),
      scene.newTask({ workerId: 'wrk_nobody' }),
      scene.newTask({ key: 'k' }),
      scene.newTask(),
      scene.newTask(),
    ];
    const document = scene.make.user();
    const results = await scene.create(items, { atomic: true, maxOpen: 2, documents: [document] });
    t.strictSame(
      results.map(result => result.kind === 'refused' && result.reason),
      ['not_created', 'worker_missing', 'not_created', 'not_created', 'quota_exceeded'],
    );
    for (const { task } of items) t.equal(await scene.store.get(ACME, task.id), null);
    t.equal((await scene.store.counts(ACME, null)).scheduled, 0);
    t.equal(await scene.store.getDocument(ACME, 'user', document.id), null, 'nor a document');
    t.equal((await scene.result(scene.newTask({ key: 'k' }))).kind, 'created', 'and no key is taken');
  });

  test('an atomic request changes no task that it would have replaced', async (scene, t) => {
    const before = await scene.add({ key: 'k', type: 'old' });
    const items = [
      scene.newTask({ key: 'k', type: 'new' }, { onConflict: 'replace' }),
      scene.newTask({ key: 'k' }, { onConflict: 'reject' }),
    ];
    t.strictSame(await scene.create(items, { atomic: true }), [
      { kind: 'refused', reason: 'not_created' },
      { kind: 'refused', reason: 'task_key_exists', taskId: before.id },
    ]);
    t.strictSame(await scene.get(before.id), before);
    t.strictSame(await scene.events(before.id), ['created']);
  });

  test('an atomic request without refusals is carried out', async (scene, t) => {
    const results = await scene.create([scene.newTask(), scene.newTask()], { atomic: true });
    t.strictSame(each(results, 'kind'), ['created', 'created']);
    t.equal((await scene.store.counts(ACME, null)).scheduled, 2);
  });

  test('documents are changed in the same step, before the tasks are made', async (scene, t) => {
    const worker = scene.make.worker({ name: 'new' });
    const item = scene.make.newTask(worker);
    t.equal((await scene.result(item, { documents: [worker] })).kind, 'created');
    t.equal((await scene.store.getDocument(ACME, 'worker', worker.id))?.version, 1);
  });

  test('a task is refused whose worker goes in the same step', async (scene, t) => {
    const gone = { op: 'delete', kind: 'worker', id: scene.mailer.id, expect: 'any' } as const;
    t.strictSame(await scene.result(scene.newTask(), { documents: [gone] }), {
      kind: 'refused',
      reason: 'worker_missing',
    });
    t.equal(
      await scene.store.getDocument(ACME, 'worker', scene.mailer.id),
      null,
      'the document is gone all the same',
    );
  });

  test('a document that is refused refuses everything', async (scene, t) => {
    const user = scene.make.user();
    const item = scene.newTask();
    const request = scene.make.createRequest([item], {
      documents: [user, { ...scene.mailer, expect: 7 }],
      idempotency: idempotency('i'),
    });
    t.strictSame(await scene.store.create(ACME, request), {
      kind: 'documents_refused',
      index: 1,
      reason: 'version',
    });
    t.equal(await scene.store.get(ACME, item.task.id), null);
    t.equal(await scene.store.getDocument(ACME, 'user', user.id), null);
    t.strictSame(await scene.store.recall(ACME, idempotency('i')), { kind: 'new' });
  });

  test('a schedule moves on exactly once with the task that it makes', async (scene, t) => {
    const schedule = scene.make.schedule(scene.mailer);
    await scene.store.apply(ACME, [schedule]);
    const fire = () => {
      const moved = { ...schedule, expect: 1, dueAt: scene.now + 60_000 };
      const item = scene.newTask({ scheduleId: schedule.id, scheduledFor: scene.now });
      return scene.store.create(ACME, scene.make.createRequest([item], { documents: [moved] }));
    };
    t.equal((await fire()).kind, 'done');
    t.strictSame(await fire(), { kind: 'documents_refused', index: 0, reason: 'version' });
    t.equal((await scene.store.openOfSchedule(ACME, schedule.id, 10)).length, 1);
  });

  test('documents stay changed although all tasks are refused one by one', async (scene, t) => {
    const user = scene.make.user();
    const results = await scene.create([scene.newTask()], { maxOpen: 0, documents: [user] });
    t.strictSame(results, [{ kind: 'refused', reason: 'quota_exceeded' }]);
    t.equal((await scene.store.getDocument(ACME, 'user', user.id))?.version, 1);
  });

  test('a request may change documents alone', async (scene, t) => {
    const user = scene.make.user();
    t.strictSame(await scene.create([], { documents: [user] }), []);
    t.equal((await scene.store.getDocument(ACME, 'user', user.id))?.version, 1);
  });
};
