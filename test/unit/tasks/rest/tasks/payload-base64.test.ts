import type { Test } from 'tap';
import { bytesOf } from '../../../../../src/tasks/model/task.ts';
import { problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(open);

const BYTES = Buffer.from([0, 255, 128, 10, 62, 63]);
const BASE64 = BYTES.toString('base64');
const OTHER = Buffer.from('other').toString('base64');
const CSV = 'text/csv; charset=utf-8';
const DEFAULT = 'application/octet-stream';
const SHOWN = { payload: null, payload_base64: BASE64, content_type: CSV };

async function open(): Promise<TaskHarness> {
  const rest = await TaskHarness.open();
  await rest.pushWorker();
  return rest;
}

/** The payload of a task as a GET shows it. */
async function shownOf(rest: TaskHarness, id: string): Promise<unknown[]> {
  const json = await rest.read(`tasks/${id}`);
  return [json.payload, json.payload_base64, json.content_type];
}

test('a task may have bytes in place of JSON, which are shown where payloads are', async (rest, t) => {
  const task = await rest.task({ payload_base64: BASE64, content_type: CSV });
  t.match(await rest.read(`tasks/${task.id}`), SHOWN);
  t.match((await rest.read('tasks?include=payload')).data, [SHOWN]);
  const whole = await rest.store.getWhole('acme', task.id);
  t.same(bytesOf(whole!.body.payload), { contentType: CSV, base64: BASE64 });
  const viewer = await rest.addUser(rest.token, 'viewer');
  const hidden = await rest.ask('GET', `/api/v1/tasks/${task.id}`, { token: viewer.token });
  t.equal(hidden.status, 200);
  t.notMatch(hidden.body, /payload|content_type/);
  const plain = await rest.task({ payload: { a: 1 } });
  t.same(await shownOf(rest, plain.id), [{ a: 1 }, undefined, undefined]);
});

test('without a content type bytes are an octet stream; there may be none', async (rest, t) => {
  for (const [fields, type] of [
    [{ payload_base64: '' }, DEFAULT],
    [{ payload_base64: '', content_type: null }, DEFAULT],
    [{ payload_base64: '', payload: null, content_type: 'image/png' }, 'image/png'],
  ] as const) {
    const { id } = await rest.task(fields);
    t.same(await shownOf(rest, id), [null, '', type], JSON.stringify(fields));
  }
});

test('bytes are checked before they are stored', async (rest, t) => {
  const refused = async (fields: object, code: string, pointer: string) => {
    const { json } = await rest.at('POST', 'tasks', { worker: 'mailer', ...fields });
    t.match(json, { code, errors: [{ pointer }] }, JSON.stringify(fields).slice(0, 100));
  };
  await refused({ payload: 1, payload_base64: BASE64 }, 'conflicting_fields', '/payload');
  for (const text of ['AA', 'AAA', 'AA==\n', ' AAAA', 'AA-_', 'AB==', 'A===', '====', 'AA==AAAA', 'ä']) {
    await refused({ payload_base64: text }, 'validation_failed', '/payload_base64');
  }
  for (const content_type of [
    'text',
    'text/',
    'a b/c',
    'text/csv\r\nx: y',
    'text/csv;',
    'ü/a',
    'a/b; c="\\"',
  ]) {
    await refused({ payload_base64: BASE64, content_type }, 'validation_failed', '/content_type');
  }
  const long = `text/${'x'.repeat(124)}`;
  await refused({ payload_base64: BASE64, content_type: long }, 'validation_failed', '/content_type');
  await rest.task({ payload_base64: BASE64, content_type: long.slice(1) });
  await refused({ content_type: CSV }, 'validation_failed', '/content_type');
  await refused({ payload: 1, content_type: CSV }, 'validation_failed', '/content_type');
});

test('the decoded bytes are as many as a payload may have', async (rest, t) => {
  const most = Buffer.alloc(256 * 1024, 7);
  const { id } = await rest.task({ payload_base64: most.toString('base64') });
  const [, base64] = await shownOf(rest, id);
  t.equal(base64, most.toString('base64'));
  const more = { worker: 'mailer', payload_base64: Buffer.alloc(256 * 1024 + 1).toString('base64') };
  t.match(
    await rest.at('POST', 'tasks', more),
    problem('payload_too_large', { errors: [{ pointer: '/payload_base64' }] }),
  );
});

test('each task of a batch may have bytes', async (rest, t) => {
  const { json } = await rest.at('POST', 'tasks/batch', {
    tasks: [
      { worker: 'mailer', payload_base64: BASE64, content_type: CSV },
      { worker: 'mailer', payload_base64: 'AA' },
      { worker: 'mailer', payload: {}, payload_base64: BASE64 },
    ],
  });
  t.match(json.results, [
    { status: 201 },
    { status: 422, error: { code: 'validation_failed' } },
    { status: 400, error: { code: 'conflicting_fields' } },
  ]);
  t.same(await shownOf(rest, json.results[0].task.id), [null, BASE64, CSV]);
});

test('a lease has the bytes and their content type', async (rest, t) => {
  await rest.pullWorker();
  await rest.task({ worker: 'crawler', payload_base64: BASE64, content_type: CSV });
  const asked = { headers: { 'idempotency-key': 'a' } };
  for (const _ of ['taken', 'repeated']) {
    const { json } = await rest.at('POST', 'workers/crawler/leases', {}, asked);
    t.match(json, { leases: [{ task: SHOWN }] });
  }
});

const CHANGES: readonly (readonly [object, readonly unknown[]])[] = [
  [{ payload_base64: OTHER }, [null, OTHER, CSV]],
  [{ payload_base64: OTHER, content_type: null }, [null, OTHER, DEFAULT]],
  [{ content_type: 'image/png' }, [null, BASE64, 'image/png']],
  [{ content_type: null }, [null, BASE64, DEFAULT]],
  [{ payload: { b: 2 } }, [{ b: 2 }, undefined, undefined]],
  [{ payload: null }, [null, undefined, undefined]],
  [{ payload_base64: null }, [null, undefined, undefined]],
  [{ tags: ['x'] }, [null, BASE64, CSV]],
];

test('a change gives other bytes, another content type, JSON, or nothing', async (rest, t) => {
  for (const [change, after] of CHANGES) {
    const { id } = await rest.task({ payload_base64: BASE64, content_type: CSV });
    const { status } = await rest.at('PATCH', `tasks/${id}`, change);
    t.equal(status, 200);
    t.same(await shownOf(rest, id), after, JSON.stringify(change));
    if (!('tags' in change)) {
      const json = await rest.read(`tasks/${id}/history?order=desc&limit=1`);
      t.match(json.data, [{ changed: ['payload'] }], JSON.stringify(change));
    }
  }
  const { id } = await rest.task({ payload: 1 });
  await rest.at('PATCH', `tasks/${id}`, { payload_base64: BASE64 });
  t.same(await shownOf(rest, id), [null, BASE64, DEFAULT]);
  await rest.at('PATCH', `tasks/${id}`, { payload: 1 });
  const { json } = await rest.at('PATCH', `tasks/${id}`, { content_type: CSV });
  t.match(json, { code: 'validation_failed', errors: [{ pointer: '/content_type' }] });
});

test('who may not see payloads changes them in the same way', async (rest, t) => {
  const { token } = await rest.addUser(rest.token, 'member', ['tasks:write']);
  for (const [change, after] of CHANGES) {
    const { id } = await rest.task({ payload_base64: BASE64, content_type: CSV });
    const answer = await rest.at('PATCH', `tasks/${id}`, change, { token });
    t.equal(answer.status, 200);
    t.notMatch(answer.body, /payload|content_type/);
    t.same(await shownOf(rest, id), after, JSON.stringify(change));
  }
});

/** What was read is sent back, with changes. */
async function sentBack(
  t: Test,
  rest: TaskHarness,
  change: object,
  after: readonly unknown[],
): Promise<void> {
  const { id } = await rest.task({ payload_base64: BASE64, content_type: CSV });
  const json = await rest.read(`tasks/${id}`);
  const answer = await rest.at('PUT', `tasks/${id}`, { ...json, ...change });
  t.equal(answer.status, 200, answer.body);
  t.equal(answer.json.version, Object.keys(change).length === 0 ? 1 : 2);
  t.same(await shownOf(rest, id), after, JSON.stringify(change));
}

test('a task with bytes that was read can be sent back, changed or not', async (rest, t) => {
  await sentBack(t, rest, {}, [null, BASE64, CSV]);
  await sentBack(t, rest, { payload_base64: OTHER }, [null, OTHER, CSV]);
  await sentBack(t, rest, { content_type: 'image/png' }, [null, BASE64, 'image/png']);
  await sentBack(t, rest, { payload: [1] }, [[1], undefined, undefined]);
});

test('a schedule gives its tasks bytes, also when it is changed or its creation is repeated', async (rest, t) => {
  const fields = {
    name: 's',
    worker: 'mailer',
    every: '1h',
    task: { payload_base64: BASE64, content_type: CSV },
  };
  const asked = { headers: { 'idempotency-key': 'a' } };
  for (const status of [201, 201]) {
    const made = await rest.at('POST', 'schedules', fields, asked);
    t.equal(made.status, status);
    t.match(made.json.task, SHOWN);
  }
  const json = await rest.read('schedules/s');
  t.match((await rest.at('PUT', 'schedules/s', json)).json.task, SHOWN);
  const { json: task } = await rest.at('POST', 'schedules/s/trigger');
  t.same(await shownOf(rest, task.id), [null, BASE64, CSV]);
  const typed = await rest.at('PUT', 'schedules/s', { task: { content_type: 'image/png' } });
  t.match(typed.json.task, { payload: null, payload_base64: BASE64, content_type: 'image/png' });
  const plain = await rest.at('PUT', 'schedules/s', { task: { payload: 1 } });
  t.match(plain.json.task, { payload: 1, payload_base64: undefined, content_type: undefined });
  const large = { payload_base64: Buffer.alloc(64 * 1024 + 1).toString('base64') };
  t.match(await rest.at('PUT', 'schedules/s', { task: large }), {
    json: { code: 'payload_too_large', errors: [{ pointer: '/task/payload_base64' }] },
  });
  const both = { payload: 1, payload_base64: BASE64 };
  t.match(await rest.at('PUT', 'schedules/s', { task: both }), {
    json: { code: 'conflicting_fields', errors: [{ pointer: '/task/payload' }] },
  });
});

test('a test of a worker may send bytes', async (rest, t) => {
  const sent = { method: 'POST', url: 'https://mailer.example.com/tasks', headers: { 'content-type': CSV } };
  const outcome = { kind: 'answered', status: 200, durationMs: 1, http: null, result: null } as const;
  const rest2 = { retryAfterMs: null, noRetry: false, error: null, sent } as const;
  rest.testAnswer = { kind: 'sent', outcome: { ...outcome, ...rest2 }, event: 'succeeded' };
  const fields = { payload_base64: BASE64, content_type: CSV };
  const { json } = await rest.at('POST', 'workers/mailer/test', fields);
  t.same(json.request, { ...sent, body: null, body_base64: BASE64 });
  t.same(bytesOf(rest.tests[0].payload), { contentType: CSV, base64: BASE64 });
  for (const [body, code] of [
    [{ payload: 1, payload_base64: BASE64 }, 'conflicting_fields'],
    [{ payload_base64: 'AA' }, 'validation_failed'],
    [{ content_type: CSV }, 'validation_failed'],
    [{ payload_base64: Buffer.alloc(65_537).toString('base64') }, 'payload_too_large'],
  ] as const) {
    t.match(await rest.at('POST', 'workers/mailer/test', body), { json: { code } });
  }
  t.equal(rest.tests.length, 1);
});
