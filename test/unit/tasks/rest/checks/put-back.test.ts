import t from 'tap';
import { each } from '../../../../support/each.ts';
import { type Answered, problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const withMailer = testsOf(TaskHarness.withMailer);

/** What changes with each change. */
function lasting({ version: _, updated_at: __, ...rest }: Answered['json']): object {
  return rest;
}

async function sentBack(rest: TaskHarness, target: string, change: object = {}): Promise<Answered> {
  const json = await rest.read(target);
  return rest.at('PUT', target, { ...json, ...change });
}

async function worker(rest: TaskHarness): Promise<void> {
  await rest.pushWorker({
    headers: { 'x-a': 'b' },
    rate: { limit: 5, per: '1s' },
    retry: { schedule: ['1s', '1m'], max_age: '1d' },
    no_retry_on: [400],
    paused: true,
    pause_reason: 'why not',
    resume_at: new Date(rest.clock.nowMs() + 60_000).toISOString(),
  });
}

const TARGETS: Readonly<Record<string, (rest: TaskHarness) => Promise<string>>> = {
  'a push worker': async rest => {
    await worker(rest);
    return 'workers/mailer';
  },
  'a pull worker': async rest => {
    await rest.pullWorker();
    return 'workers/crawler';
  },
  'a user': async rest => {
    const user = await rest.made('users', { email: 'a@x.test' });
    return `users/${user.id}`;
  },
  'a schedule with every': async rest => {
    await worker(rest);
    const task = {
      type: 'a',
      payload: { b: [99999999999999999n.toString()] },
      headers: { c: 'd' },
      tags: ['e'],
    };
    await rest.made('schedules', { name: 's', worker: 'mailer', every: '1h', phase: '1m', task });
    return 'schedules/s';
  },
  'a schedule with cron': async rest => {
    await rest.pullWorker();
    const retry = { retry: { max_attempts: 3 } };
    await rest.made('schedules', { name: 's', worker: 'crawler', cron: '0 3 * * *', task: retry });
    return 'schedules/s';
  },
};

for (const [what, target] of Object.entries(TARGETS)) {
  t.test(`${what} can be sent back as it was read`, async t => {
    const rest = await TaskHarness.open();
    const path = await target(rest);
    const before = await rest.at('GET', path);
    rest.clock.advance(1_000);
    const after = await sentBack(rest, path);
    t.equal(after.status, 200, after.body);
    t.same(lasting(await rest.read(path)), lasting(before.json));
  });
}

for (const [what, target] of Object.entries(TARGETS)) {
  t.test(`${what} is changed and deleted as the version that If-Match names`, async t => {
    const rest = await TaskHarness.open();
    const path = await target(rest);
    const { id } = await rest.read(path);
    const ask = (method: string, version: string, body?: object) => {
      const asked = { headers: { 'if-match': version } };
      return rest.at(method, path.replace(/[^/]+$/, id), body, asked);
    };
    const stale = problem('version_mismatch');
    t.equal((await ask('PUT', '"1"', { name: 'new' })).headers['ETag'], '"2"');
    t.match(await ask('PUT', '"1"', { name: 'newer' }), stale);
    t.match(await ask('DELETE', '"1"'), stale);
    t.equal((await ask('DELETE', '"7", "2"')).status, 204);
  });
}

for (const status of ['scheduled', 'retry', 'paused', 'canceled', 'running', 'succeeded', 'failed']) {
  t.test(`a task that is ${status} can be sent back as it was read, which changes nothing`, async t => {
    const rest = await TaskHarness.open();
    const mailer = await rest.pushWorker();
    const id = await rest.taskIn(status, mailer);
    const before = await rest.at('GET', `tasks/${id}`);
    rest.clock.advance(1_000);
    const after = await sentBack(rest, `tasks/${id}`);
    t.equal(after.status, 200, after.body);
    // Why a task waits is shown where one is read.
    const { waiting_for: _, waiting_since: __, ...same } = before.json;
    t.match(after.json, same);
    t.same(await rest.read(`tasks/${id}`), before.json);
    const tags = { tags: ['new'] };
    const changed = await sentBack(rest, `tasks/${id}`, tags);
    if (['canceled', 'succeeded', 'failed'].includes(status))
      t.match(changed.json, { code: 'invalid_transition' });
    else t.match(changed, { status: 200, json: { ...tags, run_at: before.json.run_at } }, changed.body);
  });
}

t.test('one number of a policy can be changed in what was read, also while the task runs', async t => {
  const rest = await TaskHarness.open();
  const id = await rest.taskIn('running', await rest.pushWorker());
  const json = await rest.read(`tasks/${id}`);
  const retry = { ...json.retry, max_attempts: 40 };
  t.match(await rest.at('PUT', `tasks/${id}`, { ...json, retry }), { status: 200, json: { retry } });
});

withMailer('a read-only field with another value is named', async ({ rest, worker: mailer }, t) => {
  const user = await rest.made('users', { email: 'a@x.test' });
  await rest.made('schedules', { name: 's', worker: 'mailer', every: '1h' });
  const { id } = await rest.task({ payload: { a: 1 } });
  const cases: [string, object, string[]][] = [
    ['workers/mailer', { id: 'wrk_x', version: 2 }, ['/id', '/version']],
    ['workers/mailer', { created_at: mailer.updated_at.replace('2026', '2025') }, ['/created_at']],
    [`users/${user.id}`, { created_at: null }, ['/created_at']],
    ['schedules/s', { worker_id: 'wrk_x', name: 'other' }, ['/worker_id']],
    [`tasks/${id}`, { next_attempt_at: '2030-01-01T00:00:00.000Z' }, ['/next_attempt_at']],
    [`tasks/${id}`, { worker: 'other', attempt: 1, key: 'k' }, ['/worker', '/attempt', '/key']],
    [`tasks/${id}`, { result: { a: 1 } }, ['/result']],
  ];
  for (const [target, change, pointers] of cases) {
    const answer = await sentBack(rest, target, change);
    t.match(answer, problem('validation_failed'), answer.body);
    const errors = answer.json.errors as { pointer: string; code: string }[];
    t.same(each(errors, 'pointer'), pointers);
    t.ok(errors.every(({ code }) => code === 'read_only'));
  }
});

withMailer('what moves by itself is of no matter', async ({ rest }, t) => {
  await rest.made('schedules', { name: 's', worker: 'mailer', every: '1h' });
  const read = [await rest.read('workers/mailer'), await rest.read('schedules/s')];
  await rest.task();
  await rest.at('PUT', 'schedules/s', {});
  rest.clock.advance(3_600_000);
  t.equal((await rest.at('PUT', 'workers/mailer', read[0])).status, 200);
  t.equal((await rest.at('PUT', 'schedules/s', read[1])).status, 200);
});

withMailer('sending back a schedule that was read without payload keeps it', async ({ rest }, t) => {
  const made = await rest.made('schedules', {
    name: 's',
    worker: 'mailer',
    every: '1h',
    task: { payload: 1 },
  });
  const viewer = await rest.addUser(rest.token, 'viewer');
  const { json } = await rest.at('GET', 'schedules/s', undefined, { token: viewer.token });
  t.equal(json.task.payload, undefined);
  t.equal((await rest.at('PUT', 'schedules/s', json)).status, 200);
  t.equal((await rest.read(`schedules/${made.id}`)).task.payload, 1);
});
