import t from 'tap';
import { each } from '../../../../support/each.ts';
import { HARNESS_START_MS, problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TaskHarness.open());
const withMailer = testsOf(TaskHarness.withMailer);

const iso = (ms: number) => new Date(ms).toISOString();
const STATUSES = ['scheduled', 'running', 'retry', 'paused', 'succeeded', 'failed', 'canceled'] as const;

test('what is left out of a change stays, and null clears', async (rest, t) => {
  await rest.pushWorker({ priority: 'low', timeout: '20s', retry: { max_attempts: 4 } });
  const before = await rest.task({
    type: 'a',
    payload: 1,
    headers: { a: 'b' },
    priority: 'high',
    timeout: '1m',
    retry: { max_attempts: 9, base: '7s' },
    tags: ['x'],
    metadata: { k: 'v' },
    expires_in: '1h',
  });
  const partial = await rest.at('PUT', `tasks/${before.id}`, { type: 'b', retry: { factor: 2 } });
  t.equal(partial.status, 200);
  t.equal(partial.headers['ETag'], '"2"');
  t.match(partial.json, {
    type: 'b',
    payload: 1,
    headers: { a: 'b' },
    priority: 'high',
    timeout: '1m',
    retry: { max_attempts: 9, base: '7s', factor: 2 },
    tags: ['x'],
    metadata: { k: 'v' },
    expires_at: before.expires_at,
    version: 2,
  });
  const names = [
    'type',
    'payload',
    'headers',
    'priority',
    'timeout',
    'retry',
    'tags',
    'metadata',
    'expires_at',
  ];
  const cleared = await rest.at(
    'PATCH',
    `tasks/${before.id}`,
    Object.fromEntries(names.map(name => [name, null])),
  );
  t.match(cleared.json, {
    type: null,
    payload: null,
    priority: 'low',
    timeout: '20s',
    retry: { max_attempts: 4, base: '5s' },
    expires_at: null,
    version: 3,
  });
  t.same([cleared.json.headers, cleared.json.tags, cleared.json.metadata], [{}, [], {}]);
  const same = await rest.at('PUT', `tasks/${before.id}`, { type: null });
  t.equal(same.json.version, 3, 'a change of nothing is none');
  const history = await rest.at('GET', `tasks/${before.id}/history`);
  t.match(history.json.data[1], { event: 'updated', changed: ['type', 'retry'] });
  t.equal(history.json.data.length, 3);
});

withMailer('a new time to start wakes the worker', async ({ rest, worker }, t) => {
  const { id } = await rest.task({ delay: '1h' });
  rest.told.length = 0;
  const later = await rest.at('PUT', `tasks/${id}`, { run_at: iso(HARNESS_START_MS + 90_000) });
  t.equal(later.json.next_attempt_at, iso(HARNESS_START_MS + 90_000));
  const now = await rest.at('PUT', `tasks/${id}`, { run_at: null });
  t.equal(now.json.run_at, iso(HARNESS_START_MS));
  t.same(rest.told, [
    ['taskDue', 'acme', worker.id, HARNESS_START_MS + 90_000],
    ['taskDue', 'acme', worker.id, HARNESS_START_MS],
  ]);
});

withMailer('fields are checked as when a task is made', async ({ rest }, t) => {
  const { id } = await rest.task({ delay: '1h' });
  const cases: readonly (readonly [fields: object, code: string, pointer: string])[] = [
    [{ timeout: '1h' }, 'validation_failed', '/timeout'],
    [{ headers: { host: 'x' } }, 'validation_failed', '/headers'],
    [{ expires_at: iso(HARNESS_START_MS + 1_000) }, 'validation_failed', '/expires_at'],
    [{ expires_in: '30m' }, 'validation_failed', '/expires_at'],
    [{ status: 'running' }, 'validation_failed', '/status'],
    [{ status: null }, 'validation_failed', '/status'],
    [{ worker: 'other' }, 'validation_failed', '/worker'],
    [{ key: 'k' }, 'validation_failed', '/key'],
    [{ delay: '1s' }, 'unknown_field', '/delay'],
    [{ expires_at: iso(HARNESS_START_MS), expires_in: 1 }, 'conflicting_fields', '/expires_at'],
  ];
  for (const [fields, code, pointer] of cases) {
    const { json } = await rest.at('PUT', `tasks/${id}`, fields);
    t.match(json, { code, errors: [{ pointer }] }, JSON.stringify(fields));
  }
  const large = await rest.at('PUT', `tasks/${id}`, { payload: 'x'.repeat(262_143) });
  t.match(large, problem('payload_too_large'));
});

withMailer('of a running task, metadata, tags and max_attempts change', async ({ rest, worker }, t) => {
  const id = await rest.taskIn('running', worker);
  const fine = { metadata: { a: 'b' }, tags: ['x'], retry: { max_attempts: 20 } };
  t.match((await rest.at('PUT', `tasks/${id}`, fine)).json, {
    ...fine,
    status: 'running',
    max_attempts: 20,
  });
  const fixed: readonly (readonly [object, string])[] = [
    [{ payload: 1 }, '/payload'],
    [{ run_at: null }, '/run_at'],
    [{ retry: { base: '1s', max_attempts: 3 } }, '/retry/base'],
    [{ retry: null }, '/retry'],
  ];
  for (const [fields, pointer] of fixed) {
    t.match(
      await rest.at('PUT', `tasks/${id}`, fields),
      problem('task_running', { detail: /While a task is running, only metadata/, errors: [{ pointer }] }),
    );
  }
});

