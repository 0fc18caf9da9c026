import t from 'tap';
import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => setup());

/** A tenant with a worker `mailer` that is pushed to and a worker `puller`. */
async function setup(limits: Record<string, number> = {}): Promise<TaskHarness> {
  const rest = await TaskHarness.open();
  await rest.pushWorker();
  await rest.pullWorker({ name: 'puller' });
  if (Object.keys(limits).length > 0) {
    await rest.change('acme', 'account', 'account', body => ({ ...body, limits }));
  }
  return rest;
}

const NIGHTLY = { name: 'nightly', worker: 'mailer', cron: '30 2 * * *', timezone: 'Europe/Berlin' };

test('a schedule is made with what is usual where nothing is said', async (rest, t) => {
  const due: unknown[] = [];
  rest.parts.signals.listen({ scheduleDue: (...details) => due.push(details) });
  const made = await rest.at('POST', 'schedules', NIGHTLY);
  t.equal(made.status, 201);
  t.same(made.json, {
    id: made.json.id,
    name: 'nightly',
    worker: 'mailer',
    worker_id: made.json.worker_id,
    task: {
      type: null,
      payload: null,
      headers: {},
      priority: null,
      timeout: null,
      retry: null,
      tags: [],
      metadata: {},
      group: null,
      expires_in: null,
    },
    cron: '30 2 * * *',
    every: null,
    phase: '0s',
    timezone: 'Europe/Berlin',
    overlap: 'skip',
    catch_up: { mode: 'latest', window: '1h', max: 100 },
    dst: { gap: 'run_after', overlap: 'once' },
    jitter: '0s',
    start_at: null,
    end_at: null,
    max_runs: null,
    runs_left: null,
    paused: false,
    pause_reason: null,
    resume_at: null,
    next_runs: [
      '2026-03-02T01:30:00.000Z',
      '2026-03-03T01:30:00.000Z',
      '2026-03-04T01:30:00.000Z',
      '2026-03-05T01:30:00.000Z',
      '2026-03-06T01:30:00.000Z',
    ],
    last_run: null,
    fired: 0,
    skipped_overlap: 0,
    skipped_window: 0,
    created_at: '2026-03-01T10:00:00.000Z',
    updated_at: '2026-03-01T10:00:00.000Z',
    version: 1,
  });
  t.match(made.json.id, /^sch_[0-9A-Z]{26}$/);
  t.equal(made.headers['Location'], `/api/v1/schedules/${made.json.id}`);
  t.equal(made.headers['ETag'], '"1"');
  const at = Date.parse('2026-03-02T01:30:00Z');
  t.same(due, [['acme', made.json.id, at]]);
  t.equal((await rest.store.getDocument('acme', 'schedule', made.json.id))?.dueAt, at);
});

test('everything that can be said of it is shown again', async (rest, t) => {
  const said = {
    name: 'every-hour',
    worker: 'mailer',
    task: {
      type: 'report',
      payload: { a: [1, null] },
      headers: { 'x-a': 'b' },
      priority: 'low',
      timeout: '45s',
      retry: { max_attempts: 3, base: '7s' },
      tags: ['a'],
      metadata: { team: 'b' },
      group: 'customer-1',
      expires_in: '30m',
    },
    every: '1h',
    phase: '5m',
    timezone: 'UTC',
    overlap: 'queue_one',
    catch_up: { mode: 'all', window: '2d', max: 7 },
    dst: { gap: 'skip', overlap: 'twice' },
    jitter: '5m',
    start_at: '2026-03-01T12:00:00.000Z',
    end_at: '2026-12-24T00:00:00.000Z',
    max_runs: 300,
    paused: true,
    pause_reason: 'not yet',
    resume_at: '2026-03-02T00:00:00.000Z',
  };
  const made = await rest.at('POST', 'schedules', said);
  t.match(made.json, {
    ...said,
    cron: null,
    runs_left: 300,
  });
  t.same(Object.keys(made.json.task.retry), ['max_attempts', 'base'], 'of the policy only what was said');
  t.same(made.json.next_runs[0], '2026-03-02T00:05:00.000Z', 'the times from when it goes on');
});

