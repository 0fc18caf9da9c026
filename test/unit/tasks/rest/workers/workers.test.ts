import { placeOfCount } from '../../../../../src/tasks/model/usage.ts';
import { HARNESS_START_MS, problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TaskHarness.open());
const withMailer = testsOf(TaskHarness.withMailer);

const iso = (ms: number) => new Date(ms).toISOString();

test('a worker with a url is pushed to; what is left out is the default', async (rest, t) => {
  const { status, json, headers } = await rest.at('POST', 'workers', {
    name: 'mailer',
    url: 'https://mailer.example.com/tasks?x=1',
  });
  t.equal(status, 201);
  t.equal(headers['Location'], `/api/v1/workers/${json.id}`);
  t.equal(headers['ETag'], '"1"');
  t.same(json, {
    id: json.id,
    name: 'mailer',
    mode: 'push',
    url: 'https://mailer.example.com/tasks?x=1',
    task_urls: false,
    method: 'POST',
    headers: {},
    timeout: '30s',
    lease: '1m',
    retry: { max_attempts: 12, base: '5s', factor: 3, max: '6h', jitter: 0.2, schedule: null, max_age: null },
    concurrency: 10,
    rate: null,
    limit: null,
    group_concurrency: null,
    group_order: 'any',
    on_finish: null,
    priority: 'normal',
    no_retry_on: [],
    paused: false,
    pause_reason: null,
    resume_at: null,
    auto_pause: { after: '5d' },
    created_at: iso(HARNESS_START_MS),
    updated_at: iso(HARNESS_START_MS),
    version: 1,
  });
  t.match(json.id, /^wrk_[0-9A-Z]{26}$/);
  t.same(rest.told, [['workerChanged', 'acme', json.id]]);
});

test('one without pulls: no bound on attempts, and leases that last a day in all', async (rest, t) => {
  const { json } = await rest.at('POST', 'workers', { name: 'crawler' });
  t.match(json, { mode: 'pull', url: null, concurrency: null, timeout: '1d', lease: '1m' });
});

test('everything that a worker can say is kept', async (rest, t) => {
  const said = {
    name: 'a.b-c_9',
    mode: 'push',
    url: 'https://93.184.215.14:8443/',
    method: 'PATCH',
    headers: { 'x-team': 'blue' },
    timeout: '15m',
    lease: '12h',
    retry: { max_attempts: 3, schedule: ['1s'], max_age: '1h' },
    concurrency: 1000,
    rate: { limit: 5, per: '1m', burst: 50 },
    group_concurrency: 1,
    group_order: 'fifo',
    priority: 'bulk',
    no_retry_on: [400, 422],
    paused: true,
    pause_reason: 'maintenance',
    resume_at: '2026-03-01T11:00:00.000Z',
    auto_pause: null,
  };
  const made = await rest.at('POST', 'workers', said);
  t.match(made.json, said);
  const read = await rest.at('GET', `workers/${said.name}`);
  const { health, ...same } = read.json;
  t.same(same, made.json);
  t.match(health, { in_flight: 0, waiting: 0, paused: 0, failed: 0 });
  const due = await rest.store.getDocument('acme', 'worker', made.json.id);
  t.equal(due?.dueAt, Date.parse(said.resume_at), 'it is looked at when it is to go on');
  const rate = await rest.made('workers', { name: 'r', rate: { limit: 5, per: 1 } });
  t.same(rate.rate, { limit: 5, per: '1s', burst: 5 });
});

