import type { Test } from 'tap';
import { each } from '../../../../support/each.ts';
import { type Asked, HARNESS_START_MS, problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => TaskHarness.open());
const withMailer = testsOf(TaskHarness.withMailer);

const iso = (ms: number) => new Date(ms).toISOString();
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects by comparing
const idsOf = (json: any): string[] => each(json.data, 'id');

withMailer('a page has the newest tasks first, without payloads', async ({ rest }, t) => {
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) ids.push((await rest.task({ payload: n })).id);
  const first = await rest.at('GET', 'tasks?limit=2');
  t.same(idsOf(first.json), [ids[4], ids[3]]);
  t.notOk(
    'payload' in first.json.data[0] || 'headers' in first.json.data[0] || 'result' in first.json.data[0],
  );
  const second = await rest.at('GET', `tasks?limit=2&cursor=${first.json.next_cursor}`);
  t.same(idsOf(second.json), [ids[2], ids[1]]);
  const last = await rest.at('GET', `tasks?cursor=${second.json.next_cursor}&limit=200`);
  t.same(idsOf(last.json), [ids[0]]);
  t.equal(last.json.next_cursor, null);
  t.same(idsOf(await rest.read('tasks?order=asc&limit=3')), ids.slice(0, 3));
  const none = await rest.at('GET', 'tasks?worker=&status=&start=&end=&include=');
  t.equal(none.json.data.length, 5, 'an empty filter is none');
});

withMailer('tasks are found by the name or id of an existing worker', async ({ rest, worker: mailer }, t) => {
  await rest.pullWorker();
  const { id } = await rest.task();
  await rest.task({ worker: 'crawler' });
  for (const worker of ['mailer', mailer.id]) {
    t.same(idsOf(await rest.read(`tasks?worker=${worker}`)), [id]);
  }
  for (const worker of ['nobody', 'wrk_01J0000000000000000000000A', 'NOT%20A%20NAME']) {
    for (const path of ['tasks', 'tasks/counts']) {
      const { status, json } = await rest.at('GET', `${path}?worker=${worker}`);
      t.equal(status, 422);
      t.match(json, {
        code: 'validation_failed',
        detail: /^There is no worker "/,
        errors: [{ parameter: 'worker', code: 'not_found' }],
      });
    }
  }
});

withMailer('tasks of a worker that was deleted are found by its id', async ({ rest, worker: mailer }, t) => {
  const { id } = await rest.task();
  await rest.at('DELETE', `workers/${mailer.id}?cancel_tasks=true`);
  t.same(idsOf(await rest.read(`tasks?worker=${mailer.id}`)), [id]);
  t.equal((await rest.read(`tasks/counts?worker=${mailer.id}`)).counts.canceled, 1);
  t.equal((await rest.at('GET', 'tasks?worker=mailer')).status, 422, 'its name may be that of another');
});

withMailer('tasks are found by one status or several', async ({ rest, worker }, t) => {
  const ids: Record<string, string> = {};
  for (const status of ['running', 'retry', 'paused', 'succeeded', 'failed', 'canceled', 'scheduled']) {
    ids[status] = await rest.taskIn(status, worker);
  }
  for (const [status, id] of Object.entries(ids)) {
    t.same(idsOf(await rest.read(`tasks?status=${status}&worker=mailer`)), [id], status);
  }
  t.same(idsOf(await rest.read('tasks?status=expired')), []);
  const several = await rest.at('GET', 'tasks?status=failed,retry,failed&order=asc');
  t.same(idsOf(several.json), [ids['retry'], ids['failed']]);
  const all = 'scheduled,running,retry,paused,succeeded,failed,canceled,expired';
  t.equal((await rest.read(`tasks?status=${all}`)).data.length, 7);
});

test('a status that there is not is refused, with those there are', async (rest, t) => {
  for (const status of ['done', 'failed,done', 'Failed', ',', 'failed, retry']) {
    const answer = await rest.at('GET', `tasks?status=${encodeURIComponent(status)}`);
    t.equal(answer.status, 400, status);
    t.match(answer.json, {
      code: 'invalid_status',
      detail:
        /is not a status; statuses are: scheduled, running, retry, paused, succeeded, failed, canceled, expired/,
      errors: [{ parameter: 'status' }],
    });
  }
});