withMailer('a task that is over changes only by being replayed', async ({ rest, worker }, t) => {
  const id = await rest.taskIn('failed', worker);
  t.match(
    await rest.at('PUT', `tasks/${id}`, { type: 'b' }),
    problem('invalid_transition', { task_status: 'failed', detail: /Replay it/ }),
  );
});

t.test('a status that is written leads where the status before lets it', async t => {
  const outcomes = {
    scheduled: ['scheduled', '409', 'scheduled', 'scheduled', 'scheduled', 'scheduled', 'scheduled'],
    paused: ['paused', '409', 'paused', 'paused', '409', '409', '409'],
    canceled: ['canceled', 'running', 'canceled', 'canceled', '409', '409', 'canceled'],
  };
  for (const [wanted, expected] of Object.entries(outcomes)) {
    const rest = await TaskHarness.open();
    const worker = await rest.pushWorker();
    for (const [at, before] of STATUSES.entries()) {
      const id = await rest.taskIn(before, worker);
      const { status, json } = await rest.at('PUT', `tasks/${id}`, { status: wanted });
      const outcome = wanted === 'scheduled' && before === 'retry' ? 'retry' : expected[at];
      const got = status === 200 ? json.status : `${status}`;
      t.equal(got, outcome, `${before} → ${wanted}`);
      if (status === 409) t.match(json, { code: 'invalid_transition', task_status: before });
      if (before === 'running' && wanted === 'canceled') {
        t.match(json.cancel_requested_at, /^2026/);
        t.same(rest.told.at(-1), ['cancelRequested', 'acme', id]);
      }
    }
  }
});

withMailer('status and fields change together or not at all', async ({ rest, worker }, t) => {
  const failed = await rest.taskIn('failed', worker);
  const replayed = await rest.at('PUT', `tasks/${failed}`, {
    status: 'scheduled',
    payload: { fixed: true },
    run_at: iso(HARNESS_START_MS + 5_000),
  });
  t.match(replayed.json, {
    status: 'scheduled',
    attempt: 0,
    payload: { fixed: true },
    next_attempt_at: iso(HARNESS_START_MS + 5_000),
  });
  const events = (await rest.read(`tasks/${failed}/history?order=desc`)).data;
  t.match(events[0], { event: 'replayed', changed: ['payload', 'run_at'] }, 'in one step');

  const paused = await rest.at('PUT', `tasks/${failed}`, { status: 'paused', type: 'a' });
  t.match(paused.json, { status: 'paused', type: 'a' });
  const resumed = await rest.at('PUT', `tasks/${failed}`, { status: 'scheduled', type: 'b' });
  t.match(resumed.json, { status: 'scheduled', type: 'b' });
  const canceled = await rest.at('PUT', `tasks/${failed}`, { status: 'canceled', tags: ['bad'] });
  t.match(canceled.json, { status: 'canceled', tags: ['bad'] });
  const order = (await rest.read(`tasks/${failed}/history?order=desc`)).data;
  t.same(each(order.slice(0, 6), 'event'), [
    'canceled',
    'updated',
    'resumed',
    'updated',
    'updated',
    'paused',
  ]);
});

withMailer('the version that a change is meant for is said by If-Match', async ({ rest }, t) => {
  const { id } = await rest.task({ delay: '1h' });
  const change = (version: string, fields: object) =>
    rest.at('PUT', `tasks/${id}`, fields, { headers: { 'if-match': version } });
  t.equal((await change('"1"', { type: 'a' })).json.version, 2);
  const late = await change('"1"', { type: 'b' });
  t.match(late, problem('version_mismatch', { detail: /Read it again/ }));
  t.equal((await change('*', { type: 'b' })).status, 200);
  t.match(await change('3', { type: 'b' }), problem('invalid_parameter'));
  t.equal((await change('"3"', { status: 'paused', type: 'c' })).json.version, 5, 'two steps, one condition');
  const paths = ['cancel', 'pause', 'resume', 'run', 'retry'];
  for (const path of paths) {
    const answer = await rest.at('POST', `tasks/${id}/${path}`, undefined, {
      headers: { 'if-match': '"1"' },
    });
    t.equal(answer.status, 412, path);
  }
  const removed = await rest.ask('DELETE', `/api/v1/tasks/${id}`, { headers: { 'if-match': '"1"' } });
  t.equal(removed.status, 412);
});

