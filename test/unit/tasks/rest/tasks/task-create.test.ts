import { DAY_MS } from '../../../../../src/base/clock.ts';
import { each } from '../../../../support/each.ts';
import { HARNESS_START_MS, problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TaskHarness.open());
const withMailer = testsOf(TaskHarness.withMailer);

const iso = (ms: number) => new Date(ms).toISOString();

test('a task gets what its worker has, is due at once, and its worker is woken', async (rest, t) => {
  const worker = await rest.pushWorker({
    timeout: '20s',
    priority: 'high',
    retry: { max_attempts: 3, base: '1s' },
  });
  rest.told.length = 0;
  const made = await rest.at('POST', 'tasks', { worker: 'mailer', payload: { to: 'ann' } });
  t.equal(made.status, 201);
  t.equal(made.headers['Location'], `/api/v1/tasks/${made.json.id}`);
  t.equal(made.headers['ETag'], '"1"');
  t.match(made.json, {
    id: /^tsk_[0-9A-Z]{26}$/,
    worker: 'mailer',
    worker_id: worker.id,
    type: null,
    status: 'scheduled',
    priority: 'high',
    run_at: iso(HARNESS_START_MS),
    next_attempt_at: iso(HARNESS_START_MS),
    expires_at: null,
    timeout: '20s',
    retry: { max_attempts: 3, base: '1s', factor: 3, max: '6h', jitter: 0.2, schedule: null, max_age: null },
    attempt: 0,
    max_attempts: 3,
    deferrals: 0,
    key: null,
    key_ttl: '0s',
    tags: [],
    metadata: {},
    created_by: { type: 'user', id: /^usr_/ },
    created_at: iso(HARNESS_START_MS),
    version: 1,
    payload: { to: 'ann' },
    headers: {},
    result: null,
    deduplicated: false,
    key_free_at: null,
  });
  t.same(rest.told, [['taskDue', 'acme', worker.id, HARNESS_START_MS]]);
  const read = await rest.at('GET', `tasks/${made.json.id}`);
  const { deduplicated: _, key_free_at: __, ...same } = made.json;
  const { waiting_for: _for, waiting_since: _since, ...shown } = read.json;
  t.same(shown, same, 'reading gives the same, and what it waits for');
});

withMailer('a task that is due in over five minutes causes no signal', async ({ rest, worker }, t) => {
  rest.told.length = 0;
  await rest.at('POST', 'tasks', { worker: 'mailer', delay: '301s' });
  t.same(rest.told, []);
  await rest.at('POST', 'tasks', { worker: 'mailer', delay: '300s' });
  t.same(rest.told, [['taskDue', 'acme', worker.id, HARNESS_START_MS + 300_000]]);
});

withMailer('everything that a task can say is kept', async ({ rest, worker }, t) => {
  const said = {
    type: 'email.welcome',
    payload: ['any', { json: null }, 1.5, true],
    headers: { 'X-Team': 'blue' },
    priority: 'bulk',
    run_at: '2026-03-02T12:00:00.5+01:00',
    expires_at: '2026-03-03T00:00:00Z',
    timeout: 90,
    retry: { schedule: ['1s', 60], max_age: '1d', max_attempts: 100 },
    key: 'order:7/ship.A-b_c',
    key_ttl: '30d',
    tags: ['a', 'b'],
    metadata: { team: 'blue', __proto__x: 'y' },
  };
  const { id } = await rest.task({ ...said, worker: worker.id });
  const json = await rest.read(`tasks/${id}`);
  t.match(json, {
    ...said,
    worker: 'mailer',
    headers: { 'x-team': 'blue' },
    run_at: '2026-03-02T11:00:00.500Z',
    expires_at: '2026-03-03T00:00:00.000Z',
    timeout: '90s',
    retry: { schedule: ['1s', '1m'], max_age: '1d', max_attempts: 100, base: '5s' },
    key_ttl: '30d',
  });
});