withMailer('start and end take partial times, which cover their whole period', async ({ rest }, t) => {
  const days = [
    '2026-03-01T10:00:00.000Z',
    '2026-03-01T23:59:59.999Z',
    '2026-03-02T00:00:00.000Z',
    '2026-04-01T00:00:00.000Z',
    '2027-01-01T00:00:00.000Z',
  ];
  for (const day of days) {
    rest.clock.moveTo(Date.parse(day));
    await rest.task();
  }
  const found = async (query: string) => {
    const json = await rest.read(`tasks?order=asc&${query}`);
    return json.data.map((task: { created_at: string }) => days.indexOf(task.created_at));
  };
  t.same(await found('start=2026&end=2026'), [0, 1, 2, 3]);
  t.same(await found('start=2026-03-01&end=2026-03-01'), [0, 1]);
  t.same(await found('start=2026-03-02'), [2, 3, 4]);
  t.same(
    await found(`start=${days[2]}&end=${days[3]}`),
    [2],
    'a timestamp is in as a start, and out as an end',
  );
  t.same(await found('start=-1d'), [4]);
});

test('a range that cannot be read, or that is upside down, is refused', async (rest, t) => {
  for (const [query, parameter] of [
    ['start=yesterday', 'start'],
    ['end=2026-13', 'end'],
    ['start=2026&end=2025', 'end'],
  ]) {
    t.match(
      await rest.at('GET', `tasks?${query}`),
      problem('invalid_time_range', { errors: [{ parameter }] }),
    );
  }
});

test('parameters have their bounds', async (rest, t) => {
  for (const [query, parameter] of [
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=x', 'limit'],
    ['order=up', 'order'],
    ['include=everything', 'include'],
    ['workr=mailer', 'workr'],
    ['worker=a&worker=b', 'worker'],
  ]) {
    t.match(
      await rest.at('GET', `tasks?${query}`),
      problem('invalid_parameter', { errors: [{ parameter }] }),
      query,
    );
  }
});

withMailer('payloads come when somebody asks who may see them', async ({ rest, worker }, t) => {
  await rest.taskIn('succeeded', worker);
  await rest.task({ payload: { a: 1 }, headers: { X: 'y' } });
  const json = await rest.read('tasks?include=payload');
  t.match(json.data, [
    { payload: { a: 1 }, headers: { x: 'y' }, result: null },
    { payload: null, result: { ok: true } },
  ]);
});

/** A list from its beginning to its end: the ids, and how many of them each page had. No page is larger than a MiB. */
async function walk(t: Test, rest: TaskHarness, target: string, asked: Asked = {}) {
  const pages = await rest.pages(target, asked);
  for (const page of pages) {
    const bytes = Buffer.byteLength(JSON.stringify(page));
    t.ok(bytes < 1024 * 1024 + 100, `${bytes} bytes`);
  }
  return { seen: pages.flatMap(idsOf), sizes: pages.map(({ data }) => data.length) };
}

withMailer('a page whose payloads are large ends early, and nothing is lost', async ({ rest }, t) => {
  const made: string[] = [];
  for (const size of [200_000, 250_000, 260_000, 250_000, 250_000, 5, 5, 5, 250_000, 250_000, 250_000]) {
    made.push((await rest.task({ payload: 'x'.repeat(size) })).id);
  }
  const pages = await walk(t, rest, 'tasks?order=asc&include=payload&limit=200');
  t.same(pages, { seen: made, sizes: [4, 7] });
  const without = await walk(t, rest, 'tasks?order=asc&limit=200');
  t.same(without, { seen: made, sizes: [11] });
});

withMailer('a page of tasks with large metadata ends early as well', async ({ rest }, t) => {
  // Each of these characters has six in JSON.
  const metadata = { a: '\u0001'.repeat(4_000) };
  const made: string[] = [];
  for (let n = 0; n < 5; n++) {
    const tasks = Array(20).fill({ worker: 'mailer', metadata });
    const { json } = await rest.at('POST', 'tasks/batch', { tasks });
    for (const { task } of json.results) made.push(task.id);
  }
  const { seen, sizes } = await walk(t, rest, 'tasks?order=asc&limit=200');
  t.same(seen, made);
  t.same(sizes, [42, 42, 16]);
});

