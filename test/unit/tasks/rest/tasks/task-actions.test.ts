import t from 'tap';
import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TaskHarness.open());
const withMailer = testsOf(TaskHarness.withMailer);

const STATUSES = ['running', 'retry', 'paused', 'succeeded', 'failed', 'canceled', 'scheduled'] as const;

async function withAll(): Promise<{ rest: TaskHarness; ids: Record<string, string> }> {
  const rest = await TaskHarness.open();
  const worker = await rest.pushWorker();
  const ids: Record<string, string> = {};
  for (const status of STATUSES) ids[status] = await rest.taskIn(status, worker);
  return { rest, ids };
}

const act = (rest: TaskHarness, body: object, asked = {}) => rest.at('POST', 'tasks/actions', body, asked);

t.test('an action on ids says what it changes and leaves, as a dry run', async t => {
  const expected = {
    retry: ['succeeded', 'failed', 'canceled'],
    cancel: ['running', 'retry', 'paused', 'scheduled'],
    pause: ['retry', 'scheduled'],
    resume: ['paused'],
    run: ['retry', 'scheduled'],
    delete: ['retry', 'paused', 'succeeded', 'failed', 'canceled', 'scheduled'],
  };
  for (const [action, changed] of Object.entries(expected)) {
    const { rest, ids } = await withAll();
    const unknown = 'tsk_01J0000000000000000000000A';
    const asked = { action, ids: [...Object.values(ids), unknown, 'nonsense', unknown] };
    const before = await rest.read('tasks');
    const dry = await act(rest, { ...asked, dry_run: true });
    t.same(await rest.read('tasks'), before, 'a dry run changes nothing');
    const done = await act(rest, asked);
    t.equal(done.status, 200);
    t.match(done.json, { matched: 9, changed: changed.length, next_cursor: null }, action);
    const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);
    t.same(done.json.skipped.sort(byId), dry.json.skipped.sort(byId), action);
    t.equal(dry.json.changed, done.json.changed);
    const skipped = new Map(
      done.json.skipped.map(({ id, code }: { id: string; code: string }) => [id, code]),
    );
    t.equal(skipped.get(unknown), 'not_found');
    t.equal(skipped.get('nonsense'), 'not_found');
    for (const status of STATUSES)
      t.equal(skipped.has(ids[status]), !changed.includes(status), `${action} ${status}`);
  }
});

t.test('a filter without a status means the tasks that the action is for', async t => {
  const expected = { retry: 1, cancel: 4, pause: 2, resume: 1, run: 2, delete: 3 };
  for (const [action, changed] of Object.entries(expected)) {
    const { rest } = await withAll();
    const { json } = await act(rest, { action, filter: { worker: 'mailer' } });
    t.same(json, { matched: changed, changed, skipped: [], next_cursor: null }, action);
  }
});

t.test('changed tasks are woken, and running tasks are asked to stop', async t => {
  const { rest, ids } = await withAll();
  rest.told.length = 0;
  await act(rest, { action: 'cancel', filter: { status: 'running' } });
  t.same(rest.told, [['cancelRequested', 'acme', ids['running']]]);
  rest.told.length = 0;
  await act(rest, { action: 'retry', filter: { status: 'failed,canceled' } });
  t.same(
    rest.told.map(([name]) => name),
    ['taskDue', 'taskDue'],
  );
});

withMailer('a filter is gone through in parts, with a cursor', async ({ rest }, t) => {
  for (let n = 0; n < 25; n++) await rest.task({ delay: '1h' });
  const body = { action: 'cancel', filter: { worker: 'mailer', status: 'scheduled' }, limit: 10 };
  const changed: number[] = [];
  let cursor: string | null = null;
  do {
    const { json } = await act(rest, { ...body, ...(cursor === null ? {} : { cursor }) });
    changed.push(json.changed);
    cursor = json.next_cursor;
  } while (cursor !== null);
  t.same(changed, [10, 10, 5]);

  await rest.task({ delay: '1h' });
  await rest.task({ delay: '1h' });
  const dry = await act(rest, { ...body, limit: 1, dry_run: true });
  t.match(dry.json, { matched: 1, changed: 1, next_cursor: /./ });
  const real = await act(rest, { ...body, cursor: dry.json.next_cursor });
  t.equal(real.json.changed, 1, 'behind what the dry run has seen');
  const other = await act(rest, { ...body, action: 'pause', cursor: dry.json.next_cursor });
  t.match(other, problem('invalid_cursor'));
});