test('it is read by id and by name', async (rest, t) => {
  const { json: made } = await rest.at('POST', 'schedules', NIGHTLY);
  for (const name of [made.id, 'nightly']) {
    const read = await rest.at('GET', `schedules/${name}`);
    t.same(read.json, made, name);
    t.equal(read.headers['ETag'], '"1"');
  }
  t.same(await rest.read('schedules'), { data: [made], next_cursor: null });
  for (const name of ['sch_01KJMDF8HG007VQ7WRDYMX37Z7', 'none', '%00', 'mailer']) {
    t.match(await rest.at('GET', `schedules/${name}`), problem('not_found'), name);
  }
});

test('the last run is shown with what became of it', async (rest, t) => {
  const { json: made } = await rest.at('POST', 'schedules', NIGHTLY);
  const triggered = await rest.at('POST', 'schedules/nightly/trigger');
  const scheduledFor = Date.UTC(2026, 2, 1, 9);
  for (const [taskId, status] of [
    [triggered.json.id, 'scheduled'],
    ['tsk_01KJMDF8HG007VQ7WRDYMX37Z7', null],
  ]) {
    await rest.change('acme', 'schedule', made.id, body => ({
      ...body,
      lastRun: { scheduledFor, taskId },
      fired: 1,
    }));
    const read = await rest.at('GET', `schedules/${made.id}`);
    t.same(read.json.last_run, { scheduled_for: '2026-03-01T09:00:00.000Z', task_id: taskId, status });
  }
  t.equal((await rest.read('schedules')).data[0].last_run.status, undefined);
});

test('a change leaves what it does not name, and null is the default again', async (rest, t) => {
  const task = { type: 'a', payload: 1, retry: { max_attempts: 3, schedule: ['1s'] }, tags: ['x'] };
  await rest.at('POST', 'schedules', { ...NIGHTLY, task, overlap: 'allow', catch_up: { max: 5 } });
  const changed = await rest.at('PUT', 'schedules/nightly', {
    task: { payload: null, retry: { base: '9s' } },
    catch_up: { mode: 'all' },
    overlap: null,
  });
  t.equal(changed.status, 200);
  t.match(changed.json, {
    version: 2,
    cron: '30 2 * * *',
    task: { type: 'a', payload: null, retry: { max_attempts: 3, base: '9s', schedule: null }, tags: ['x'] },
    catch_up: { mode: 'all', window: '1h', max: 5 },
    overlap: 'skip',
  });
  t.equal(changed.headers['ETag'], '"2"');
  const cleared = await rest.at('PATCH', 'schedules/nightly', {
    task: null,
    catch_up: null,
    name: 'renamed',
  });
  t.match(cleared.json, {
    name: 'renamed',
    task: { type: null, retry: null, tags: [] },
    catch_up: { max: 100 },
  });
  t.equal((await rest.at('GET', 'schedules/nightly')).status, 404);
  t.equal((await rest.at('GET', 'schedules/renamed')).status, 200);
});

test('its next time changes only with what it follows from', async (rest, t) => {
  const { json: made } = await rest.at('POST', 'schedules', { ...NIGHTLY, cron: '@hourly' });
  const due = async () => (await rest.store.getDocument('acme', 'schedule', made.id))!.dueAt;
  rest.clock.advance(7_200_000);
  // It has not fired since, as nobody fires it here: it is late.
  const late = Date.parse('2026-03-01T11:00:00Z');
  await rest.at('PUT', 'schedules/nightly', { overlap: 'allow', cron: '@hourly' });
  t.equal(await due(), late);
  await rest.at('PUT', 'schedules/nightly', { every: '1d' });
  t.equal(await due(), Date.parse('2026-03-02T00:00:00Z'), 'every in place of cron');
  t.match(await rest.read('schedules/nightly'), { cron: null, every: '1d' });
  await rest.at('PUT', 'schedules/nightly', { cron: '0 9 * * *', timezone: 'Asia/Tokyo' });
  t.equal(await due(), Date.parse('2026-03-02T00:00:00Z'));
  await rest.at('PUT', 'schedules/nightly', { paused: true });
  t.equal(await due(), null);
  rest.clock.advance(3 * 86_400_000);
  const resumed = await rest.at('PUT', 'schedules/nightly', { paused: false });
  t.equal(await due(), Date.parse('2026-03-05T00:00:00Z'), 'what came meanwhile is not made up for');
  t.equal(resumed.json.next_runs[0], '2026-03-05T00:00:00.000Z');
});