withMailer('a start is now, after a delay, or at a time; a past one is now', async ({ rest }, t) => {
  const startOf = async (fields: object) => (await rest.task(fields)).run_at;
  t.equal(await startOf({ delay: '1h30m' }), iso(HARNESS_START_MS + 5_400_000));
  t.equal(await startOf({ delay: 0.25 }), iso(HARNESS_START_MS + 250));
  t.equal(await startOf({ run_at: '2020-01-01T00:00:00Z' }), iso(HARNESS_START_MS));
  t.equal(
    await startOf({ run_at: iso(HARNESS_START_MS + 366 * DAY_MS) }),
    iso(HARNESS_START_MS + 366 * DAY_MS),
  );
  t.equal(await startOf({ run_at: null, delay: null }), iso(HARNESS_START_MS));
  t.equal((await rest.task({ expires_in: '10m' })).expires_at, iso(HARNESS_START_MS + 600_000));
});

withMailer('fields that exclude each other are refused, with both of their names', async ({ rest }, t) => {
  const both = [
    { run_at: '2026-03-02T00:00:00Z', delay: '1s' },
    { expires_at: '2026-03-02T00:00:00Z', expires_in: '1s' },
  ];
  for (const fields of both) {
    const { status, json } = await rest.at('POST', 'tasks', { worker: 'mailer', ...fields });
    const names = Object.keys(fields);
    t.equal(status, 400);
    t.equal(json.code, 'conflicting_fields');
    t.equal(json.detail, `/${names.join(' and /')} exclude each other. Give only one of them.`);
    t.same(
      each(json.errors, 'pointer'),
      names.map(name => `/${name}`),
    );
  }
});

withMailer('each field has its bounds, which the answer names', async ({ rest }, t) => {
  const deep = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
  const cases: readonly (readonly [fields: object, pointer: string, detail: RegExp])[] = [
    [{ worker: '' }, '/worker', /must not be empty/],
    [{ worker: 'nobody' }, '/worker', /does not exist: "nobody"/],
    [{ worker: 'wrk_01J00000000000000000000000' }, '/worker', /does not exist: "wrk_/],
    [{ type: '' }, '/type', /must not be empty/],
    [{ type: 'x'.repeat(129) }, '/type', /at most 128/],
    [{ type: 'a\nb' }, '/type', /printable ASCII/],
    [{ type: ' a' }, '/type', /printable ASCII/],
    [{ priority: 'urgent' }, '/priority', /critical.*bulk/],
    [{ run_at: 'tomorrow' }, '/run_at', /RFC 3339/],
    [{ run_at: 1_767_225_600 }, '/run_at', /string/],
    [{ run_at: iso(HARNESS_START_MS + 366 * DAY_MS + 1) }, '/run_at', /366 days/],
    [{ delay: '1 hour' }, '/delay', /duration such as "90s"/],
    [{ delay: -1 }, '/delay', /at least 0/],
    [{ delay: '367d' }, '/delay', /from 0s to 366d/],
    [{ expires_at: iso(HARNESS_START_MS) }, '/expires_at', /later than the time/],
    [{ expires_in: '1h', delay: '1h' }, '/expires_at', /later than the time/],
    [{ expires_at: '2030-01-01T00:00:00Z' }, '/expires_at', /732 days/],
    [{ timeout: '999ms' }, '/timeout', /from 1s to 1d/],
    [{ timeout: '16m' }, '/timeout', /at most 15m for the push worker "mailer"/],
    [{ key: '' }, '/key', /must not be empty/],
    [{ key: 'a b' }, '/key', /ASCII letters and digits/],
    [{ key: 'x'.repeat(256) }, '/key', /at most 255/],
    [{ key_ttl: '31d' }, '/key_ttl', /from 0s to 30d/],
    [{ on_conflict: 'ignore' }, '/on_conflict', /return.*replace/],
    [{ tags: Array(11).fill('a') }, '/tags', /at most 10/],
    [{ tags: ['x'.repeat(65)] }, '/tags/0', /at most 64/],
    [{ tags: 'a' }, '/tags', /array/],
    [{ metadata: { a: 1 } }, '/metadata/a', /string/],
    [
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, at) => [at, 'x'])) },
      '/metadata',
      /at most 16/,
    ],
    [{ metadata: { a: 'x'.repeat(2100), b: 'ü'.repeat(1000) } }, '/metadata', /4096 bytes.*4102/],
    [{ retry: { max_attempts: 0 } }, '/retry/max_attempts', /at least 1/],
    [{ retry: { max_attempts: 101 } }, '/retry/max_attempts', /at most 100/],
    [{ retry: { base: '99ms' } }, '/retry/base', /from 100ms to 1h/],
    [{ retry: { factor: 11 } }, '/retry/factor', /at most 10/],
    [{ retry: { max: '25h' } }, '/retry/max', /from 100ms to 1d/],
    [{ retry: { jitter: 1.1 } }, '/retry/jitter', /at most 1/],
    [{ retry: { schedule: [] } }, '/retry/schedule', /at least 1/],
    [{ retry: { schedule: Array(51).fill('1s') } }, '/retry/schedule', /at most 50/],
    [{ retry: { schedule: ['1s', '31d'] } }, '/retry/schedule/1', /from 0s to 30d/],
    [{ retry: { max_age: '0s' } }, '/retry/max_age', /from 1s to 366d/],
    [{ headers: { Host: 'x' } }, '/headers', /"Host" belongs to the connection/],
    [{ headers: { 'content-length': '1' } }, '/headers', /connection/],
    [{ headers: { Connection: 'close' } }, '/headers', /connection/],
    [{ headers: { 'Transfer-Encoding': 'x' } }, '/headers', /connection/],
    [{ headers: { 'Webhook-Id': 'x' } }, '/headers', /begins with "webhook-"/],
    [{ headers: { 'TASK-attempt': 'x' } }, '/headers', /begins with "task-"/],
    [{ headers: { 'x-a': 'b\r\nc: d' } }, '/headers', /line break/],
    [{ headers: { 'x a': 'b' } }, '/headers', /not a valid header name/],
    [{ headers: { 'X-A': 'b', 'x-a': 'c' } }, '/headers', /twice/],
    [
      { headers: Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`x-${at}`, 'x'])) },
      '/headers',
      /at most 32/,
    ],
    [{ headers: { 'x-a': 'x'.repeat(5000), 'x-b': 'x'.repeat(5000) } }, '/headers', /8192 bytes.*10006/],
    [{ payload: deep(70) }, '', /nested/],
  ];
  for (const [fields, pointer, detail] of cases) {
    const { status, json } = await rest.at('POST', 'tasks', { worker: 'mailer', ...fields });
    const name = `${JSON.stringify(fields).slice(0, 60)} → ${json.detail}`;
    if (pointer === '') {
      t.equal(json.code, 'invalid_json', name);
      continue;
    }
    t.equal(status, 422, name);
    t.equal(json.code, 'validation_failed', name);
    t.equal(json.errors[0].pointer, pointer, name);
    t.match(json.errors[0].detail, detail, name);
  }
});