test('each field has its bounds', async (rest, t) => {
  const push = { name: 'w', url: 'https://example.com/' };
  const cases: readonly (readonly [fields: object, pointer: string, detail: RegExp, code?: string])[] = [
    [{ ...push, name: undefined }, '/name', /required/],
    [{ ...push, name: '' }, '/name', /must not be empty/],
    [{ ...push, name: 'Mailer' }, '/name', /must consist of lowercase letters/],
    [{ ...push, name: '-a' }, '/name', /must consist of lowercase letters/],
    [{ ...push, name: 'a'.repeat(64) }, '/name', /at most 63/],
    [{ ...push, name: 'wrk_a' }, '/name', /must not begin with wrk_/],
    [{ name: 'w', mode: 'push' }, '/url', /is required/],
    [{ ...push, mode: 'pull' }, '/url', /push workers/],
    [{ ...push, url: 'http://example.com' }, '/url', /https/, 'invalid_url'],
    [{ ...push, url: 'ftp://example.com' }, '/url', /https/, 'invalid_url'],
    [{ ...push, url: 'example.com' }, '/url', /absolute/, 'invalid_url'],
    [{ ...push, url: 'https://me:pw@example.com' }, '/url', /password/, 'invalid_url'],
    [{ ...push, url: 'https://example.com:22' }, '/url', /port 22/, 'invalid_url'],
    [{ ...push, url: 'https://127.0.0.1/' }, '/url', /127.0.0.1/, 'forbidden_address'],
    [{ ...push, url: 'https://169.254.169.254/' }, '/url', /169/, 'forbidden_address'],
    [{ ...push, url: 'https://[::1]/' }, '/url', /::1/, 'forbidden_address'],
    [{ ...push, url: 'https://localhost/' }, '/url', /localhost/, 'forbidden_address'],
    [{ ...push, method: 'GET' }, '/method', /POST/],
    [{ ...push, headers: { host: 'x' } }, '/headers', /connection/],
    [{ ...push, headers: { 'task-type': 'x' } }, '/headers', /task-/],
    [{ name: 'w', headers: { a: 'b' } }, '/headers', /push workers/],
    [{ ...push, timeout: '500ms' }, '/timeout', /from 1s to 15m/],
    [{ ...push, timeout: '16m' }, '/timeout', /from 1s to 15m/],
    [{ name: 'w', timeout: '25h' }, '/timeout', /from 1s to 1d/],
    [{ ...push, lease: '4s' }, '/lease', /from 5s to 12h/],
    [{ ...push, concurrency: 0 }, '/concurrency', /at least 1/],
    [{ ...push, concurrency: 1001 }, '/concurrency', /at most 1000/],
    [{ ...push, rate: { limit: 1 } }, '/rate/per', /required/],
    [{ ...push, rate: { limit: 0, per: '1s' } }, '/rate/limit', /at least 1/],
    [{ ...push, rate: { limit: 1, per: '2d' } }, '/rate/per', /from 1s to 1d/],
    [{ ...push, rate: { limit: 1, per: '1s', burst: 11 } }, '/rate/burst', /ten times the limit \(10\)/],
    [{ ...push, priority: 'urgent' }, '/priority', /critical/],
    [{ ...push, no_retry_on: [200] }, '/no_retry_on/0', /at least 300/],
    [{ ...push, retry: { base: '2h' } }, '/retry/base', /from 100ms to 1h/],
    [{ ...push, pause_reason: 'x' }, '/pause_reason', /set paused to true/],
    [{ ...push, resume_at: '2026-03-02T00:00:00Z' }, '/resume_at', /set paused to true/],
    [{ ...push, paused: true, resume_at: 'later' }, '/resume_at', /RFC 3339/],
    [{ ...push, auto_pause: { after: '1s' } }, '/auto_pause/after', /from 1m to 366d/],
    [{ ...push, colour: 'blue' }, '/colour', /is not a known field/, 'unknown_field'],
  ];
  for (const [fields, pointer, detail, code = 'validation_failed'] of cases) {
    const { status, json } = await rest.at('POST', 'workers', fields);
    const name = `${JSON.stringify(fields)} → ${json.detail}`;
    t.equal(status, 422, name);
    t.equal(json.code, code, name);
    t.equal(json.errors[0].pointer, pointer, name);
    t.match(json.errors[0].detail, detail, name);
  }
  t.same((await rest.read('workers')).data, []);
});

test('names are unique, and there are as many workers as the account may have', async (rest, t) => {
  await rest.pullWorker();
  const taken = await rest.at('POST', 'workers', { name: 'crawler' });
  t.match(
    taken,
    problem('name_taken', {
      detail: /Another worker has the name "crawler"/,
      errors: [{ pointer: '/name' }],
    }),
  );
  await rest.change('acme', 'account', 'account', body => ({ ...body, limits: { workers: 1 } }));
  const many = await rest.at('POST', 'workers', { name: 'other' });
  t.match(many, problem('quota_exceeded', { limit: 'workers', max: 1 }));
});