test('bounds are changed and taken away again; what has ended goes on then', async (rest, t) => {
  const { json: made } = await rest.at('POST', 'schedules', { ...NIGHTLY, cron: '@hourly', max_runs: 2 });
  const target = `schedules/${made.id}`;
  const change = async (body: object) => (await rest.at('PUT', target, body)).json;
  t.same(made.next_runs, ['2026-03-01T11:00:00.000Z', '2026-03-01T12:00:00.000Z'], 'no more than are left');
  await rest.change('acme', 'schedule', made.id, body => ({ ...body, fired: 2, nextAt: null }));
  const ended = await rest.at('GET', target);
  t.match(ended.json, { max_runs: 2, runs_left: 0, next_runs: [] });
  t.equal((await rest.at('POST', `${target}/trigger`)).status, 201, 'a trigger does not ask');
  t.match(await change({ overlap: 'allow' }), { runs_left: 0, next_runs: [] });
  t.match(await change({ max_runs: 3 }), { runs_left: 1, next_runs: ['2026-03-01T11:00:00.000Z'] });
  t.match(await change({ max_runs: 1 }), { runs_left: 0, next_runs: [] });
  const open = await change({ max_runs: null, end_at: '2026-03-01T12:00:00Z', jitter: '30m' });
  t.match(open, { runs_left: null, next_runs: ['2026-03-01T11:00:00.000Z'] });
  const { dueAt } = (await rest.store.getDocument('acme', 'schedule', made.id))!;
  const hour = Date.parse('2026-03-01T11:00:00Z');
  t.ok(dueAt! > hour && dueAt! < hour + 1_800_000, 'it is due after its jitter');
  t.match(await change({ end_at: '2026-03-01T10:30:00Z' }), { next_runs: [] });
  const later = await change({ end_at: null, start_at: '2026-03-05T00:00:00+01:00', jitter: null });
  t.match(later, { jitter: '0s', start_at: '2026-03-04T23:00:00.000Z' });
  t.equal(later.next_runs[0], '2026-03-04T23:00:00.000Z');
  t.equal((await change({ start_at: null })).next_runs[0], '2026-03-01T11:00:00.000Z');
});

test('a preview shows the next times, and stores nothing', async (rest, t) => {
  const preview = (body: object) => rest.at('POST', 'schedules/preview', body);
  const night = { cron: '30 2 * * *', timezone: 'Europe/Berlin' };
  const { status, json } = await preview({ ...night, count: 2, from: '2026-03-29T00:00:00Z' });
  t.equal(status, 200);
  t.same(json, {
    timezone: 'Europe/Berlin',
    times: [
      { at: '2026-03-29T01:00:00.000Z', local: '2026-03-29T03:00:00+02:00', note: 'moved_by_dst' },
      { at: '2026-03-30T00:30:00.000Z', local: '2026-03-30T02:30:00+02:00', note: null },
    ],
  });
  const usual = await preview({ every: '1h', phase: '5m', timezone: 'America/St_Johns' });
  t.equal(usual.json.times.length, 10);
  t.same(usual.json.times[0], {
    at: '2026-03-01T10:05:00.000Z',
    local: '2026-03-01T06:35:00-03:30',
    note: null,
  });
  const bounded = { ...night, start_at: '2026-06-01T00:00:00Z', end_at: '2026-06-03T00:00:00Z' };
  t.equal((await preview(bounded)).json.times.length, 2);
  t.equal((await preview({ ...night, count: 50 })).json.times.length, 50);
  t.same((await rest.read('schedules')).data, []);
  const viewer = await rest.addUser(rest.token, 'viewer');
  const looked = await rest.at('POST', 'schedules/preview', night, { token: viewer.token });
  t.equal(looked.status, 200, 'a viewer may look');
});

