import t from 'tap';
import { SeededRandom } from '../../../../support/seeded-random.ts';
import { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { LISTS, pathOf, TwoTenants } from '../../../../support/tasks/two-tenants.ts';

interface Item {
  readonly id: string;
  readonly status: string;
}

const STATUSES = ['scheduled', 'running', 'retry', 'paused', 'succeeded', 'failed', 'canceled'];
/** Filters that tasks do not come under, or leave, while they are walked, but for the disturbance. */
const FILTERS = [
  '',
  'worker=stable',
  'status=paused',
  'status=paused,canceled,failed',
  'start=2026&end=2026',
];

/** All items of a list, page by page; `between` is run after each page. */
async function walk(rest: TaskHarness, query: string, between?: () => Promise<void>): Promise<Item[]> {
  return (await rest.pages(`tasks?${query}`, {}, between)).flatMap(({ data }) => data);
}

/** Tasks of worker `stable` in all statuses, which nobody touches, among others of worker `busy`. */
async function scene(count: number): Promise<{ rest: TaskHarness; stable: string[]; all: Item[] }> {
  const rest = await TaskHarness.open();
  const stable = await rest.pullWorker({ name: 'stable' });
  const busy = await rest.pullWorker({ name: 'busy' });
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    rest.clock.advance(i % 3);
    ids.push(await rest.taskIn(STATUSES[i % STATUSES.length], stable));
    await rest.taskIn(STATUSES[(i + 3) % STATUSES.length], busy);
  }
  const all = (await rest.read('tasks?limit=200&order=asc')).data as Item[];
  return { rest, stable: ids, all };
}

t.test('pages of any size, in both orders and under every filter, are the whole list in order', async t => {
  const { rest, stable, all } = await scene(21);
  t.equal(all.length, 42);
  const expected: Readonly<Record<string, (item: Item) => boolean>> = {
    '': () => true,
    'worker=stable': item => stable.includes(item.id),
    'status=paused': item => item.status === 'paused',
    'status=paused,canceled,failed': item => ['paused', 'canceled', 'failed'].includes(item.status),
    'start=2026&end=2026': () => true,
  };
  for (const filter of FILTERS) {
    const ids = all.filter(expected[filter]).map(({ id }) => id);
    for (const order of ['asc', 'desc']) {
      for (const limit of [1, 2, 5, 200]) {
        const found = (await walk(rest, `${filter}&order=${order}&limit=${limit}`)).map(({ id }) => id);
        t.same(found, order === 'asc' ? ids : [...ids].reverse(), `${filter} ${order} ${limit}`);
      }
    }
  }
});

t.test('while tasks come, change and go, nothing is seen twice and nothing that stays is missed', async t => {
  for (const [seed, filter] of FILTERS.entries()) {
    for (const order of ['asc', 'desc']) {
      const { rest, stable, all } = await scene(14);
      const random = new SeededRandom(seed + 1);
      const status = filter.startsWith('status=') ? filter.slice(7).split(',') : STATUSES;
      const staying = all.filter(item => stable.includes(item.id) && status.includes(item.status));
      const others = all.filter(item => !stable.includes(item.id)).map(({ id }) => id);
      let disturbances = 20;
      const disturb = async () => {
        if (disturbances-- <= 0) return;
        rest.clock.advance(1);
        const made = await rest.task({ worker: 'busy' });
        others.push(made.id);
        const id = others[random.below(others.length)];
        const actions = ['pause', 'resume', 'cancel', 'retry', 'run'];
        const action = actions[random.below(actions.length)];
        await rest.at('POST', `tasks/${id}/${action}`);
        const gone = others[random.below(others.length)];
        await rest.at('DELETE', `tasks/${gone}`);
      };
      for (const limit of [1, 3]) {
        const found = (await walk(rest, `${filter}&order=${order}&limit=${limit}`, disturb)).map(i => i.id);
        t.equal(new Set(found).size, found.length, `${filter} ${order} ${limit}: nothing twice`);
        const missed = staying.filter(({ id }) => !found.includes(id));
        t.same(missed, [], `${filter} ${order} ${limit}: nothing missed`);
        t.same(found, order === 'asc' ? [...found].sort() : [...found].sort().reverse());
      }
    }
  }
});

