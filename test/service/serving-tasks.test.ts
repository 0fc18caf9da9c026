import t from 'tap';
import { statistic } from '../support/asking.ts';
import { ask, newTenant, startTasksService } from '../support/tasks/tasks-service.ts';
import { until } from '../support/until.ts';

// Requests of tasks on the HTTP port of serving threads. Each request has a connection of its own, so all threads have
// some of them.

const SETTINGS = { SERVE_THREADS: '2', HTTP_SERVER_ENGINE: 'node' };
const TASKS = 30;
const LARGE = 'x'.repeat(200_000);

/** With it, a request with the first of these fields can be made to end its serving thread by one with the second. */
const FRAGILE = `
  import { Server } from 'node:http';
  import { isMainThread } from 'node:worker_threads';
  const { emit } = Server.prototype;
  if (!isMainThread) Server.prototype.emit = function (event, request, ...more) {
    if (event === 'request' && 'x-fragile' in request.headers)
      new BroadcastChannel('end').onmessage = () => process.exit(7);
    if (event === 'request' && 'x-end' in request.headers) new BroadcastChannel('end').postMessage('');
    return emit.call(this, event, request, ...more);
  };`;

/** Sends a call that waits for a task. Resolves when it has asked the store, which it does before it waits. */
async function waitingPoll<Answer>(
  service: { readonly debug: string },
  ask: () => Promise<Answer>,
): Promise<{ readonly answer: Promise<Answer> }> {
  const claims = () => statistic(service.debug, 'tasks.store_op.claim.count');
  const before = await claims();
  const answer = ask();
  answer.catch(() => {});
  await until(async () => (await claims()) > before);
  return { answer };
}

t.test('tasks are created, listed, pulled and settled through serving threads', async t => {
  const service = await startTasksService(t, SETTINGS);
  const acme = await newTenant(service);
  await acme.make('workers', { name: 'puller', mode: 'pull' });

  const poll = await waitingPoll(service, () => acme.ask('POST /workers/puller/leases', { wait: '30s' }));
  const { id: polled } = await acme.make('tasks', { worker: 'puller', payload: { text: LARGE } });
  const waited = await poll.answer;
  t.match(waited, { status: 200, json: { leases: [{ task: { id: polled, payload: { text: LARGE } } }] } });

  const made = await Promise.all(
    Array.from({ length: TASKS }, (_, number) =>
      acme.make('tasks', { worker: 'puller', payload: { number } }),
    ),
  );
  const listed: string[] = [];
  for (let page: string | null = ''; page !== null; ) {
    const { json } = await acme.ask(`GET /tasks?worker=puller&limit=10${page}`);
    listed.push(...json.data.map(({ id }: { id: string }) => id));
    page = json.next_cursor === null ? null : `&cursor=${encodeURIComponent(json.next_cursor)}`;
  }
  t.same(listed.sort(), [polled, ...made.map(({ id }) => id)].sort());

  const { type } = (await acme.ask('GET /tasks/tsk_none')).json;
  t.match(await ask(service.http, `GET ${type as '/'}`), { status: 200, text: /^not_found \(404\)/ });

  const pulled = await acme.ask('POST /workers/puller/leases', { max: TASKS });
  t.equal(pulled.json.leases.length, TASKS);
  const leases: string[] = [...waited.json.leases, ...pulled.json.leases].map(({ lease_id }) => lease_id);
  const settled = await Promise.all(
    leases.map(lease => acme.ask(`POST /leases/${lease}/complete`, { result: { done: true } })),
  );
  t.same(new Set(settled.map(({ status }) => status)), new Set([200]));
  t.match(await acme.taskIn(polled, 'succeeded'), { attempt: 1, result: { done: true } });
});

t.test('a serving thread that dies during a long poll loses no task', async t => {
  const service = await startTasksService(t, {
    ...SETTINGS,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(FRAGILE)}`,
  });
  const acme = await newTenant(service);
  await acme.make('workers', { name: 'puller', mode: 'pull' });
  const poll = await waitingPoll(service, () =>
    acme.ask('POST /workers/puller/leases', { wait: '30s' }, { 'x-fragile': '1' }),
  );
  const closed = t.rejects(poll.answer, { code: 'ECONNRESET' });
  // If the same thread receives it, it is not answered.
  await acme.ask('GET /workers', undefined, { 'x-end': '1' }).catch(() => {});
  await closed;
  const { id } = await acme.make('tasks', { worker: 'puller' });
  const pulled = await acme.ask('POST /workers/puller/leases', { wait: '30s' });
  t.match(pulled, { status: 200, json: { leases: [{ task: { id, attempt: 1 } }] } });
  await until(async () => (await statistic(service.debug, 'ratelimit.service.serving_threads')) === 2);
  t.equal(await statistic(service.debug, 'ratelimit.service.serving_threads_lost'), 1);
});