test('a preview says what is wrong as creating does', async (rest, t) => {
  for (const [body, code, pointer] of [
    [{}, 'validation_failed', ''],
    [{ cron: '61 * * * *' }, 'invalid_cron', '/cron'],
    [{ cron: '@daily', timezone: 'Europe/Bonn' }, 'invalid_timezone', '/timezone'],
    [{ cron: '@daily', every: '1h' }, 'conflicting_fields', '/cron'],
    [{ cron: '@daily', count: 51 }, 'validation_failed', '/count'],
    [{ cron: '@daily', count: 0 }, 'validation_failed', '/count'],
    [{ cron: '@daily', from: 'today' }, 'validation_failed', '/from'],
    [{ cron: '@daily', from: '2040-01-01T00:00:00Z' }, 'validation_failed', '/from'],
    [{ cron: '@daily', overlap: 'skip' }, 'unknown_field', '/overlap'],
  ] as const) {
    const { json } = await rest.at('POST', 'schedules/preview', body);
    t.match(json, { code, errors: [{ pointer }] }, JSON.stringify(body));
  }
});

test('a schedule may be named preview', async (rest, t) => {
  await rest.at('POST', 'schedules', { ...NIGHTLY, name: 'preview' });
  t.match(await rest.at('GET', 'schedules/preview'), { status: 200, json: { name: 'preview' } });
  t.equal((await rest.at('DELETE', 'schedules/preview')).status, 204);
});

t.test('times are those of the clock of the store, however the clock of the process was set', async t => {
  for (const aheadMs of [-7_200_000, 7_200_000]) {
    const rest = await setup();
    const storeMs = rest.clock.nowMs();
    rest.clock.moveTo(storeMs + aheadMs);
    rest.store.now = async () => storeMs;
    const made = await rest.at('POST', 'schedules', { ...NIGHTLY, cron: '@hourly' });
    t.equal(made.json.next_runs[0], '2026-03-01T11:00:00.000Z');
    const changed = await rest.at('PUT', 'schedules/nightly', { cron: '*/30 * * * *' });
    t.equal(changed.json.next_runs[0], '2026-03-01T10:30:00.000Z');
    const triggered = await rest.at('POST', 'schedules/nightly/trigger');
    t.equal(triggered.json.run_at, '2026-03-01T10:00:00.000Z');
  }
});

test('a schedule that is resumed does not repeat a run', async (rest, t) => {
  const { json: made } = await rest.at('POST', 'schedules', {
    ...NIGHTLY,
    cron: '@hourly',
    paused: true,
  });
  const scheduledFor = Date.parse('2026-03-01T12:00:00Z');
  const lastRun = { scheduledFor, taskId: 'tsk_01KJMDF8HG007VQ7WRDYMX37Z7' };
  await rest.change('acme', 'schedule', made.id, body => ({ ...body, lastRun }));
  // The clock was set back by hours after the run at 12:00.
  const resumed = await rest.at('PUT', `schedules/${made.id}`, { paused: false });
  t.equal(resumed.json.next_runs[0], '2026-03-01T13:00:00.000Z');
  const other = await rest.at('PUT', `schedules/${made.id}`, { cron: '30 * * * *' });
  t.equal(other.json.next_runs[0], '2026-03-01T10:30:00.000Z', 'other times are not waited for');
});