t.test('each list can be walked in both orders, one by one, to its end', async t => {
  const { rest, mine } = await TwoTenants.open();
  const asked = { token: mine.token, host: mine.host };
  for (const route of rest.routes.filter(({ operation }) => operation in LISTS)) {
    const target = pathOf(route, mine).slice('/v1/'.length);
    const whole = await rest.read(`${target}?limit=200&order=asc`, asked);
    t.equal(whole.next_cursor, null);
    for (const order of ['asc', 'desc']) {
      const pages = await rest.pages(`${target}?limit=1&order=${order}`, asked);
      t.ok(
        pages.every(({ data }) => data.length === 1),
        `${route.operation}: no empty page at the end`,
      );
      const found = pages.flatMap(({ data }) => data);
      t.same(found, order === 'asc' ? whole.data : [...whole.data].reverse(), `${route.operation} ${order}`);
    }
  }
});

t.test('a cursor whose any character is another one is refused', async t => {
  const { rest } = await scene(2);
  const cursor: string = (await rest.read('tasks?limit=1')).next_cursor;
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const go = async (text: string) => {
    const answer = await rest.at('GET', `tasks?limit=1&cursor=${encodeURIComponent(text)}`);
    return answer.json.code ?? answer.status;
  };
  t.equal(await go(cursor), 200);
  for (let at = 0; at < cursor.length; at++) {
    const place = alphabet.indexOf(cursor[at]);
    for (const other of [place ^ 1, place ^ 32, (place + 7) % 64]) {
      const text = cursor.slice(0, at) + alphabet[other] + cursor.slice(at + 1);
      t.equal(await go(text), 'invalid_cursor', `character ${at}`);
    }
  }
  const more = [
    cursor.slice(1),
    cursor.slice(0, -1),
    `${cursor}A`,
    `${cursor}=`,
    `${cursor}\n`,
    ` ${cursor}`,
    cursor.replaceAll('-', '+').replaceAll('_', '/').concat('='),
    cursor.repeat(3),
    'x'.repeat(257),
    '',
    '\u0000',
    Buffer.from('tsk_01KJMDEB80FMYD7Z9RJSBAK9V7').toString('base64url'),
  ];
  for (const text of more) t.equal(await go(text), 'invalid_cursor', JSON.stringify(text.slice(0, 40)));
});

t.test('a cursor belongs to its filters and its order; only the size of pages may change', async t => {
  const { rest } = await scene(14);
  const base = 'worker=stable&status=paused,canceled&start=2026&include=payload&order=asc&limit=1';
  const cursor = (await rest.read(`tasks?${base}`)).next_cursor;
  const go = async (query: string) => {
    const answer = await rest.at('GET', `tasks?${query}&cursor=${cursor}`);
    return answer.json.code ?? answer.status;
  };
  t.equal(await go(base), 200);
  t.equal(await go(base.replace('limit=1', 'limit=7')), 200);
  const changes: [string, string][] = [
    ['worker=stable', 'worker=busy'],
    ['worker=stable&', ''],
    ['paused,canceled', 'paused'],
    ['paused,canceled', 'paused,failed'],
    ['&start=2026', ''],
    ['start=2026', 'start=2025'],
    ['&include=payload', ''],
    ['order=asc', 'order=desc'],
    ['&order=asc', ''],
    ['order=asc', 'order=asc&end=2026'],
    ['order=asc', 'order=asc&schedule=x'],
  ];
  for (const [from, to] of changes) {
    t.equal(await go(base.replace(from, to)), 'invalid_cursor', `${from} → ${to}`);
  }
  const action = { action: 'retry', filter: { worker: 'stable' }, limit: 1, dry_run: true };
  const first = await rest.at('POST', 'tasks/actions', action);
  t.type(first.json.next_cursor, 'string');
  for (const [change, expected] of [
    [{}, 200],
    [{ limit: 2 }, 200],
    [{ action: 'cancel' }, 'invalid_cursor'],
    [{ filter: { worker: 'busy' } }, 'invalid_cursor'],
    [{ filter: {} }, 'invalid_cursor'],
  ] as const) {
    const answer = await rest.at('POST', 'tasks/actions', {
      ...action,
      cursor: first.json.next_cursor,
      ...change,
    });
    t.equal(answer.json.code ?? answer.status, expected, JSON.stringify(change));
  }
});
