import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(open);

const ALL = ['succeeded', 'failed', 'canceled', 'expired'];

/** A tenant with a worker `mailer`, and a worker `listener`. */
async function open() {
  const rest = await TaskHarness.open();
  await rest.pushWorker();
  const listener = await rest.made('workers', { name: 'listener' });
  return { rest, listener: listener.id as string };
}

test('a worker names another worker that is called when its tasks end', async ({ rest, listener }, t) => {
  t.strictSame((await rest.read('workers/mailer')).on_finish, null);
  const set = await rest.at('PUT', 'workers/mailer', { on_finish: { worker: 'listener' } });
  t.strictSame(set.json.on_finish, { worker: listener, events: ALL });
  const some = { worker: listener, events: ['expired', 'failed', 'failed'] };
  const { json } = await rest.at('PATCH', 'workers/mailer', { on_finish: some });
  t.strictSame(json.on_finish, { worker: listener, events: ['failed', 'expired'] });
  const left = await rest.at('PUT', 'workers/mailer', { concurrency: 3 });
  t.strictSame(left.json.on_finish, json.on_finish, 'what is left out stays');
  const read = await rest.at('GET', 'workers/mailer');
  const again = await rest.at('PUT', 'workers/mailer', read.json);
  t.strictSame(again.json.on_finish, json.on_finish, 'what was read can be sent back');
  t.strictSame((await rest.at('PUT', 'workers/mailer', { on_finish: null })).json.on_finish, null);
  const made = await rest.made('workers', {
    name: 'third',
    on_finish: { worker: 'mailer', events: ['failed'] },
  });
  t.match(made.on_finish, { events: ['failed'] });
});

test('invalid callbacks are rejected', async ({ rest, listener }, t) => {
  await rest.made('workers', { name: 'direct', task_urls: true });
  for (const [path, on_finish, pointer, detail] of [
    ['workers/listener', { worker: 'listener' }, '/on_finish/worker', /the worker itself/],
    ['workers/listener', { worker: listener }, '/on_finish/worker', /the worker itself/],
    ['workers/mailer', { worker: 'nobody' }, '/on_finish/worker', /does not exist: "nobody"/],
    ['workers/mailer', { worker: 'wrk_01J00000000000000000000000' }, '/on_finish/worker', /not exist/],
    ['workers/mailer', { worker: 'direct' }, '/on_finish/worker', /has no URL for callbacks/],
    ['workers/mailer', { worker: 'listener', events: [] }, '/on_finish/events', /./],
    ['workers/mailer', { worker: 'listener', events: ['running'] }, '/on_finish/events/0', /./],
    ['workers/mailer', { events: ['failed'] }, '/on_finish/worker', /./],
  ] as const) {
    const { status, json } = await rest.at('PUT', path, { on_finish });
    t.match({ status, json }, problem('validation_failed', { errors: [{ pointer, detail }] }));
  }
  const { status, json } = await rest.at('POST', 'workers', { name: 'self', on_finish: { worker: 'self' } });
  t.match({ status, json }, { status: 422, json: { errors: [{ detail: /the worker itself/ }] } });
});

test('a worker that others name is not deleted', async ({ rest }, t) => {
  await rest.at('PUT', 'workers/mailer', { on_finish: { worker: 'listener' } });
  const refused = await rest.at('DELETE', 'workers/listener');
  t.match(refused, problem('worker_in_use', { worker: 'mailer', detail: /on_finish of worker "mailer"/ }));
  await rest.at('PUT', 'workers/mailer', { on_finish: null });
  t.equal((await rest.at('DELETE', 'workers/listener')).status, 204);
});

test('a task has what its worker says, and shows whose callback it is', async ({ rest, listener }, t) => {
  await rest.at('PUT', 'workers/mailer', { on_finish: { worker: 'listener', events: ['canceled'] } });
  const { id, callback_of } = await rest.task();
  t.equal(callback_of, null);
  await rest.at('PUT', 'workers/mailer', { on_finish: null });
  const task = await rest.store.get('acme', id);
  t.strictSame(task?.onFinish, { workerId: listener, events: ['canceled'] });
  await rest.at('POST', `tasks/${id}/cancel`);
  const due = await rest.store.dueDocuments(10);
  t.match(due, [
    { document: { kind: 'callback', parent: listener, body: { taskId: id, status: 'canceled' } } },
  ]);
});
