import t from 'tap';
import { each } from '../../../../support/each.ts';
import { HARNESS_START_MS, problem } from '../../../../support/tasks/rest-harness.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const withMailer = testsOf(TaskHarness.withMailer);

const iso = (ms: number) => new Date(ms).toISOString();
// biome-ignore lint/suspicious/noExplicitAny: a test says what it expects by comparing
const idsOf = (json: any): string[] => each(json.data, 'id');

withMailer('tasks of a group are listed, and acted on', async ({ rest }, t) => {
  const [one, two] = [await rest.task({ group: 'ä 1' }), await rest.task({ group: 'ä 1' })];
  const other = await rest.task({ group: 'ä' });
  const list = async () => (await rest.read(`tasks?order=asc&group=${encodeURIComponent('ä 1')}`)).data;
  t.match(await list(), [{ id: one.id, group: 'ä 1' }, { id: two.id }]);
  const filter = { group: 'ä 1' };
  t.match((await rest.at('POST', 'tasks/actions', { action: 'cancel', filter })).json, {
    matched: 2,
    changed: 2,
  });
  t.match(await list(), [{ status: 'canceled' }, { status: 'canceled' }]);
  t.match(await rest.read(`tasks/${other.id}`), { status: 'scheduled' });
});

withMailer('tasks are found by key, type, tag, schedule, and all together', async ({ rest }, t) => {
  const plain = await rest.task();
  const one = await rest.task({ key: 'order:1', type: 'email.welcome', tags: ['vip', 'a,b'] });
  const two = await rest.task({ key: 'order:2', type: 'email.welcome', tags: ['vip'] });
  const found = async (query: string) => idsOf(await rest.read(`tasks?${query}`));
  t.same(await found('key=order:1'), [one.id]);
  t.same(await found('type=email.welcome'), [two.id, one.id]);
  t.same(await found('tag=vip&order=asc'), [one.id, two.id]);
  t.same(await found('tag=a%2Cb'), [one.id]);
  t.same(await found('tag=vip&key=order:2&type=email.welcome&worker=mailer&status=scheduled'), [two.id]);
  t.same(await found('tag=vip&key=order:2&status=failed'), []);
  t.same(await found('type=email'), [], 'a type is compared as a whole');
  t.same(await found('key=&type=&tag=&error=&by='), [two.id, one.id, plain.id], 'an empty filter is none');
});

withMailer('tasks are found by part of their last error', async ({ rest, worker }, t) => {
  const failed = await rest.taskIn('failed', worker);
  await rest.task();
  const { code, message } = (await rest.read(`tasks/${failed}`)).last_error;
  for (const text of [code, message, message.slice(1, 4).toUpperCase()]) {
    const { json } = await rest.at('GET', `tasks?error=${encodeURIComponent(text)}`);
    t.same(idsOf(json), [failed], text);
  }
  t.same(idsOf(await rest.read('tasks?error=no%20such%20text')), []);
});

withMailer('by=run_at lists waiting tasks of a worker by their time', async ({ rest, worker: mailer }, t) => {
  const later = await rest.task({ delay: '2h', priority: 'critical' });
  const soon = await rest.task({ delay: '1h', priority: 'bulk' });
  const tomorrow = await rest.task({ delay: '24h' });
  for (const status of ['running', 'paused', 'failed']) await rest.taskIn(status, mailer);
  const found = async (query: string) => idsOf(await rest.read(`tasks?worker=mailer&by=run_at&${query}`));
  t.same(await found('order=asc'), [soon.id, later.id, tomorrow.id]);
  t.same(await found(''), [tomorrow.id, later.id, soon.id]);
  const [start, end] = [HARNESS_START_MS + 3_600_000, HARNESS_START_MS + 7_200_000].map(iso);
  t.same(await found(`start=${start}&end=${end}`), [soon.id], 'the range is one of due times');
  t.same(await found('status=retry'), []);
  t.same(await found('status=scheduled&order=asc'), [soon.id, later.id, tomorrow.id]);
  const first = await rest.read('tasks?worker=mailer&by=run_at&order=asc&limit=2');
  const next = `order=asc&limit=2&cursor=${first.next_cursor}`;
  t.same([...idsOf(first), ...(await found(next))], [soon.id, later.id, tomorrow.id]);
});

