import { each } from '../../../../support/each.ts';
import { HARNESS_START_MS, problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const withMailer = testsOf(TaskHarness.withMailer);

withMailer('each task of a batch has a result of its own, in order', async ({ rest, worker: mailer }, t) => {
  const crawler = await rest.pullWorker();
  const live = await rest.task({ key: 'k' });
  rest.told.length = 0;
  const { status, json } = await rest.at('POST', 'tasks/batch', {
    tasks: [
      { worker: 'mailer', delay: '1m' },
      { worker: 'nobody' },
      { worker: 'mailer', key: 'k' },
      { worker: 'mailer', key: 'k', on_conflict: 'reject' },
      { worker: 'mailer', runat: 'x' },
      { worker: crawler.id, payload: [1] },
      { worker: 'mailer', run_at: '2026-03-02T00:00:00Z', delay: 1 },
      7,
      { worker: 'mailer', payload: 'x'.repeat(300_000) },
      { worker: 'mailer' },
    ],
  });
  t.equal(status, 200);
  const { results } = json;
  t.same(
    results.map((result: { status: number; error?: { code: string } }) => [
      result.status,
      result.error?.code,
    ]),
    [
      [201, undefined],
      [422, 'validation_failed'],
      [200, undefined],
      [409, 'task_key_exists'],
      [422, 'unknown_field'],
      [201, undefined],
      [400, 'conflicting_fields'],
      [422, 'validation_failed'],
      [413, 'payload_too_large'],
      [201, undefined],
    ],
  );
  t.match(results[2].task, { id: live.id, deduplicated: true });
  t.match(results[3].error, { task_id: live.id });
  t.same(results[1].error.errors[0].pointer, '/worker', 'pointers are those of the task');
  t.notOk('payload' in results[5].task, 'payloads are not sent back');
  t.match(await rest.read(`tasks/${results[5].task.id}`), { worker: 'crawler', payload: [1] });
  t.same(
    rest.told,
    [
      ['taskDue', 'acme', mailer.id, HARNESS_START_MS],
      ['taskDue', 'acme', crawler.id, HARNESS_START_MS],
    ],
    'each worker is woken once, for the first of its tasks',
  );
});

withMailer('an atomic batch is made whole or not at all', async ({ rest }, t) => {
  const live = await rest.task({ key: 'k' });
  const early = await rest.at('POST', 'tasks/batch', {
    atomic: true,
    tasks: [{ worker: 'mailer' }, { worker: 'mailer', timeout: '1h' }, { worker: 'nobody' }],
  });
  t.equal(early.status, 422);
  t.match(early.json, {
    code: 'validation_failed',
    detail: /No task was created, because 2 of them are not valid. The first is \/tasks\/1/,
    errors: [{ pointer: '/tasks/1/timeout' }, { pointer: '/tasks/2/worker', code: 'not_found' }],
  });
  const late = await rest.at('POST', 'tasks/batch', {
    atomic: true,
    tasks: [{ worker: 'mailer' }, { worker: 'mailer', key: 'k', on_conflict: 'reject' }],
  });
  t.equal(late.status, 409);
  t.match(late.json, { code: 'task_key_exists', task_id: live.id, errors: [{ pointer: '/tasks/1' }] });
  t.equal((await rest.read('tasks')).data.length, 1);
  const whole = await rest.at('POST', 'tasks/batch', {
    atomic: true,
    tasks: [{ worker: 'mailer' }, { worker: 'mailer' }],
  });
  t.equal(whole.status, 200);
  t.equal((await rest.read('tasks')).data.length, 3);
});

withMailer('a quota that is used up in the middle refuses the rest', async ({ rest }, t) => {
  await rest.change('acme', 'account', 'account', body => ({ ...body, limits: { openTasks: 2 } }));
  const tasks = Array(3).fill({ worker: 'mailer' });
  const { json } = await rest.at('POST', 'tasks/batch', { tasks });
  t.same(each(json.results, 'status'), [201, 201, 429]);
  t.match(json.results[2].error, { code: 'quota_exceeded', limit: 'open_tasks', max: 2 });
});

withMailer('the tasks of a batch are counted before anything is made of its body', async ({ rest }, t) => {
  const parsed = t.capture(JSON, 'parse', JSON.parse);
  const answer = await rest.at('POST', 'tasks/batch', `{"tasks":[${'{},'.repeat(1_900_000)}{}]}`);
  t.match(answer, problem('batch_too_large', { errors: [{ pointer: '/tasks' }] }));
  const longest = Math.max(...parsed().map(({ args: [text] }) => text.length));
  t.ok(longest < 10_000, `the longest text that was parsed has ${longest} characters`);
});

withMailer('the faults of a batch take no more room than the batch', async ({ rest }, t) => {
  const names = Array.from({ length: 60 }, (_, i) => `"f${i}":0`).join(',');
  const body = `{"tasks":[${Array(500).fill(`{${names}}`).join(',')}]}`;
  const answer = await rest.at('POST', 'tasks/batch', body);
  t.equal(answer.status, 200);
  const listed = answer.json.results.map(
    (result: { error: { errors: unknown[] } }) => result.error.errors.length,
  );
  t.same([listed[0], listed[19], listed[20], listed[499]], [50, 50, 1, 1]);
});

withMailer('the same batch with the same key gets the first answer again', async ({ rest }, t) => {
  const body = {
    tasks: [
      { worker: 'later' },
      { worker: 'mailer', expires_at: '2026-03-01T12:00:00Z' },
      { worker: 'mailer' },
    ],
  };
  const headers = { 'idempotency-key': 'b1' };
  const first = await rest.at('POST', 'tasks/batch', body, { headers });
  t.same(each(first.json.results, 'status'), [422, 201, 201]);
  // Now the first one could be made, and the second one could not.
  await rest.pullWorker({ name: 'later' });
  rest.clock.advance(4 * 3_600_000);
  const again = await rest.at('POST', 'tasks/batch', body, { headers });
  t.same(again.json, first.json);
  t.equal(again.headers['Idempotency-Replayed'], 'true');
  t.equal((await rest.read('tasks')).data.length, 2);
  const other = await rest.at('POST', 'tasks/batch', { tasks: [{ worker: 'mailer' }] }, { headers });
  t.equal(other.json.code, 'idempotency_key_reused');
});

withMailer('500 refusals fit into what is remembered', async ({ rest }, t) => {
  const bad = { worker: 'mailer', timeout: '1h', delay: '999d', key_ttl: '99d' };
  const body = { tasks: [...Array(499).fill(bad), { worker: 'mailer' }] };
  const headers = { 'idempotency-key': 'b1' };
  const first = await rest.at('POST', 'tasks/batch', body, { headers });
  const again = await rest.at('POST', 'tasks/batch', body, { headers });
  const statuses = (answer: typeof first) => each(answer.json.results, 'status');
  t.same(statuses(again), statuses(first));
  t.equal(again.json.results[499].task.id, first.json.results[499].task.id);
});
