import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(open);

const URL = 'https://hooks.example.com/a?token=b';

/** A tenant with a worker `mailer` that has a URL, and a worker `direct` whose tasks name theirs. */
async function open(): Promise<TaskHarness> {
  const rest = await TaskHarness.open();
  await rest.pushWorker();
  await rest.made('workers', { name: 'direct', task_urls: true });
  return rest;
}

test('a worker may leave the URL to its tasks', async (rest, t) => {
  const read = await rest.at('GET', 'workers/direct');
  t.match(read.json, { mode: 'push', url: null, task_urls: true, concurrency: 10, timeout: '30s' });
  t.match(await rest.read('workers/mailer'), { task_urls: false });
  const changed = await rest.at('PUT', 'workers/direct', { url: URL, task_urls: false });
  t.match(changed.json, { url: URL, task_urls: false });
  for (const [fields, pointer] of [
    [{ task_urls: true, mode: 'pull' }, '/task_urls'],
    [{ task_urls: true, url: URL }, '/url'],
    [{ task_urls: false, mode: 'push' }, '/url'],
  ] as const) {
    const { json } = await rest.at('POST', 'workers', { name: 'other', ...fields });
    t.match(json, { code: 'validation_failed', errors: [{ pointer }] }, JSON.stringify(fields));
  }
});

test('a task names the URL that it is pushed to, which is shown as its payload is', async (rest, t) => {
  const headers = { 'X-Team': 'growth' };
  const task = await rest.task({ worker: 'direct', url: URL, headers });
  t.match(task, { worker: 'direct', url: URL, headers: { 'x-team': 'growth' } });
  const read = await rest.at('GET', `tasks/${task.id}`);
  t.match(read.json, { url: URL });
  t.same(read.json.headers, { 'x-team': 'growth' });
  const listed = await rest.at('GET', 'tasks?include=payload');
  t.match(listed.json.data, [{ url: URL, headers: { 'x-team': 'growth' } }]);
  t.equal((await rest.read('tasks')).data[0].url, undefined);
  const viewer = await rest.addUser(rest.token, 'viewer');
  const hidden = await rest.ask('GET', `/api/v1/tasks/${task.id}`, { token: viewer.token });
  t.notMatch(hidden.body, /hooks\.example/);
  t.match(await rest.task(), { url: null }, 'that of its worker');
});

test('the URL has to be given for such a worker, and for no other', async (rest, t) => {
  for (const [fields, code, detail] of [
    [{ worker: 'direct' }, 'validation_failed', /required, because worker "direct" has task_urls/],
    [{ worker: 'mailer', url: URL }, 'validation_failed', /for workers with task_urls, and worker "mailer"/],
    [{ worker: 'direct', url: 'http://hooks.example.com/' }, 'invalid_url', /https/],
    [{ worker: 'direct', url: 'https://u:p@hooks.example.com/' }, 'invalid_url', /user name/],
    [{ worker: 'direct', url: 'https://169.254.169.254/' }, 'forbidden_address', /169\.254/],
    [{ worker: 'direct', url: 'https://localhost/' }, 'forbidden_address', /localhost/],
  ] as const) {
    const { json } = await rest.at('POST', 'tasks', fields);
    t.match(json, { code, errors: [{ pointer: '/url', detail }] }, JSON.stringify(fields));
  }
  const batch = await rest.at('POST', 'tasks/batch', {
    tasks: [
      { worker: 'direct', url: URL },
      { worker: 'direct', url: 'https://10.0.0.1/' },
    ],
  });
  t.match(batch.json.results, [{ status: 201 }, { status: 422, error: { code: 'forbidden_address' } }]);
});

test('a change of the headers leaves the URL as it is', async (rest, t) => {
  const task = await rest.task({ worker: 'direct', url: URL, headers: { a: 'b' } });
  for (const headers of [{ c: 'd' }, null]) {
    const changed = await rest.at('PUT', `tasks/${task.id}`, { headers });
    t.equal(changed.status, 200);
    const json = await rest.read(`tasks/${task.id}`);
    t.equal(json.url, URL);
    t.same(json.headers, headers ?? {});
  }
});

test('a header cannot take the place of the URL', async (rest, t) => {
  for (const name of [':url', ':URL']) {
    const { json } = await rest.at('POST', 'tasks', { worker: 'mailer', headers: { [name]: URL } });
    t.match(json, { code: 'validation_failed', errors: [{ pointer: '/headers' }] });
  }
});

test('a schedule is for a worker that has a URL', async (rest, t) => {
  const { json } = await rest.at('POST', 'schedules', { name: 'nightly', worker: 'direct', every: '1h' });
  t.match(json, { code: 'validation_failed', errors: [{ pointer: '/worker', detail: /task_urls/ }] });
});

test('a task that was read can be sent back, and its URL stays what it is', async (rest, t) => {
  const { id } = await rest.task({ worker: 'direct', url: URL, headers: { a: 'b' } });
  const json = await rest.read(`tasks/${id}`);
  t.match(await rest.at('PUT', `tasks/${id}`, json), { status: 200, json: { version: 1 } });
  const other = await rest.at('PUT', `tasks/${id}`, { url: 'https://other.example.com/' });
  t.match(other.json, { code: 'validation_failed', errors: [{ pointer: '/url', code: 'read_only' }] });
});