withMailer('a change that is overtaken by another begins again', async ({ rest }, t) => {
  const { id } = await rest.task({ delay: '1h', retry: { base: '1s' } });
  const { change } = rest.store;
  let overtaken = 0;
  rest.store.change = async (...asked) => {
    rest.store.change = change;
    overtaken++;
    await rest.at('PUT', `tasks/${id}`, { retry: { factor: 2 } });
    return change.apply(rest.store, asked);
  };
  const { json } = await rest.at('PUT', `tasks/${id}`, { retry: { max_attempts: 7 } });
  t.match(json.retry, { base: '1s', factor: 2, max_attempts: 7 });
  t.equal(overtaken, 1);
});

withMailer('one that is always overtaken is refused in the end', async ({ rest }, t) => {
  const { id } = await rest.task();
  rest.store.change = async () => ({ kind: 'refused', reason: 'version', task: null });
  const { status, json } = await rest.at('PUT', `tasks/${id}`, { type: 'a' });
  t.equal(status, 412);
  t.match(json.detail, /at the same time/);
});

withMailer('short commands do what they say, and repeat their answer', async ({ rest, worker }, t) => {
  const { id } = await rest.task({ delay: '1h', payload: 1 });
  const post = (name: string) => rest.at('POST', `tasks/${id}/${name}`);
  const paused = await post('pause');
  t.match(paused, { status: 200, json: { status: 'paused' }, headers: { ETag: '"2"' } });
  t.notOk('payload' in paused.json);
  t.equal((await post('pause')).status, 200, 'what is so already is fine');
  t.match(await post('run'), problem('invalid_transition', { detail: /Resume it first/ }));
  t.equal((await post('resume')).json.status, 'scheduled');
  rest.told.length = 0;
  const run = await post('run');
  t.match(run.json, { next_attempt_at: iso(HARNESS_START_MS), run_at: iso(HARNESS_START_MS + 3_600_000) });
  t.same(rest.told, [['taskDue', 'acme', worker.id, HARNESS_START_MS]]);
  t.match(await post('retry'), problem('invalid_transition', { detail: /run/ }));
  t.equal((await post('cancel')).json.status, 'canceled');
  const headers = { 'idempotency-key': 'again' };
  const replay = await rest.at('POST', `tasks/${id}/retry`, undefined, { headers });
  t.match(replay.json, { status: 'scheduled', attempt: 0 });
  await post('cancel');
  const repeated = await rest.at('POST', `tasks/${id}/retry`, undefined, { headers });
  t.same(repeated.json, replay.json);
  t.equal(repeated.headers['Idempotency-Replayed'], 'true');
  t.equal((await rest.read(`tasks/${id}`)).status, 'canceled', 'nothing was done the second time');
});

withMailer('without its key or its worker, a task is not replayed', async ({ rest, worker }, t) => {
  const first = await rest.task({ key: 'k' });
  await rest.at('POST', `tasks/${first.id}/cancel`);
  const second = await rest.task({ key: 'k' });
  t.match(
    await rest.at('POST', `tasks/${first.id}/retry`),
    problem('task_key_exists', { detail: /Another open task of the worker has the key "k"/ }),
  );
  await rest.at('POST', `tasks/${second.id}/cancel`);
  t.equal((await rest.at('DELETE', `workers/${worker.id}`)).status, 204);
  const gone = await rest.at('PUT', `tasks/${first.id}`, { status: 'scheduled' });
  t.match(gone, problem('invalid_transition', { detail: /worker "mailer" was deleted/ }));
  const short = await rest.at('POST', `tasks/${first.id}/retry`);
  t.match(short, problem('invalid_transition', { detail: /worker "mailer" was deleted/ }));
  const many = await rest.at('POST', 'tasks/actions', { action: 'retry', ids: [first.id] });
  t.match(many.json, { changed: 0, skipped: [{ code: 'invalid_transition' }] });
});

withMailer('a task is deleted with its history, unless it runs', async ({ rest, worker }, t) => {
  for (const status of STATUSES) {
    const id = await rest.taskIn(status, worker);
    const answer = await rest.at('DELETE', `tasks/${id}`);
    if (status === 'running') {
      t.match(answer, problem('task_running', { detail: /force=true/ }));
      continue;
    }
    t.equal(answer.status, 204, status);
    t.equal((await rest.at('GET', `tasks/${id}`)).status, 404);
    t.equal((await rest.at('GET', `tasks/${id}/history`)).status, 404);
    t.equal((await rest.at('DELETE', `tasks/${id}`)).status, 404);
  }
});

test('tasks that are not there have no history, and nothing can be done to them', async (rest, t) => {
  for (const id of [
    'tsk_01J0000000000000000000000A',
    'wrk_01J0000000000000000000000A',
    'x',
    '%20',
    'tsk_%2e%2e',
  ]) {
    const asked: readonly (readonly [string, string, unknown?])[] = [
      ['GET', ''],
      ['PUT', '', { type: 'a' }],
      ['DELETE', ''],
      ['DELETE', '?force=true'],
      ['GET', '/history'],
      ['POST', '/cancel'],
      ['POST', '/retry'],
    ];
    for (const [method, rest1, body] of asked) {
      t.match(
        await rest.at(method, `tasks/${id}${rest1}`, body),
        problem('not_found', { detail: /There is no task/ }),
        `${method} ${id}${rest1}`,
      );
    }
  }
});
