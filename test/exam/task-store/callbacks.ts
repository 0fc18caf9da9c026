import type { OnFinish, TaskStatus } from '../../../src/tasks/model/task.ts';
import { keptHeaders } from '../../../src/tasks/model/task-headers.ts';
import { MAX_CALLBACK_RESULT, type StoredDocument } from '../../../src/tasks/store/documents.ts';
import type { Topic } from './exam.ts';
import { ACME, type Scene } from './scene.ts';

/** Documents that stores write for tasks that end, and the creation of the callbacks themselves. */

const ALL = ['succeeded', 'failed', 'canceled', 'expired'] as const;

function telling(scene: Scene, events: OnFinish['events'] = ALL): { readonly onFinish: OnFinish } {
  return { onFinish: { workerId: scene.reporter.id, events } };
}

async function written(scene: Scene): Promise<readonly StoredDocument<'callback'>[]> {
  const query = { kind: 'callback', after: null, limit: 100, order: 'asc' } as const;
  return (await scene.store.listDocuments(ACME, query)) as readonly StoredDocument<'callback'>[];
}

function expiring(scene: Scene, status: TaskStatus): { readonly expiresAt?: number } {
  return status === 'expired' ? { expiresAt: scene.now } : {};
}

export const callbacks: Topic = test => {
  test('the end of a task is kept, with all that a callback tells', async (scene, t) => {
    const task = await scene.add({
      ...telling(scene),
      type: 'mail "now"/\n',
      key: 'order-ä',
      tags: ['a', 'ü"'],
    });
    t.strictSame(task.onFinish, telling(scene).onFinish, 'the task says who is told');
    const first = await scene.startOne();
    await scene.end(first.leaseId, 'attempt_failed', { error: { code: 'http_5xx', message: 'no "x"\\' } });
    t.strictSame(await written(scene), [], 'a task that is to be retried has not ended');
    scene.clock.advance(1_000);
    const second = await scene.startOne();
    const error = { code: 'http_4xx', message: 'gone', httpStatus: 410 };
    const ended = await scene.end(second.leaseId, 'no_retry', { error });
    const document: StoredDocument<'callback'> = {
      kind: 'callback',
      id: `${task.id}.${ended.version}`,
      version: 1,
      parent: scene.reporter.id,
      dueAt: scene.now,
      body: {
        taskId: task.id,
        workerId: scene.mailer.id,
        worker: scene.mailer.body.name,
        type: 'mail "now"/\n',
        key: 'order-ä',
        tags: ['a', 'ü"'],
        status: 'failed',
        attempt: 2,
        lastError: { ...error, at: scene.now },
        result: null,
        resultOmitted: false,
        finishedAt: scene.now,
      },
    };
    t.strictSame(await written(scene), [document]);
    t.strictSame(await scene.store.getDocument(ACME, 'callback', document.id), document);
    t.strictSame(await scene.store.dueDocuments(10), [{ tenant: ACME, document }], 'it is due at once');
    await scene.store.remove(ACME, task.id, null);
    t.strictSame(await written(scene), [document], 'it stays when the task is removed');
  });

  test('a callback has the trace context of the task, however it has ended', async (scene, t) => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const headers = keptHeaders({ x: 'ü"' }, { trace: { traceparent, tracestate: 'a=1' } });
    for (const event of ['succeeded', 'no_retry'] as const) {
      await scene.add(telling(scene), { body: { payload: null, headers } });
      await scene.end((await scene.startOne()).leaseId, event);
    }
    const traces = (await written(scene)).map(({ body }) => body.trace);
    t.strictSame(traces, [`${traceparent} a=1`, `${traceparent} a=1`]);
  });

  test('a result is part of it, unless it is large', async (scene, t) => {
    const largest = JSON.stringify('ä'.repeat(MAX_CALLBACK_RESULT / 2 - 1));
    for (const result of [
      null,
      '{"a":[1.50]}',
      largest,
      JSON.stringify('x'.repeat(MAX_CALLBACK_RESULT - 1)),
    ]) {
      await scene.add(telling(scene));
      await scene.end((await scene.startOne()).leaseId, 'succeeded', { result });
    }
    t.strictSame(
      (await written(scene)).map(({ body }) => [body.result, body.resultOmitted]),
      [
        [null, false],
        ['{"a":[1.50]}', false],
        [largest, false],
        [null, true],
      ],
    );
  });

  for (const status of ALL) {
    test(`a task that ends as ${status}, for those who want to know of it`, async (scene, t) => {
      const wanted = await scene.taskIn(status, { ...telling(scene, [status]), ...expiring(scene, status) });
      const others = ALL.filter(other => other !== status);
      await scene.taskIn(status, { ...telling(scene, others), ...expiring(scene, status) });
      await scene.taskIn(status, expiring(scene, status));
      const found = (await written(scene)).map(({ body }) => [body.taskId, body.status]);
      t.strictSame(found, [[wanted.id, status]]);
    });
  }

  test('a running task that is canceled is told of when it has ended', async (scene, t) => {
    const { task, leaseId } = await scene.add(telling(scene)).then(() => scene.startOne());
    await scene.changed(task.id, 'cancel');
    t.strictSame(await written(scene), []);
    await scene.end(leaseId, 'released');
    t.match(await written(scene), [{ body: { taskId: task.id, status: 'canceled' } }]);
  });

  test('a task that is replayed ends again', async (scene, t) => {
    const { id } = await scene.taskIn('failed', telling(scene));
    await scene.changed(id, 'replay');
    t.equal((await written(scene)).length, 1);
    await scene.end((await scene.startOne()).leaseId, 'succeeded');
    const found = (await written(scene)).map(({ body }) => [body.taskId, body.status]);
    t.strictSame(found, [
      [id, 'failed'],
      [id, 'succeeded'],
    ]);
  });

  test('nothing is written of a task that is removed before it ends, or whose end was told before', async (scene, t) => {
    const { id } = await scene.add(telling(scene));
    await scene.store.remove(ACME, id, null);
    await scene.add(telling(scene));
    const { leaseId } = await scene.startOne();
    await scene.end(leaseId, 'succeeded');
    t.equal((await scene.settle(leaseId, 'succeeded')).kind, 'already');
    t.equal((await scene.settle(leaseId, 'no_retry')).kind, 'lost');
    t.equal((await written(scene)).length, 1);
  });

  test('the document goes in the step that creates the callback: once, and not if that is refused', async (scene, t) => {
    const task = await scene.taskIn('failed', telling(scene));
    const [{ kind, id, version }] = await written(scene);
    const documents = [{ op: 'delete', kind, id, expect: version } as const];
    const createdBy = { type: 'task', id: task.id } as const;
    const create = (maxOpen: number) => {
      const callback = scene.make.newTask(scene.reporter, { createdBy });
      const request = scene.make.createRequest([callback], { documents, atomic: true, maxOpen });
      return scene.store.create(ACME, request);
    };
    t.match(await create(0), { kind: 'done', results: [{ reason: 'quota_exceeded' }] });
    t.equal((await written(scene)).length, 1, 'a callback that was refused is still to be created');
    t.match(await create(1), { kind: 'done', results: [{ kind: 'created', task: { createdBy } }] });
    t.strictSame(await written(scene), []);
    t.match(await create(9), { kind: 'documents_refused', reason: 'missing' }, 'nobody creates it twice');
    t.equal((await scene.store.counts(ACME, scene.reporter.id)).scheduled, 1);
  });
};
