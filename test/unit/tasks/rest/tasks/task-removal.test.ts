import t from 'tap';
import { lookAtRemoval } from '../../../../../src/tasks/scheduler/upkeep/deletions.ts';
import type { StoredDocument } from '../../../../../src/tasks/store/documents.ts';
import { settlement, USER } from '../../../../support/tasks/factories.ts';
import { Firing, TENANT } from '../../../../support/tasks/firing.ts';
import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const withMailer = testsOf(TaskHarness.withMailer);

/** Serves the removals that are due. @returns how many there were */
async function serve(rest: TaskHarness): Promise<number> {
  const due = await rest.store.dueDocuments(100);
  for (const { tenant, document } of due) {
    await lookAtRemoval(rest.store, tenant, document as StoredDocument<'removal'>);
  }
  return due.length;
}

withMailer('a running task deleted by force stops, then goes', async ({ rest, worker }, t) => {
  const { id } = await rest.task({ payload: 1 });
  const leaseId = (await rest.start(worker.id)).get(id)!;
  const answer = await rest.at('DELETE', `tasks/${id}?force=true`);
  t.equal(answer.status, 202);
  t.match(answer.json, { id, status: 'running', cancel_requested_at: /^2026/ });
  t.same(rest.told.at(-1), ['cancelRequested', 'acme', id]);
  t.equal((await rest.at('DELETE', `tasks/${id}?force=true`)).status, 202, 'asking again is fine');

  t.equal(await serve(rest), 0, 'it gets a second to stop');
  rest.clock.advance(1_000);
  t.equal(await serve(rest), 1);
  t.equal((await rest.read(`tasks/${id}`)).status, 'running', 'it does not stop yet');
  t.equal(await serve(rest), 0, 'and is looked at again later');

  await rest.end(leaseId, 'attempt_failed');
  rest.clock.advance(5_000);
  t.equal(await serve(rest), 1);
  t.equal((await rest.at('GET', `tasks/${id}`)).status, 404);
  rest.clock.advance(60_000);
  t.equal(await serve(rest), 0, 'nothing is left of it');
});

withMailer('whatever crashes after the removal was written, it comes about', async ({ rest, worker }, t) => {
  const { id } = await rest.task();
  const leaseId = (await rest.start(worker.id)).get(id)!;
  rest.store.change = async () => {
    throw new Error('the process is killed');
  };
  t.equal((await rest.at('DELETE', `tasks/${id}?force=true`)).status, 500);
  await rest.end(leaseId, 'succeeded');
  rest.clock.advance(1_000);
  await serve(rest);
  t.equal((await rest.at('GET', `tasks/${id}`)).status, 404);
});

withMailer('several processes may look at one removal', async ({ rest, worker }, t) => {
  const { id } = await rest.task();
  const leaseId = (await rest.start(worker.id)).get(id)!;
  await rest.at('DELETE', `tasks/${id}?force=true`);
  await rest.end(leaseId, 'canceled');
  rest.clock.advance(1_000);
  const due = await rest.store.dueDocuments(1);
  const document = due[0].document as StoredDocument<'removal'>;
  await lookAtRemoval(rest.store, 'acme', document);
  await lookAtRemoval(rest.store, 'acme', document);
  t.equal((await rest.at('GET', `tasks/${id}`)).status, 404);
});

withMailer('a task that does not run goes at once, by force as well', async ({ rest }, t) => {
  const { id } = await rest.task();
  t.match(await rest.at('DELETE', `tasks/${id}?force=yes`), problem('invalid_parameter'));
  t.equal((await rest.at('DELETE', `tasks/${id}?force=true`)).status, 204);
});

t.test('the scheduler serves removals with the other documents that are due', async t => {
  const firing = await Firing.begun('2026-03-01T10:00:30Z');
  const { factory } = firing;
  const task = factory.newTask(firing.worker);
  await firing.store.create(TENANT, factory.createRequest([task]));
  const { tasks } = await firing.store.claim(TENANT, factory.claimRequest(firing.worker.id, 1));
  const { id } = tasks[0].task;
  const body = { requestedAt: firing.clock.nowMs(), actor: USER };
  const dueAt = firing.clock.nowMs() + 1_000;
  const put = {
    op: 'put',
    kind: 'removal',
    id,
    expect: 'absent',
    parent: '',
    dueAt,
    unique: [],
    body,
  } as const;
  await firing.store.apply(TENANT, [put]);
  await firing.pass(1_000);
  t.equal((await firing.store.get(TENANT, id))?.status, 'running');
  await firing.store.settle(TENANT, [settlement(tasks[0].leaseId, 'canceled')]);
  await firing.pass(5_000);
  t.equal(await firing.store.get(TENANT, id), null);
  t.equal(await firing.store.getDocument(TENANT, 'removal', id), null);
  await firing.stop();
});

for (const [how, act] of Object.entries<(rest: TaskHarness, id: string) => Promise<{ status: number }>>({
  'is canceled': (rest, id) => rest.at('POST', `tasks/${id}/cancel`),
  'is deleted': (rest, id) => rest.at('DELETE', `tasks/${id}`),
  'is deleted with others': (rest, id) => rest.at('POST', 'tasks/actions', { action: 'delete', ids: [id] }),
  'is deleted as one of a list': rest =>
    rest.at('POST', 'tasks/actions', { action: 'delete', filter: { worker: 'mailer', status: 'retry' } }),
})) {
  t.test(`whoever serves the worker is told when a task that holds another ${how}`, async t => {
    const rest = await TaskHarness.open();
    const worker = await rest.pushWorker();
    const { id } = await rest.task({ key: 'index' });
    const lease = (await rest.start(worker.id)).get(id)!;
    await rest.end(lease, 'attempt_failed');
    const held = await rest.task({ key: 'index', on_conflict: 'replace' });
    t.equal((await rest.store.get('acme', held.id))?.heldBy, id);
    rest.told.length = 0;
    t.match((await act(rest, id)).status, /^20[04]$/);
    t.equal((await rest.store.get('acme', held.id))?.dueAt, rest.clock.nowMs());
    t.same(rest.told, [['taskDue', 'acme', worker.id, rest.clock.nowMs()]]);
  });
}

withMailer(
  'a task is not started again if another process has just deleted its worker',
  async ({ rest, worker }, t) => {
    const { id } = await rest.task({});
    await rest.at('POST', `tasks/${id}/cancel`);
    t.equal((await rest.at('POST', `tasks/${id}/retry`)).status, 200, 'the worker is cached for a second');
    await rest.at('POST', `tasks/${id}/cancel`);
    await rest.store.apply('acme', [
      { op: 'delete', kind: 'worker', id: worker.id, expect: 'any', noOpenTasksOf: worker.id },
    ]);
    const { status, json } = await rest.at('POST', `tasks/${id}/retry`);
    t.equal(status, 409);
    t.match(json, { code: 'invalid_transition' });
    t.equal((await rest.store.get('acme', id))?.status, 'canceled', 'it would wait forever');
  },
);
