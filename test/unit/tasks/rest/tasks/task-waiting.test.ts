import t from 'tap';
import type { DocumentBodies } from '../../../../../src/tasks/model/documents.ts';
import { each } from '../../../../support/each.ts';
import { HARNESS_START_MS } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TaskHarness.open());
const withMailer = testsOf(TaskHarness.withMailer);

const iso = (ms: number) => new Date(ms).toISOString();

/** What a task waits for when it is read, which is what a list says. */
async function waitingFor(rest: TaskHarness, id: string): Promise<[unknown, unknown]> {
  const json = await rest.read(`tasks/${id}`);
  const list = (await rest.read('tasks?limit=200')).data as Record<string, unknown>[];
  const listed = list.find(task => task['id'] === id)!;
  t.same([listed['waiting_for'], listed['waiting_since']], [json.waiting_for, json.waiting_since]);
  return [json.waiting_for, json.waiting_since];
}

/** Writes part of a document, as an operator or another process does. */
async function changeDocument<K extends 'account' | 'secret'>(
  rest: TaskHarness,
  kind: K,
  id: string,
  part: Partial<DocumentBodies[K]>,
): Promise<void> {
  const { parent, dueAt, body } = (await rest.store.getDocument('acme', kind, id))!;
  const put = {
    op: 'put',
    kind,
    id,
    expect: 'any',
    parent,
    dueAt,
    unique: [],
    body: { ...body, ...part },
  } as const;
  await rest.store.apply('acme', [put]);
  rest.parts.directory.changed('acme');
}

withMailer('a task waits for nothing if not due, running or over', async ({ rest, worker: mailer }, t) => {
  const future = await rest.task({ delay: '1h' });
  t.same(await waitingFor(rest, future.id), [null, null]);
  for (const status of ['running', 'paused', 'succeeded', 'failed']) {
    t.same(await waitingFor(rest, await rest.taskIn(status, mailer)), [null, null], status);
  }
});

test('a due task says since when it is due, and what keeps it from starting', async (rest, t) => {
  const mailer = await rest.pushWorker({ concurrency: 1, rate: { limit: 1, per: '10m' } });
  const first = await rest.task();
  const { id } = await rest.task({ delay: '1m' });
  rest.clock.advance(61_000);
  const since = iso(HARNESS_START_MS + 60_000);
  t.same(await waitingFor(rest, id), ['capacity', since]);

  await rest.at('PUT', 'workers/mailer', { paused: true });
  t.same(await waitingFor(rest, id), ['paused', since]);
  await rest.at('PUT', 'workers/mailer', { paused: false });

  const bounds = { concurrency: 1, rate: { limit: 1, perMs: 600_000, burst: 1 } };
  const claim = await rest.store.claim('acme', rest.factory.claimRequest(mailer.id, 1, bounds));
  t.equal(claim.tasks[0].task.id, first.id);
  t.same(await waitingFor(rest, id), ['concurrency', since]);
  await rest.end(claim.tasks[0].leaseId, 'succeeded');
  t.same(await waitingFor(rest, id), ['rate', since]);
  rest.clock.advance(600_000);
  t.same(await waitingFor(rest, id), ['capacity', since]);
});

withMailer('a task waits for a worker throttled by Retry-After', async ({ rest, worker: mailer }, t) => {
  const first = await rest.task();
  const leaseId = (await rest.start(mailer.id)).get(first.id)!;
  const { id } = await rest.task();
  await rest.end(leaseId, 'deferred', { throttleMs: 30_000, delayMs: 30_000 });
  t.same(await waitingFor(rest, id), ['throttled', iso(HARNESS_START_MS)]);
  rest.clock.advance(30_000);
  t.same(await waitingFor(rest, id), ['capacity', iso(HARNESS_START_MS)]);
});

test('a task waits for its group, whatever the bounds of the worker', async (rest, t) => {
  const mailer = await rest.pushWorker({ group_concurrency: 1 });
  const first = await rest.task({ group: 'a' });
  const behind = await rest.task({ group: 'a', delay: '1m' });
  const other = await rest.task({ group: 'b' });
  const plain = await rest.task();
  const since = iso(HARNESS_START_MS + 60_000);
  const groups = { concurrency: 1, fifo: false };
  const claim = await rest.store.claim('acme', rest.factory.claimRequest(mailer.id, 1, { groups }));
  t.equal(claim.tasks[0].task.id, first.id);
  t.same(await waitingFor(rest, behind.id), [null, null], 'not due yet');
  rest.clock.advance(61_000);
  t.same(await waitingFor(rest, behind.id), ['group', since]);
  for (const { id } of [other, plain])
    t.same(await waitingFor(rest, id), ['capacity', iso(HARNESS_START_MS)]);
  await rest.at('PUT', 'workers/mailer', { group_concurrency: 2, concurrency: 1 });
  t.same(await waitingFor(rest, behind.id), ['concurrency', since]);
  await rest.at('PUT', 'workers/mailer', { group_concurrency: 1 });
  t.same(await waitingFor(rest, behind.id), ['group', since]);
  await rest.end(claim.tasks[0].leaseId, 'succeeded');
  t.same(await waitingFor(rest, behind.id), ['capacity', since]);
});

