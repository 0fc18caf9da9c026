import { HOUR_MS, MINUTE_MS } from '../../../../../src/base/clock.ts';
import { placeOfCount, placeOfTime, type UsagePairs } from '../../../../../src/tasks/model/usage.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(open);

const CREATED = placeOfCount('created');
const STARTED = placeOfCount('started');
const SUCCEEDED = placeOfCount('succeeded');
const SECOND = placeOfTime('duration', 1_000);
const LAG = placeOfTime('lag', 64);

const NOTHING = {
  tasks_created: 0,
  attempts_started: 0,
  attempts_failed: 0,
  tasks_succeeded: 0,
  tasks_failed: 0,
  tasks_canceled: 0,
  tasks_expired: 0,
  duration_p50_ms: null,
  duration_p95_ms: null,
  start_lag_p50_ms: null,
  start_lag_p95_ms: null,
};

async function open() {
  const rest = await TaskHarness.open();
  const { clock, store } = rest;
  const add = (agoMs: number, figures: UsagePairs, workerId: string | null = null) =>
    store.addUsage('acme', [{ at: clock.nowMs() - agoMs, workerId, figures }]);
  const usage = (query = '') => rest.at('GET', `usage${query}`);
  return { rest, clock, add, usage };
}

test('an account in which nothing has happened has a series of zeros', async ({ usage }, t) => {
  const { status, json } = await usage();
  t.equal(status, 200);
  t.match(json, { from: '2026-03-01T09:01:00.000Z', to: '2026-03-01T10:00:00.000Z', interval_seconds: 60 });
  t.equal(json.worker, null);
  t.equal(json.series.length, 60);
  t.same(json.series[59], { at: '2026-03-01T10:00:00.000Z', ...NOTHING });
  t.same(json.totals, NOTHING);
});

test('a range is a series of minutes or hours, with totals and percentiles', async ({ usage, add }, t) => {
  await add(0, [CREATED, 2, STARTED, 1, SUCCEEDED, 1, SECOND, 1, LAG, 1]);
  await add(59 * MINUTE_MS, [CREATED, 3]);
  await add(60 * MINUTE_MS, [CREATED, 7]);
  await add(5 * HOUR_MS, [CREATED, 100]);
  await add(167 * HOUR_MS, [CREATED, 1_000]);
  const hour = (await usage('?range=1h')).json;
  t.match(hour.series[0], { ...NOTHING, tasks_created: 3 });
  t.match(hour.series[59], { tasks_created: 2, attempts_started: 1, tasks_succeeded: 1 });
  t.equal(hour.totals.tasks_created, 5);
  for (const [name, ms] of [
    ['duration_p50_ms', 1_000],
    ['duration_p95_ms', 1_000],
    ['start_lag_p50_ms', 64],
  ] as const) {
    t.ok(Math.abs(hour.totals[name] / ms - 1) < 0.2, `${name}: ${hour.totals[name]}`);
  }
  const day = (await usage('?range=24h')).json;
  t.match(day, { from: '2026-02-28T11:00:00.000Z', interval_seconds: 3_600 });
  t.equal(day.series.length, 24);
  t.match(day.series[23], { at: '2026-03-01T10:00:00.000Z', tasks_created: 2 });
  t.equal(day.totals.tasks_created, 112);
  const week = (await usage('?range=7d')).json;
  t.equal(week.series.length, 168);
  t.equal(week.series[0].tasks_created, 1_000);
  t.equal(week.totals.tasks_created, 1_112);
});

test('of one worker, by name or id, also after it was deleted', async ({ rest, usage, add }, t) => {
  const worker = await rest.pullWorker();
  const task = await rest.task({ worker: 'crawler' });
  await add(0, [CREATED, 4], worker.id);
  await add(0, [CREATED, 9]);
  for (const name of ['crawler', worker.id]) {
    const { json } = await usage(`?worker=${name}`);
    t.same(json.worker, { id: worker.id, name: 'crawler' });
    t.equal(json.totals.tasks_created, 4);
    t.equal(json.limits.open_tasks.used, 1, 'the limits are those of the account');
  }
  await rest.at('POST', `tasks/${task.id}/cancel`);
  await rest.at('DELETE', `workers/${worker.id}`);
  const { json } = await usage(`?worker=${worker.id}`);
  t.same([json.worker, json.totals.tasks_created], [{ id: worker.id, name: null }, 4]);
});

test('limits have what is used of them, and asking uses nothing', async ({ rest, usage, add, clock }, t) => {
  const worker = await rest.pushWorker();
  await rest.task();
  await rest.task();
  await rest.start(worker.id);
  clock.advance(MINUTE_MS);
  await add(MINUTE_MS, [STARTED, 90]);
  await add(0, [STARTED, 6]);
  rest.limits.verdict = {
    allowed: true,
    nearest: { limit: 400, remaining: 380, windowSeconds: 60, resetSeconds: 12 },
  };
  rest.limits.calls.length = 0;
  const { json } = await usage();
  t.same(json.limits, {
    in_flight: { limit: 200, used: 1 },
    dispatch_per_second: { limit: 500, used: 1.5 },
    open_tasks: { limit: 1_000_000, used: 2 },
    workers: { limit: 100, used: 1 },
    schedules: { limit: 1_000, used: 0 },
    users: { limit: 100, used: 1 },
    read_calls: { limit: 400, used: 20, window_seconds: 60 },
    write_calls: { limit: 400, used: 20, window_seconds: 60 },
  });
  t.match(rest.limits.calls, [
    { kind: 'read', onlyAsks: undefined },
    { kind: 'read', onlyAsks: true },
    { kind: 'write', onlyAsks: true },
  ]);
  rest.limits.verdict = new Error('the counters are away');
  const failing = await usage();
  t.match(failing, { status: 200, json: { limits: { read_calls: null, in_flight: { used: 1 } } } });
});

test('parameters that make no sense are refused with what is accepted', async ({ usage }, t) => {
  for (const range of ['2h', '1H', '60', '-1', '__proto__', 'constructor', '7d,1h', 'x'.repeat(2_000)]) {
    const { status, json } = await usage(`?range=${range}`);
    t.match([status, json.code], [400, 'invalid_parameter'], range.slice(0, 20));
    t.match(json.errors, [{ parameter: 'range', detail: /1h, 24h, 7d/ }]);
  }
  for (const worker of ['nobody', '*', '%00', '..%2F', 'wrk_01J0000000000000000000000A', 'x'.repeat(2_000)]) {
    const { status, json } = await usage(`?worker=${worker}`);
    t.match([status, json.code], [422, 'validation_failed'], worker.slice(0, 20));
    t.ok(json.detail.length < 200);
  }
  t.equal((await usage('?range=1h&range=7d')).status, 400);
  t.equal((await usage('?from=2020-01-01')).status, 400);
  t.equal((await usage('?range=')).status, 200, 'an empty parameter is one that is left out');
});

test('other tenants see nothing of it', async ({ rest, add }, t) => {
  await add(0, [CREATED, 4]);
  const { token } = await rest.signUp('globex');
  const { json } = await rest.ask('GET', '/api/v1/usage', { token, host: 'globex.tasks.test' });
  t.equal(json.totals.tasks_created, 0);
});