withMailer('more than one page of the store is gone through in one request', async ({ rest, worker }, t) => {
  const tasks = Array.from({ length: 500 }, () => rest.factory.newTask({ id: worker.id, body: worker }));
  await rest.store.create('acme', rest.factory.createRequest(tasks));
  const more = Array.from({ length: 101 }, () => rest.factory.newTask({ id: worker.id, body: worker }));
  await rest.store.create('acme', rest.factory.createRequest(more));
  const { json } = await act(rest, { action: 'pause', filter: {}, dry_run: true });
  t.match(json, { matched: 601, changed: 601, next_cursor: null });
});

test('only the first hundred that were left are listed', async (rest, t) => {
  const ids = Array.from({ length: 150 }, (_, at) => `tsk_${at}`);
  const { json } = await act(rest, { action: 'retry', ids });
  t.match(json, { matched: 150, changed: 0 });
  t.equal(json.skipped.length, 100);
});

test('a request says which tasks, by ids or by a filter, within bounds', async (rest, t) => {
  const cases: readonly (readonly [body: object, status: number, code: string])[] = [
    [{ action: 'cancel' }, 422, 'validation_failed'],
    [{ action: 'cancel', ids: ['x'], filter: {} }, 400, 'conflicting_fields'],
    [{ action: 'cancel', ids: [] }, 422, 'validation_failed'],
    [{ action: 'cancel', ids: Array(1001).fill('x') }, 422, 'validation_failed'],
    [{ action: 'cancel', filter: {}, limit: 10_001 }, 422, 'validation_failed'],
    [{ action: 'cancel', filter: {}, limit: 0 }, 422, 'validation_failed'],
    [{ action: 'cancel', filter: { status: 'done' } }, 400, 'invalid_status'],
    [{ action: 'cancel', filter: { start: 'x' } }, 400, 'invalid_time_range'],
    [{ action: 'cancel', filter: { name: 'x' } }, 422, 'unknown_field'],
    [{ action: 'cancel', filter: {}, cursor: 'x' }, 400, 'invalid_cursor'],
    [{ action: 'explode', filter: {} }, 422, 'validation_failed'],
  ];
  for (const [body, status, code] of cases) {
    t.match(await act(rest, body), { status, json: { code } }, JSON.stringify(body).slice(0, 60));
  }
  const none = await act(rest, { action: 'cancel', filter: { worker: 'nobody' } });
  t.match(none, { status: 422, json: { errors: [{ parameter: 'worker', code: 'not_found' }] } });
});

withMailer('to delete many tasks at once takes an admin', async ({ rest }, t) => {
  const { id } = await rest.task();
  const member = await rest.addUser(rest.token, 'member');
  const admin = await rest.addUser(rest.token, 'admin');
  const refused = await act(rest, { action: 'delete', ids: [id] }, { token: member.token });
  t.match(refused, problem('insufficient_role'));
  t.equal((await act(rest, { action: 'pause', ids: [id] }, { token: member.token })).json.changed, 1);
  t.equal((await act(rest, { action: 'delete', ids: [id] }, { token: admin.token })).json.changed, 1);
});

t.test('the same request with the same key is done once', async t => {
  const { rest } = await withAll();
  const headers = { 'idempotency-key': 'k' };
  const body = { action: 'retry', filter: { status: 'failed' } };
  const first = await act(rest, body, { headers });
  await rest.at('POST', `tasks/actions`, { action: 'cancel', filter: { status: 'scheduled' } });
  const again = await act(rest, body, { headers });
  t.same(again.json, first.json);
  t.equal(again.headers['Idempotency-Replayed'], 'true');
  t.equal((await rest.read('tasks/counts')).counts.scheduled, 0);
});

t.test('the log has one line for an action, and none for a dry run', async t => {
  const { rest } = await withAll();
  rest.logger.lines.length = 0;
  await act(rest, { action: 'cancel', filter: {}, dry_run: true });
  t.equal(rest.logger.lines.length, 0);
  await act(rest, { action: 'cancel', filter: {} });
  t.match(rest.logger.lines, [
    { level: 'info', message: /^Bulk action/, fields: { action: 'cancel', matched: 4, changed: 4 } },
  ]);
});