withMailer('pages of schedules end early, whether or not the caller sees payloads', async ({ rest }, t) => {
  const made: string[] = [];
  for (let n = 0; n < 41; n++) {
    const task = { payload: 'x'.repeat(60_000) };
    made.push((await rest.made('schedules', { name: `s${n}`, worker: 'mailer', every: '1h', task })).id);
  }
  const { seen, sizes } = await walk(t, rest, 'schedules?order=asc&limit=200');
  t.same(seen, made);
  t.same(sizes, [17, 17, 7]);
  const viewer = { token: (await rest.addUser(rest.token, 'viewer')).token };
  t.same((await walk(t, rest, 'schedules?order=asc&limit=200', viewer)).seen, made);
  t.same((await walk(t, rest, 'schedules?order=asc&limit=41', viewer)).seen, made);
  t.equal((await rest.read('limits')).use.schedules, 41);
});

test('a worker is given fewer leases than it asks for where their payloads are large', async (rest, t) => {
  await rest.pullWorker();
  for (let n = 0; n < 9; n++) await rest.task({ worker: 'crawler', payload: 'x'.repeat(262_000) });
  const counts: number[] = [];
  for (let n = 0; n < 2; n++) {
    const asked = { headers: { 'idempotency-key': `k${n}` } };
    const answer = await rest.at('POST', 'workers/crawler/leases', { max: 100 }, asked);
    counts.push(answer.json.leases.length);
    t.equal(answer.json.leases[0].task.payload.length, 262_000);
    const again = await rest.at('POST', 'workers/crawler/leases', { max: 100 }, asked);
    t.equal(again.headers['Idempotency-Replayed'], 'true');
    t.ok(again.body === answer.body, 'the same again');
  }
  t.same(counts, [5, 4]);
});

withMailer('tasks are counted by status', async ({ rest, worker: mailer }, t) => {
  await rest.pullWorker();
  await rest.taskIn('failed', mailer);
  await rest.taskIn('paused', mailer);
  await rest.task({ worker: 'crawler' });
  const none = {
    scheduled: 0,
    running: 0,
    retry: 0,
    paused: 0,
    succeeded: 0,
    failed: 0,
    canceled: 0,
    expired: 0,
  };
  const counts = async (query: string) => (await rest.read(`tasks/counts${query}`)).counts;
  t.same(await counts(''), { ...none, failed: 1, paused: 1, scheduled: 1 });
  t.same(await counts('?worker=mailer'), { ...none, failed: 1, paused: 1 });
  t.same(await counts(`?worker=${mailer.id}`), { ...none, failed: 1, paused: 1 });
});

withMailer('the history of a task has all that happened, in pages', async ({ rest, worker }, t) => {
  const { id } = await rest.task();
  const leaseId = (await rest.start(worker.id)).get(id)!;
  await rest.end(leaseId, 'attempt_failed', {
    error: { code: 'http_5xx', message: '503 from worker', httpStatus: 503 },
    http: { status: 503, durationMs: 212, response: 'busy', truncated: false },
  });
  await rest.at('POST', `tasks/${id}/pause`);
  const json = await rest.read(`tasks/${id}/history`);
  const due = iso(HARNESS_START_MS + 60_000);
  t.match(json.data, [
    {
      seq: 1,
      event: 'created',
      from: null,
      to: 'scheduled',
      attempt: 0,
      actor: { type: 'user' },
      next_attempt_at: iso(HARNESS_START_MS),
    },
    {
      seq: 2,
      event: 'started',
      from: 'scheduled',
      to: 'running',
      attempt: 1,
      lease_id_suffix: leaseId.slice(-4),
    },
    {
      seq: 3,
      at: iso(HARNESS_START_MS),
      event: 'attempt_failed',
      from: 'running',
      to: 'retry',
      attempt: 1,
      actor: { type: 'dispatcher', id: 'node-a' },
      http: { status: 503, duration_ms: 212, response: 'busy', truncated: false },
      error: { code: 'http_5xx', message: '503 from worker' },
      next_attempt_at: due,
    },
    { seq: 4, event: 'paused', from: 'retry', to: 'paused' },
  ]);
  t.notMatch(JSON.stringify(json), leaseId);
  t.match((await rest.read(`tasks/${id}`)).last_error, {
    code: 'http_5xx',
    http_status: 503,
    at: iso(HARNESS_START_MS),
  });
  const pages = await rest.pages(`tasks/${id}/history?order=desc&limit=3`);
  t.same(
    each(
      pages.flatMap(({ data }) => data),
      'seq',
    ),
    [4, 3, 2, 1],
  );
  const other = await rest.task();
  const page = await rest.at('GET', `tasks/${id}/history?limit=1`);
  const across = await rest.at('GET', `tasks/${other.id}/history?limit=1&cursor=${page.json.next_cursor}`);
  t.match(across, problem('invalid_cursor'), 'a cursor belongs to one task');
});