test('workers are read by id or name', async (rest, t) => {
  const { id } = await rest.made('workers', { name: 'b' });
  for (const text of ['b', id]) t.match(await rest.read(`workers/${text}`), { id, name: 'b' });
  for (const text of ['d', 'wrk_01J0000000000000000000000A', 'WRK', 'a%2Fb', 'wrk_x']) {
    t.match(await rest.at('GET', `workers/${text}`), problem('not_found', { detail: /There is no worker/ }));
  }
});

withMailer('the health of a worker says what its tasks do', async ({ rest, worker }, t) => {
  for (const status of ['failed', 'paused', 'retry', 'running', 'scheduled'])
    await rest.taskIn(status, worker);
  t.match((await rest.read('workers/mailer')).health, {
    in_flight: 1,
    waiting: 2,
    paused: 1,
    failed: 1,
  });
});

test('a list of workers has their health if it is asked for', async (rest, t) => {
  await rest.at('POST', 'workers', { name: 'mailer' });
  await rest.at('POST', 'workers', { name: 'billing' });
  await rest.at('POST', 'tasks', { worker: 'mailer' });
  const list = await rest.at('GET', 'workers?include=health');
  t.same(
    list.json.data.map(({ name, health }: { name: string; health: { waiting: number } }) => [
      name,
      health.waiting,
    ]),
    [
      ['billing', 0],
      ['mailer', 1],
    ],
  );
  const mailer = list.json.data[1];
  const ended = {
    at: rest.clock.nowMs() - 60_000,
    workerId: mailer.id,
    figures: [placeOfCount('failed'), 3],
  };
  await rest.store.addUsage('acme', [ended]);
  for (const { health } of [
    await rest.read(`workers/${mailer.id}`),
    (await rest.read('workers?include=health')).data[1],
  ])
    t.same(health.ended_spark, [...Array(18).fill(0), 3, 0]);
  t.equal((await rest.read('workers')).data[0].health, undefined);
  t.match(await rest.at('GET', 'workers?include=all'), problem('invalid_parameter'));
});

test('what is left out of a change stays, and null is the default again', async (rest, t) => {
  const fields = {
    timeout: '1m',
    headers: { a: 'b' },
    concurrency: 3,
    rate: { limit: 1, per: '1s' },
    priority: 'high',
    retry: { base: '1s' },
    no_retry_on: [400],
    method: 'PUT',
    lease: '2m',
  };
  const worker = await rest.pushWorker(fields);
  rest.told.length = 0;
  const partial = await rest.at('PUT', `workers/${worker.id}`, { retry: { factor: 1 } });
  t.match(partial.json, { ...fields, retry: { base: '1s', factor: 1 }, version: 2 });
  t.equal(partial.headers['ETag'], '"2"');
  t.same(rest.told, [['workerChanged', 'acme', worker.id]]);
  const names = Object.keys(fields);
  const cleared = await rest.at(
    'PATCH',
    'workers/mailer',
    Object.fromEntries(names.map(name => [name, null])),
  );
  t.match(cleared.json, {
    timeout: '30s',
    concurrency: null,
    rate: null,
    priority: 'normal',
    retry: { base: '5s', factor: 3 },
    method: 'POST',
    lease: '1m',
  });
  t.same([cleared.json.headers, cleared.json.no_retry_on], [{}, []]);
  t.match(await rest.at('PUT', 'workers/nobody', {}), { status: 404 });
});