test('what is wrong is said with its place', async (rest, t) => {
  for (const [change, code, pointer, detail] of [
    [
      { cron: '61 * * * *' },
      'invalid_cron',
      '/cron',
      /^\/cron: the minute field: "61" is not valid: use values from 0 to 59/,
    ],
    [{ cron: '0 0 30 2 *' }, 'invalid_cron', '/cron', /never matches/],
    [
      { timezone: 'Europe/Bonn' },
      'invalid_timezone',
      '/timezone',
      /^\/timezone: "Europe\/Bonn" is not a known time zone/,
    ],
    [{ every: '1h' }, 'conflicting_fields', '/cron', /cron and \/every exclude each other/],
    [{ cron: undefined }, 'validation_failed', '', /cron or every/],
    [{ cron: undefined, every: '9s' }, 'validation_failed', '/every', /from 10s to 366d, but is 9s/],
    [{ cron: undefined, every: '1h', phase: '1h' }, 'validation_failed', '/phase', /shorter than every/],
    [{ phase: '1m' }, 'validation_failed', '/phase', /only allowed with every/],
    [{ catch_up: { window: '8d' } }, 'validation_failed', '/catch_up/window', /from 10s to 7d/],
    [{ catch_up: { max: 501 } }, 'validation_failed', '/catch_up/max', /at most 500/],
    [{ name: 'sch_x' }, 'validation_failed', '/name', /must not begin with sch_/],
    [{ name: 'No' }, 'validation_failed', '/name', /must consist of lowercase letters/],
    [{ worker: 'nobody' }, 'validation_failed', '/worker', /does not exist: "nobody"/],
    [{ resume_at: '2027-01-01T00:00:00Z' }, 'validation_failed', '/resume_at', /paused/],
    [
      { worker: 'puller', task: { headers: { a: 'b' } } },
      'validation_failed',
      '/task/headers',
      /is a pull worker/,
    ],
    [{ task: { timeout: '16m' } }, 'validation_failed', '/task/timeout', /at most 15m/],
    [{ task: { payload: 'x'.repeat(65_536) } }, 'payload_too_large', '/task/payload', /65538 bytes/],
    [{ task: { run_at: '2027-01-01T00:00:00Z' } }, 'unknown_field', '/task/run_at', /is not a known field/],
    [{ jitter: '61m' }, 'validation_failed', '/jitter', /from 0s to 1h, but is 61m/],
    [{ start_at: 'soon' }, 'validation_failed', '/start_at', /RFC 3339/],
    [{ start_at: '2037-01-01T00:00:00Z' }, 'validation_failed', '/start_at', /at most ten years ahead/],
    [
      { start_at: '2026-04-01T00:00:00Z', end_at: '2026-04-01T00:00:00Z' },
      'validation_failed',
      '/end_at',
      /later than start_at/,
    ],
    [{ end_at: '2026-03-01T10:00:00Z' }, 'validation_failed', '/end_at', /later than the first run/],
    [{ max_runs: 0 }, 'validation_failed', '/max_runs', /at least 1/],
    [{ overlap: 'maybe' }, 'validation_failed', '/overlap', /one of/],
  ] as const) {
    const { json } = await rest.at('POST', 'schedules', { ...NIGHTLY, ...change });
    const text = JSON.stringify(change).slice(0, 80);
    t.match(json, { code, errors: [{ pointer, detail }] }, text);
  }
  await rest.at('POST', 'schedules', NIGHTLY);
  t.match(await rest.at('POST', 'schedules', NIGHTLY), problem('name_taken'));
  t.match(await rest.at('PUT', 'schedules/nightly', { cron: null }), { status: 422 });
  t.match(await rest.at('PUT', 'schedules/nightly', { cron: '* * * *' }), {
    json: { code: 'invalid_cron' },
  });
  await rest.at('POST', 'schedules', { ...NIGHTLY, name: 'other' });
  t.match(await rest.at('PUT', 'schedules/other', { name: 'nightly' }), { json: { code: 'name_taken' } });
});

t.test('the number of schedules of an account is limited', async t => {
  const rest = await setup({ schedules: 1 });
  t.equal((await rest.at('POST', 'schedules', NIGHTLY)).status, 201);
  t.match(
    await rest.at('POST', 'schedules', { ...NIGHTLY, name: 'other' }),
    problem('quota_exceeded', { limit: 'schedules', max: 1 }),
  );
});

test('a trigger makes a task now, also of a schedule that is paused', async (rest, t) => {
  const { json: made } = await rest.at('POST', 'schedules', {
    ...NIGHTLY,
    paused: true,
    task: { type: 'a' },
  });
  const told: unknown[] = [];
  rest.parts.signals.listen({ taskDue: (...details) => told.push(details) });
  const headers = { 'idempotency-key': 'k1' };
  const first = await rest.at('POST', 'schedules/nightly/trigger', undefined, { headers });
  t.equal(first.status, 201);
  t.match(first.json, {
    worker: 'mailer',
    type: 'a',
    status: 'scheduled',
    key: null,
    run_at: '2026-03-01T10:00:00.000Z',
    schedule_id: made.id,
    scheduled_for: '2026-03-01T10:00:00.000Z',
    created_by: { type: 'user' },
  });
  t.equal(first.headers['Location'], `/api/v1/tasks/${first.json.id}`);
  t.equal(told.length, 1);
  const again = await rest.at('POST', 'schedules/nightly/trigger', undefined, { headers });
  t.equal(again.json.id, first.json.id);
  t.equal(again.headers['Idempotency-Replayed'], 'true');
  t.not((await rest.at('POST', 'schedules/nightly/trigger')).json.id, first.json.id);
  t.match(await rest.read('schedules/nightly'), { version: 1, fired: 0, last_run: null });
  t.equal((await rest.at('POST', 'schedules/none/trigger')).status, 404);
});