withMailer('a payload has as many bytes of JSON as the account may have', async ({ rest }, t) => {
  const limit = 256 * 1024;
  t.equal((await rest.at('POST', 'tasks', { worker: 'mailer', payload: 'x'.repeat(limit - 2) })).status, 201);
  t.match(
    await rest.at('POST', 'tasks', {
      worker: 'mailer',
      payload: 'ü'.repeat(limit / 2),
    }),
    problem('payload_too_large', { detail: /at most 262144 bytes, but has 262146 bytes of JSON/ }),
  );
  await rest.change('acme', 'account', 'account', body => ({ ...body, limits: { payloadBytes: 10 } }));
  t.equal((await rest.at('POST', 'tasks', { worker: 'mailer', payload: 'x'.repeat(9) })).status, 413);
});

test('headers are for workers that are pushed to; leases may last longer than pushes', async (rest, t) => {
  await rest.pullWorker();
  const { json } = await rest.at('POST', 'tasks', { worker: 'crawler', headers: { a: 'b' } });
  t.match(json, {
    code: 'validation_failed',
    errors: [{ pointer: '/headers', detail: /"crawler" is a pull worker/ }],
  });
  t.equal((await rest.task({ worker: 'crawler', timeout: '24h' })).timeout, '1d');
});

withMailer('the open tasks of an account are limited', async ({ rest }, t) => {
  await rest.change('acme', 'account', 'account', body => ({ ...body, limits: { openTasks: 1 } }));
  await rest.task();
  const { status, json, headers } = await rest.at('POST', 'tasks', { worker: 'mailer' });
  t.equal(status, 429);
  t.match(json, {
    code: 'quota_exceeded',
    limit: 'open_tasks',
    max: 1,
    detail: /already has 1 open tasks/,
  });
  t.equal(headers['Retry-After'], '60');
});