withMailer('by=run_at takes a worker, and statuses that wait', async ({ rest }, t) => {
  for (const query of ['by=run_at', 'by=run_at&worker=mailer&status=running,failed', 'by=name']) {
    t.match(
      await rest.at('GET', `tasks?${query}`),
      problem('invalid_parameter', { errors: [{ parameter: 'by' }] }),
      query,
    );
  }
});

t.test('texts that no task can have are refused', async t => {
  const rest = await TaskHarness.open();
  for (const [name, length] of [
    ['key', 256],
    ['type', 129],
    ['tag', 65],
    ['group', 129],
    ['error', 201],
  ] as const) {
    t.match(
      await rest.at('GET', `tasks?${name}=${'x'.repeat(length)}`),
      problem('invalid_parameter', { errors: [{ parameter: name }] }),
      name,
    );
    t.equal((await rest.at('GET', `tasks?${name}=${'x'.repeat(length - 1)}`)).status, 200);
  }
});

withMailer('a filter that passes few tasks among many has short pages, which go on', async ({ rest }, t) => {
  const rare: string[] = [];
  for (let n = 0; n < 5; n++) {
    const tasks = Array.from({ length: 500 }, (_, i) => ({
      worker: 'mailer',
      type: i === 3 ? 'rare' : 'common',
    }));
    const { json } = await rest.at('POST', 'tasks/batch', { tasks });
    rare.push(json.results[3].task.id);
  }
  const pages = await rest.pages('tasks?type=rare&order=asc');
  t.same(pages.map(idsOf), [rare.slice(0, 2), rare.slice(2, 4), rare.slice(4)]);
  const dry = { action: 'cancel', filter: { type: 'rare' }, dry_run: true };
  t.match((await rest.at('POST', 'tasks/actions', dry)).json, { matched: 5, changed: 5, next_cursor: null });
  const most = (await rest.at('POST', 'tasks/actions', { ...dry, limit: 3 })).json;
  t.equal(most.matched, 3);
  const rest2 = (await rest.at('POST', 'tasks/actions', { ...dry, cursor: most.next_cursor })).json;
  t.match(rest2, { matched: 2, next_cursor: null });
});

withMailer('an action takes the filters of lists', async ({ rest }, t) => {
  const act = async (action: string, filter: object) =>
    (await rest.at('POST', 'tasks/actions', { action, filter })).json;
  const soon = await rest.task({ tags: ['campaign'], delay: '1h' });
  const later = await rest.task({ tags: ['campaign'], delay: '3h' });
  const other = await rest.task({ delay: '1h' });
  const statusOf = async (id: string) => (await rest.read(`tasks/${id}`)).status;
  const until = iso(HARNESS_START_MS + 7_200_000);
  const paused = await act('pause', { worker: 'mailer', by: 'run_at', end: until, tag: 'campaign' });
  t.match(paused, { matched: 1, changed: 1, next_cursor: null });
  t.match(await act('cancel', { tag: 'campaign' }), { matched: 2, changed: 2 });
  for (const { id } of [soon, later]) t.equal(await statusOf(id), 'canceled');
  t.equal(await statusOf(other.id), 'scheduled');
  t.match(await act('retry', { worker: 'mailer', by: 'run_at' }), { code: 'invalid_parameter' });
  t.match(await act('cancel', { worker: 'nobody' }), { code: 'validation_failed', status: 422 });
});

withMailer('every page but the last has the address of the next in its Link header', async ({ rest }, t) => {
  await rest.pushWorker({ name: 'other' });
  const { id } = await rest.task({ tags: ['ä b'] });
  await rest.task({ tags: ['ä b'] });
  await rest.at('POST', `tasks/${id}/pause`);
  const lists = [
    `tasks?limit=1&tag=${encodeURIComponent('ä b')}`,
    'workers?limit=1',
    `tasks/${id}/history?limit=1`,
  ];
  for (const list of lists) {
    const first = await rest.at('GET', list);
    const link = first.headers['Link'] ?? '';
    const [, target] = /^<\/api\/v1\/([^>]+)>; rel="next"$/.exec(link) ?? [];
    t.ok(target, link);
    t.match(target, first.json.next_cursor);
    const second = await rest.at('GET', target);
    t.equal(second.status, 200);
    t.equal(second.json.data.length, 1);
    t.notSame(second.json.data, first.json.data);
    t.notOk('Link' in second.headers, 'the last page');
  }
});
