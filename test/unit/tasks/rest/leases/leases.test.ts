import { each } from '../../../../support/each.ts';
import { HARNESS_START_MS, problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(pulling);

const iso = (ms: number) => new Date(ms).toISOString();

/** A service with a worker that pulls, and a token of it. */
async function pulling(): Promise<{ rest: TaskHarness; workerId: string; token: string }> {
  const rest = await TaskHarness.open();
  const { id } = await rest.pullWorker();
  const { value } = await rest.made('workers/crawler/secrets', { type: 'token' });
  return { rest, workerId: id, token: value };
}

const take = (rest: TaskHarness, token: string, body: object = {}) =>
  rest.at('POST', 'workers/crawler/leases', body, { token });

test('a worker takes tasks with its own token, with their payloads', async ({ rest, workerId, token }, t) => {
  const made: string[] = [];
  for (let n = 0; n < 3; n++) made.push((await rest.task({ worker: 'crawler', payload: { n } })).id);
  const { status, json } = await take(rest, token, { max: 2, instance: 'pod-7' });
  t.equal(status, 200);
  t.equal(json.leases.length, 2);
  t.match(json.leases[0], {
    lease_id: /^[0-9a-f]{32}$/,
    expires_at: iso(HARNESS_START_MS + 60_000),
    task: { id: made[0], status: 'running', attempt: 1, payload: { n: 0 }, headers: {}, result: null },
  });
  const history = await rest.at('GET', `tasks/${made[0]}/history?order=desc`);
  t.match(history.json.data[0], { event: 'started', actor: { type: 'worker', id: 'pod-7' } });
  const one = await rest.at('POST', `workers/${workerId}/leases`, undefined, { token });
  t.equal(one.json.leases.length, 1, 'one by default, and no body is needed');
  t.same((await take(rest, token)).json, { leases: [] });
});

test('one caller has one name in the history of an attempt', async ({ rest, workerId, token }, t) => {
  const { user: owner } = await rest.read('me');
  const user = { type: 'user', id: owner.id };
  for (const [by, actor] of [
    [token, { type: 'worker', id: workerId }],
    [rest.token, user],
  ] as const) {
    const { id } = await rest.task({ worker: 'crawler' });
    const [{ lease_id }] = (await take(rest, by)).json.leases;
    await rest.at('POST', `leases/${lease_id}/heartbeat`, { progress: 50 }, { token: by });
    await rest.at('POST', `leases/${lease_id}/complete`, {}, { token: by });
    const json = await rest.read(`tasks/${id}/history`);
    t.match(json.data, [
      { event: 'created', actor: user },
      { event: 'started', actor },
      { event: 'heartbeat_progress', actor },
      { event: 'succeeded', actor },
    ]);
  }
});

test('a call waits for the first task', async ({ rest, token }, t) => {
  const waiting = take(rest, token, { wait: '30s' });
  await new Promise(resolve => setImmediate(resolve));
  const { id } = await rest.task({ worker: 'crawler' });
  t.equal((await waiting).json.leases[0].task.id, id);
  let answered = false;
  const vain = take(rest, token, { wait: 5 }).finally(() => {
    answered = true;
  });
  while (!answered) {
    await new Promise(resolve => setImmediate(resolve));
    if (rest.clock.pending > 0) rest.clock.advance(500);
  }
  t.same((await vain).json, { leases: [] });
});

/** What takes the first task of a fifo group out of the way of the one behind it. */
const WAYS_OUT: Readonly<Record<string, readonly [method: string, path: string, body?: object]>> = {
  'is canceled': ['POST', '/cancel'],
  'is paused': ['POST', '/pause'],
  'is deleted': ['DELETE', ''],
  'is put off': ['PATCH', '', { run_at: iso(HARNESS_START_MS + 7_200_000) }],
};
for (const [name, [method, path, body]] of Object.entries(WAYS_OUT)) {
  test(`a call that waits gets the next task of a fifo group when the first one ${name}`, async (opened, t) => {
    const { rest, token } = opened;
    await rest.at('PATCH', 'workers/crawler', { group_concurrency: 1, group_order: 'fifo' });
    const first = await rest.task({ worker: 'crawler', group: 'a' });
    const second = await rest.task({ worker: 'crawler', group: 'a' });
    const [{ lease_id }] = (await take(rest, token)).json.leases;
    await rest.at('POST', `leases/${lease_id}/release`, { delay: '1h' }, { token });
    const waiting = take(rest, token, { wait: '30s' });
    await new Promise(resolve => setImmediate(resolve));
    await rest.at(method, `tasks/${first.id}${path}`, body);
    // Time stands still, so only a signal can have ended the wait. A call without one is answered with nothing.
    await new Promise(resolve => setImmediate(resolve));
    rest.clock.advance(30_000);
    t.same(
      each((await waiting).json.leases, 'task').map(({ id }) => id),
      [second.id],
    );
  });
}

test('a heartbeat lengthens the lease, and tells of a request to cancel', async ({ rest, token }, t) => {
  const { id } = await rest.task({ worker: 'crawler', timeout: '10m' });
  const [{ lease_id }] = (await take(rest, token, { lease: '5s' })).json.leases;
  const beat = (body?: object) => rest.at('POST', `leases/${lease_id}/heartbeat`, body, { token });
  rest.clock.advance(1_000);
  const usual = await beat();
  t.same(
    usual.json,
    { expires_at: iso(HARNESS_START_MS + 61_000), cancel_requested: false },
    "the worker's lease",
  );
  await rest.at('POST', `tasks/${id}/cancel`);
  const told = await beat({ extend: '12h', progress: 40, note: 'half way' });
  t.same(
    told.json,
    { expires_at: iso(HARNESS_START_MS + 600_000), cancel_requested: true },
    'not beyond the timeout',
  );
  const history = await rest.at('GET', `tasks/${id}/history?order=desc`);
  t.match(history.json.data[0], { event: 'heartbeat_progress', progress: 40, note: 'half way' });
  for (const [body, pointer] of [
    [{ extend: '4s' }, '/extend'],
    [{ progress: 101 }, '/progress'],
    [{ note: 'x'.repeat(201) }, '/note'],
  ] as const) {
    t.match(await beat(body), { status: 422, json: { errors: [{ pointer }] } });
  }
});

test('a task is completed with a result, and saying so again is fine', async ({ rest, token }, t) => {
  const { id } = await rest.task({ worker: 'crawler' });
  const [{ lease_id }] = (await take(rest, token)).json.leases;
  const complete = (body?: object) => rest.at('POST', `leases/${lease_id}/complete`, body, { token });
  t.match(await complete({ result: 'x'.repeat(16_384) }), problem('payload_too_large'));
  const done = await complete({ result: { pages: 3 } });
  t.match(done, { status: 200, json: { id, status: 'succeeded' } });
  t.notOk('result' in done.json);
  t.equal((await complete({ result: { pages: 3 } })).status, 200);
  t.same((await rest.read(`tasks/${id}`)).result, { pages: 3 });
  const fail = await rest.at(
    'POST',
    `leases/${lease_id}/fail`,
    { error: { code: 'x', message: 'y' } },
    { token },
  );
  t.match(fail, problem('lease_lost'), 'it cannot be both');
});

test('a failed attempt has a reason, and waits as long as the worker says', async ({ rest, token }, t) => {
  const { id } = await rest.task({ worker: 'crawler' });
  const leaseOf = async () => (await take(rest, token)).json.leases[0].lease_id;
  const error = { code: 'parse', message: 'line 3', details: { line: 3 } };
  const failed = await rest.at(
    'POST',
    `leases/${await leaseOf()}/fail`,
    { error, retry_after: '1h' },
    { token },
  );
  t.match(failed.json, {
    status: 'retry',
    attempt: 1,
    next_attempt_at: iso(HARNESS_START_MS + 3_600_000),
    last_error: { code: 'parse', message: 'line 3 {"line":3}' },
  });
  rest.clock.advance(3_600_000);
  const last = await rest.at('POST', `leases/${await leaseOf()}/fail`, { error, retry: false }, { token });
  t.match(last.json, { id, status: 'failed', attempt: 2 });
  for (const [body, pointer] of [
    [{}, '/error'],
    [{ error: { code: 'x'.repeat(65), message: '' } }, '/error/code'],
    [{ error: { code: 'x', message: 'y'.repeat(1001) } }, '/error/message'],
    [{ error, retry_after: '8d' }, '/retry_after'],
  ] as const) {
    const answer = await rest.at('POST', `leases/${'0'.repeat(32)}/fail`, body, { token });
    t.match(answer, { status: 422, json: { errors: [{ pointer }] } });
  }
});

test('a task that is given back is not counted as tried', async ({ rest, token }, t) => {
  await rest.task({ worker: 'crawler' });
  const [{ lease_id }] = (await take(rest, token)).json.leases;
  const released = await rest.at('POST', `leases/${lease_id}/release`, { delay: '10s' }, { token });
  t.match(released.json, {
    status: 'retry',
    attempt: 0,
    deferrals: 1,
    next_attempt_at: iso(HARNESS_START_MS + 10_000),
  });
});

test('a lease that is not live is lost, whatever is done with it', async ({ rest, token }, t) => {
  await rest.pullWorker({ name: 'other' });
  await rest.task({ worker: 'other' });
  const others = await rest.at('POST', 'workers/other/leases');
  const { lease_id } = others.json.leases[0];
  const bodies = { heartbeat: {}, complete: {}, fail: { error: { code: 'x', message: 'y' } }, release: {} };
  for (const id of ['0'.repeat(32), 'nonsense', lease_id, 'G'.repeat(32)]) {
    for (const [name, body] of Object.entries(bodies)) {
      const answer = await rest.at('POST', `leases/${id}/${name}`, body, { token });
      t.match(answer, problem('lease_lost', { detail: /Stop working on the task/ }), `${id} ${name}`);
    }
  }
  t.equal((await rest.at('POST', `leases/${lease_id}/complete`)).status, 200, 'a user may settle it');
  const known = await rest.at('POST', `leases/${lease_id}/complete`, {}, { token });
  t.match(known, problem('lease_lost'), 'nor what it came to is told to another worker');
});

test('the fields of a request for leases have their bounds', async ({ rest, token }, t) => {
  for (const [body, pointer] of [
    [{ max: 0 }, '/max'],
    [{ max: 101 }, '/max'],
    [{ wait: '31s' }, '/wait'],
    [{ lease: '4s' }, '/lease'],
    [{ lease: '13h' }, '/lease'],
    [{ instance: '' }, '/instance'],
    [{ instance: 'x'.repeat(129) }, '/instance'],
    [{ count: 1 }, '/count'],
  ] as const) {
    t.match(
      await take(rest, token, body),
      { status: 422, json: { errors: [{ pointer }] } },
      JSON.stringify(body),
    );
  }
});

test('asking again with the same key gives the same leases', async ({ rest, token }, t) => {
  for (let n = 0; n < 3; n++) await rest.task({ worker: 'crawler', payload: n });
  const asked = { token, headers: { 'idempotency-key': 'k' } };
  const first = await rest.at('POST', 'workers/crawler/leases', { max: 2 }, asked);
  const again = await rest.at('POST', 'workers/crawler/leases', { max: 2 }, asked);
  t.same(again.json, first.json);
  t.equal(again.headers['Idempotency-Replayed'], 'true');
  await rest.at('POST', `leases/${first.json.leases[0].lease_id}/complete`, {}, { token });
  const left = await rest.at('POST', 'workers/crawler/leases', { max: 2 }, asked);
  t.same(each(left.json.leases, 'lease_id'), [first.json.leases[1].lease_id], 'what is still live');
  const other = await rest.at('POST', 'workers/crawler/leases', { max: 3 }, asked);
  t.match(other, problem('idempotency_key_reused'));
});

test('leases are in no log, and only their ends in a history', async ({ rest, token }, t) => {
  const { id } = await rest.task({ worker: 'crawler' });
  const [{ lease_id }] = (await take(rest, token)).json.leases;
  await rest.at('POST', `leases/${lease_id}/complete`, {}, { token });
  const history = await rest.at('GET', `tasks/${id}/history`);
  t.notMatch(JSON.stringify([history.json, rest.logger.lines]), lease_id);
  t.match(history.json.data.at(-1), { event: 'succeeded', lease_id_suffix: lease_id.slice(-4) });
});

test('many attempts are ended in one request, each with a result of its own', async ({ rest, token }, t) => {
  await rest.pullWorker({ name: 'other' });
  await rest.task({ worker: 'other' });
  const foreign = (await rest.at('POST', 'workers/other/leases')).json.leases[0].lease_id;
  for (let n = 0; n < 6; n++) await rest.task({ worker: 'crawler' });
  const { leases } = (await take(rest, token, { max: 6 })).json;
  const ids: string[] = leases.map((lease: { lease_id: string }) => lease.lease_id);
  const error = { code: 'x', message: 'y' };
  const outcomes = [
    { lease_id: ids[0], outcome: 'complete', result: { ok: true } },
    { lease_id: ids[1], outcome: 'fail', error, retry: false },
    { lease_id: ids[2], outcome: 'release', delay: '1m' },
    { lease_id: ids[3], outcome: 'complete', result: 'x'.repeat(20_000) },
    { lease_id: ids[4], outcome: 'complete', error },
    { lease_id: ids[5], outcome: 'fail' },
    { lease_id: foreign, outcome: 'complete' },
    { lease_id: 'nonsense', outcome: 'release' },
    { lease_id: ids[0], outcome: 'complete' },
  ];
  const { status, json } = await rest.at('POST', 'leases/settle', { outcomes }, { token });
  t.equal(status, 200);
  t.match(json.results, [
    { lease_id: ids[0], status: 200, task: { status: 'succeeded' } },
    { lease_id: ids[1], status: 200, task: { status: 'failed', last_error: error } },
    { lease_id: ids[2], status: 200, task: { status: 'retry', attempt: 0 } },
    { lease_id: ids[3], status: 413, error: { code: 'payload_too_large' } },
    { lease_id: ids[4], status: 422, error: { code: 'validation_failed', errors: [{ pointer: '/error' }] } },
    { lease_id: ids[5], status: 422, error: { code: 'validation_failed', errors: [{ pointer: '/error' }] } },
    { lease_id: foreign, status: 409, error: { code: 'lease_lost' } },
    { lease_id: 'nonsense', status: 409, error: { code: 'lease_lost' } },
    { lease_id: ids[0], status: 200, task: { status: 'succeeded' } },
  ]);
  for (const body of [
    { outcomes: [] },
    { outcomes: Array(101).fill(outcomes[0]) },
    { outcomes: [{ outcome: 'complete' }] },
  ]) {
    t.match(await rest.at('POST', 'leases/settle', body, { token }), { status: 422 });
  }
});