withMailer('a worker is paused until it is resumed, or until a time', async ({ rest, worker }, t) => {
  await rest.task();
  await rest.store.setWakeup('acme', worker.id, null);
  const until = iso(HARNESS_START_MS + 60_000);
  const paused = await rest.at('PUT', 'workers/mailer', {
    paused: true,
    pause_reason: 'x',
    resume_at: until,
  });
  t.match(paused.json, { paused: true, pause_reason: 'x', resume_at: until });
  t.same(await rest.store.wakeups(Number.MAX_SAFE_INTEGER, 10), []);
  const longer = await rest.at('PUT', 'workers/mailer', { resume_at: null });
  t.match(longer.json, { paused: true, pause_reason: 'x', resume_at: null });
  rest.told.length = 0;
  const resumed = await rest.at('PUT', 'workers/mailer', { paused: false });
  t.match(resumed.json, { paused: false, pause_reason: null, resume_at: null });
  t.match(await rest.store.wakeups(Number.MAX_SAFE_INTEGER, 10), [
    { workerId: worker.id, at: HARNESS_START_MS },
  ]);
  t.same(rest.told, [['workerChanged', 'acme', worker.id]]);
});

withMailer('the name is fixed once there are tasks, also such as are over', async ({ rest, worker }, t) => {
  t.match((await rest.at('PUT', 'workers/mailer', { name: 'post' })).json, { name: 'post', id: worker.id });
  t.equal((await rest.at('GET', 'workers/mailer')).status, 404);
  t.equal((await rest.at('GET', 'workers/post')).status, 200);
  await rest.pullWorker();
  const taken = await rest.at('PUT', 'workers/post', { name: 'crawler' });
  t.match(taken, problem('name_taken'));
  const { id } = await rest.task({ worker: 'post' });
  await rest.at('POST', `tasks/${id}/cancel`);
  const fixed = await rest.at('PUT', 'workers/post', { name: 'other' });
  t.match(fixed, problem('worker_has_tasks', { detail: /name cannot change.*has 1/ }));
  t.equal(
    (await rest.at('PUT', 'workers/post', { name: 'post', timeout: '1m' })).status,
    200,
    'the same name is none',
  );
});

test('the mode changes only while nothing runs, and what belongs to the old one goes', async (rest, t) => {
  const worker = await rest.pushWorker({ headers: { a: 'b' }, timeout: '1m' });
  const { id } = await rest.task();
  const leaseId = (await rest.start(worker.id)).get(id)!;
  const running = await rest.at('PUT', 'workers/mailer', { mode: 'pull' });
  t.match(running, problem('worker_has_tasks', { detail: /1 are running/ }));
  await rest.end(leaseId, 'succeeded');
  const pulls = await rest.at('PUT', 'workers/mailer', { mode: 'pull' });
  t.match(pulls.json, { mode: 'pull', url: null, timeout: '1d', concurrency: null });
  t.same(pulls.json.headers, {});
  t.match(await rest.at('PUT', 'workers/mailer', { mode: 'push' }), {
    status: 422,
    json: { errors: [{ pointer: '/url' }] },
  });
  const pushed = await rest.at('PUT', 'workers/mailer', { mode: 'push', url: 'https://example.com' });
  t.match(pushed.json, { mode: 'push', url: 'https://example.com', timeout: '30s', concurrency: 10 });
  t.match(await rest.store.wakeups(Number.MAX_SAFE_INTEGER, 10), [{ workerId: worker.id }]);
});

withMailer('a change that is overtaken by another begins again', async ({ rest }, t) => {
  const { apply } = rest.store;
  rest.store.apply = async (...asked) => {
    rest.store.apply = apply;
    await rest.at('PUT', 'workers/mailer', { priority: 'high' });
    return apply.apply(rest.store, asked);
  };
  const { json } = await rest.at('PUT', 'workers/mailer', { timeout: '1m' });
  t.match(json, { priority: 'high', timeout: '1m', version: 3 });
});