test('in a fifo group all but the first wait for their group', async (rest, t) => {
  await rest.pushWorker({ group_concurrency: 1, group_order: 'fifo' });
  const tasks = [];
  for (const _ of [1, 2, 3]) tasks.push(await rest.task({ group: 'a' }));
  const { data } = await rest.read('tasks?order=asc');
  t.same(each(data, 'waiting_for'), ['capacity', 'group', 'group']);
  await rest.at('POST', `tasks/${tasks[0].id}/pause`);
  t.same((await waitingFor(rest, tasks[1].id))[0], 'capacity');
});

withMailer('a task waits for its account, or a share of it', async ({ rest, worker: mailer }, t) => {
  await rest.pullWorker();
  const running = await rest.task();
  await rest.start(mailer.id);
  const { id } = await rest.task({ worker: 'crawler' });
  t.same(await waitingFor(rest, id), ['pull_worker', iso(HARNESS_START_MS)]);
  await changeDocument(rest, 'account', 'account', { limits: { inFlight: 1 } });
  t.same(await waitingFor(rest, id), ['tenant_share', iso(HARNESS_START_MS)]);
  await changeDocument(rest, 'account', 'account', { status: 'suspended' });
  t.same(await waitingFor(rest, id), ['tenant_suspended', iso(HARNESS_START_MS)]);
  t.same(await waitingFor(rest, running.id), [null, null]);
});

withMailer('a task waits for a share of the deliveries of its account', async ({ rest }, t) => {
  await rest.pullWorker();
  const { id } = await rest.task();
  const pulled = await rest.task({ worker: 'crawler' });
  rest.parts.signals.tell('shareUsed', 'acme');
  t.same(await waitingFor(rest, id), ['tenant_share', iso(HARNESS_START_MS)]);
  t.same(await waitingFor(rest, pulled.id), ['pull_worker', iso(HARNESS_START_MS)]);
  rest.clock.advance(3_000);
  t.same(await waitingFor(rest, id), ['capacity', iso(HARNESS_START_MS)]);
});

withMailer('a task waits for its holder, and for secrets that open', async ({ rest, worker: mailer }, t) => {
  const running = await rest.task({ key: 'k' });
  const leaseId = (await rest.start(mailer.id)).get(running.id)!;
  const { id } = await rest.task({ key: 'k', on_conflict: 'replace' });
  t.same(await waitingFor(rest, id), ['held', iso(HARNESS_START_MS)]);
  await rest.end(leaseId, 'succeeded');
  t.same(await waitingFor(rest, id), ['capacity', iso(HARNESS_START_MS)]);
  const secret = await rest.made('workers/mailer/secrets', {});
  t.same(await waitingFor(rest, id), ['capacity', iso(HARNESS_START_MS)]);
  await changeDocument(rest, 'secret', secret.id, { sealed: 'AAAA' });
  t.same(await waitingFor(rest, id), ['secrets_unreadable', iso(HARNESS_START_MS)]);
});

test('a list asks the store once for all workers on the page, and not at all if no task is due', async (rest, t) => {
  const asked: number[] = [];
  const { blocks } = rest.store;
  rest.store.blocks = (tenant, query) => {
    asked.push(query.workers.length);
    return blocks.call(rest.store, tenant, query);
  };
  for (const name of ['one', 'two', 'three']) await rest.pushWorker({ name });
  await rest.task({ worker: 'one', delay: '1h' });
  await rest.at('GET', 'tasks');
  t.same(asked, []);
  for (const worker of ['one', 'one', 'two', 'three', 'three']) await rest.task({ worker });
  await rest.at('GET', 'tasks');
  t.same(asked, [3]);
  await rest.at('PUT', 'workers/three', { group_concurrency: 1 });
  for (const group of ['a', 'a', 'b']) await rest.task({ worker: 'three', group });
  await rest.at('GET', 'tasks');
  t.same(asked, [3, 5], 'and once for all tasks of a group');
  await rest.task({ worker: 'two' });
  t.same(asked, [3, 5], 'and a create does not ask');
});