withMailer('one live task has a key; another says what happens to it', async ({ rest, worker }, t) => {
  const first = await rest.task({ key: 'k', payload: 1, key_ttl: '1h' });
  const again = await rest.at('POST', 'tasks', { worker: 'mailer', key: 'k', payload: 2 });
  t.equal(again.status, 200);
  t.match(again.json, { id: first.id, deduplicated: true, key_free_at: null });
  t.notOk('payload' in again.json, 'the payload of another request is not shown');
  t.equal(again.headers['Location'], undefined);

  const rejected = await rest.at('POST', 'tasks', { worker: 'mailer', key: 'k', on_conflict: 'reject' });
  t.equal(rejected.status, 409);
  t.match(rejected.json, { code: 'task_key_exists', task_id: first.id });
  t.match(rejected.json.detail, first.id);

  rest.told.length = 0;
  const replaced = await rest.at('POST', 'tasks', {
    worker: 'mailer',
    key: 'k',
    key_ttl: '1h',
    payload: 3,
    delay: '5s',
    on_conflict: 'replace',
  });
  t.equal(replaced.status, 200);
  t.match(replaced.json, { id: first.id, deduplicated: true, replaced: true, payload: 3, version: 2 });
  t.same(rest.told, [['taskDue', 'acme', worker.id, HARNESS_START_MS + 5_000]]);
  t.match(await rest.read(`tasks/${first.id}`), {
    payload: 3,
    run_at: iso(HARNESS_START_MS + 5_000),
  });

  await rest.at('POST', `tasks/${first.id}/cancel`);
  const kept = await rest.at('POST', 'tasks', { worker: 'mailer', key: 'k' });
  t.match(kept.json, { id: first.id, status: 'canceled', key_free_at: iso(HARNESS_START_MS + 3_600_000) });
  t.equal(kept.status, 200);
});

withMailer('beside one that runs, a replacement waits for its end', async ({ rest, worker }, t) => {
  const first = await rest.task({ key: 'k' });
  await rest.start(worker.id);
  rest.told.length = 0;
  const second = await rest.at('POST', 'tasks', { worker: 'mailer', key: 'k', on_conflict: 'replace' });
  t.equal(second.status, 201);
  t.match(second.json, { held_by: first.id, next_attempt_at: null, deduplicated: false });
  t.same(rest.told, [], 'nothing is due');
});

withMailer('the first answer also replaces a refusal of today', async ({ rest, worker }, t) => {
  const body = { worker: 'mailer', run_at: '2026-03-01T11:00:00Z', expires_at: '2026-03-01T12:00:00Z' };
  const headers = { 'idempotency-key': 'k1' };
  const first = await rest.at('POST', 'tasks', body, { headers });
  rest.clock.advance(3 * 3_600_000);
  const late = await rest.at('POST', 'tasks', body, { headers });
  t.equal(late.json.id, first.json.id);
  t.equal((await rest.at('POST', 'tasks', body)).status, 422, 'without the key it is too late');
  await rest.at('DELETE', `workers/${worker.id}?cancel_tasks=true`);
  const gone = await rest.at('POST', 'tasks', body, { headers });
  t.equal(gone.json.id, first.json.id);
  t.equal((await rest.at('POST', 'tasks', body, { headers: { 'idempotency-key': 'k2' } })).status, 422);
  const reused = await rest.at('POST', 'tasks', { worker: 'mailer' }, { headers });
  t.equal(reused.json.code, 'idempotency_key_reused');
});

withMailer('a worker that another process just deleted is missing', async ({ rest, worker }, t) => {
  await rest.task({});
  await rest.at('POST', 'tasks/actions', { action: 'cancel', filter: {} });
  await rest.store.apply('acme', [{ op: 'delete', kind: 'worker', id: worker.id, expect: 'any' }]);
  t.match(
    await rest.at('POST', 'tasks', { worker: 'mailer' }),
    problem('validation_failed', { errors: [{ pointer: '/worker', code: 'not_found' }] }),
  );
});