withMailer('a worker with open tasks stays, unless they are canceled', async ({ rest, worker }, t) => {
  await rest.at('POST', 'workers/mailer/secrets', {});
  const ids: string[] = [];
  for (const status of ['succeeded', 'retry', 'paused', 'scheduled'])
    ids.push(await rest.taskIn(status, worker));
  const refused = await rest.at('DELETE', 'workers/mailer');
  t.match(
    refused,
    problem('worker_has_tasks', { open: 3, running: 0, detail: /has 3 open tasks.*cancel_tasks=true/ }),
  );
  t.match(await rest.at('DELETE', 'workers/mailer?cancel_tasks=1'), problem('invalid_parameter'));
  t.equal((await rest.at('DELETE', 'workers/mailer?cancel_tasks=true')).status, 204);
  const statuses = [];
  for (const id of ids) statuses.push((await rest.read(`tasks/${id}`)).status);
  t.same(statuses, ['succeeded', 'canceled', 'canceled', 'canceled']);
  t.equal((await rest.at('GET', 'workers/mailer')).status, 404);
  const secrets = await rest.store.listDocuments('acme', {
    kind: 'secret',
    after: null,
    limit: 10,
    order: 'asc',
  });
  t.same(secrets, [], 'its secrets go with it');
  t.equal((await rest.at('POST', 'tasks', { worker: 'mailer' })).status, 422);
});

withMailer('a worker whose tasks run goes when they have stopped', async ({ rest, worker }, t) => {
  const { id } = await rest.task();
  const leaseId = (await rest.start(worker.id)).get(id)!;
  rest.parts.signals.listen({
    // The attempt stops a while after it was told to.
    cancelRequested: () => void rest.clock.after(250, () => void rest.end(leaseId, 'canceled')),
  });
  let answered = false;
  const deleting = rest.at('DELETE', 'workers/mailer?cancel_tasks=true').finally(() => {
    answered = true;
  });
  while (!answered) {
    await new Promise(resolve => setImmediate(resolve));
    if (rest.clock.pending > 0) rest.clock.advance(50);
  }
  t.equal((await deleting).status, 204);
});

withMailer('where they do not stop the worker stays, and the answer says so', async ({ rest, worker }, t) => {
  await rest.taskIn('running', worker);
  let answered = false;
  const deleting = rest.at('DELETE', 'workers/mailer?cancel_tasks=true').finally(() => {
    answered = true;
  });
  while (!answered) {
    await new Promise(resolve => setImmediate(resolve));
    if (rest.clock.pending > 0) rest.clock.advance(100);
  }
  t.match(await deleting, problem('worker_has_tasks', { running: 1 }));
});

withMailer('a bad name of a worker or schedule is refused in words', async ({ rest }, t) => {
  for (const [target, more] of [
    ['workers', {}],
    ['schedules', { worker: 'mailer', every: '1h' }],
  ] as const) {
    for (const name of ['Bad Name', 'ä', '-a', 'a/b']) {
      const { json } = await rest.at('POST', target, { name, ...more });
      t.match(
        json.detail,
        /^\/name must consist of lowercase letters, digits and \. _ -, and begin with/,
        name,
      );
    }
    t.match((await rest.at('POST', target, { name: '', ...more })).json.detail, /^\/name must not be empty/);
  }
  const { json } = await rest.at('POST', 'schedules', { name: 'a', worker: 'mailer' });
  t.equal(json.detail, 'A schedule requires cron or every.');
});

test('group_order fifo requires a group_concurrency of 1', async (rest, t) => {
  const faults = async (method: 'POST' | 'PUT', path: string, fields: object) => {
    const { status, json } = await rest.at(method, path, fields);
    return [status, json.errors?.map(({ pointer }: { pointer: string }) => pointer)];
  };
  t.same(await faults('POST', 'workers', { name: 'a', group_order: 'fifo' }), [422, ['/group_order']]);
  t.same(await faults('POST', 'workers', { name: 'a', group_order: 'fifo', group_concurrency: 2 }), [
    422,
    ['/group_order'],
  ]);
  const fifo = { name: 'a', group_order: 'fifo', group_concurrency: 1 };
  t.equal((await rest.at('POST', 'workers', fifo)).status, 201);
  t.same(await faults('PUT', 'workers/a', { group_concurrency: 2 }), [422, ['/group_concurrency']]);
  const { json } = await rest.at('PUT', 'workers/a', { group_concurrency: 2, group_order: null });
  t.match(json, { group_concurrency: 2, group_order: 'any' });
  t.match((await rest.at('PUT', 'workers/a', { group_concurrency: null })).json, { group_concurrency: null });
});
