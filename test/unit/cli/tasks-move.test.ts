import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import t, { type Test } from 'tap';
import { systemClock } from '../../../src/base/clock.ts';
import { refuseMoved } from '../../../src/tasks/move/move-record.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { copiesOf } from '../../exam/task-store/copying.ts';
import { freePort } from '../../support/free-port.ts';
import { redisFor } from '../../support/redis-server.ts';
import { Factory } from '../../support/tasks/factories.ts';
import { redisTaskStore, TASK_SERVER_ARGS } from '../../support/tasks/redis-backend.ts';
import { sameThreadSqliteStore } from '../../support/tasks/same-thread-store.ts';
import { storePath } from '../../support/tasks/sqlite-files.ts';
import { tempDirectory } from '../../support/temp-directory.ts';
import { runIn, runWith } from './run.ts';

// What a move does to the data is shown by test/unit/tasks/move; a move that is killed by test/service/tasks-move.test.ts.

const PASSWORD = 'hunter2-of-this-test';

/** Runs something with a store, which is stopped afterwards. */
async function using<T>(store: TaskStore, run: (store: TaskStore) => Promise<T>): Promise<T> {
  await store.start();
  try {
    return await run(store);
  } finally {
    await store.stop();
  }
}

const fileStore = (path: string) => sameThreadSqliteStore({ path }, systemClock);

/** A file with two tenants, one of which has three tasks. */
async function filledFile(t: Test): Promise<string> {
  const path = storePath(t);
  const make = new Factory(systemClock);
  await using(fileStore(path), async store => {
    const worker = make.worker();
    await store.apply('acme', [make.account('acme'), worker]);
    await store.apply('globex', [make.account('globex')]);
    await store.create('acme', make.createRequest([1, 2, 3].map(() => make.newTask(worker))));
  });
  return path;
}

async function redisWithPassword(t: Test) {
  const server = await redisFor(t, { args: [...TASK_SERVER_ARGS, '--requirepass', PASSWORD] });
  const url = `redis://:${PASSWORD}@127.0.0.1:${server.port}`;
  const opened = (keyPrefix = 'sluice:') =>
    redisTaskStore([server], { keyPrefix, access: { password: PASSWORD } });
  return { server, url, opened };
}

function jsonLines(text: string) {
  return text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));
}

t.test('from a file to Redis: progress and results are lines of JSON, without the password', async t => {
  const path = await filledFile(t);
  const { server, url, opened } = await redisWithPassword(t);
  const before = await using(fileStore(path), copiesOf);
  const env = { SLUICE_MOVE_TO: url };
  const { status, stdout, stderr } = await runIn(env, 'tasks', 'move', '--from', `sqlite:${path}`, '--json');
  t.strictSame([status, stderr], [0, '']);
  t.notMatch(stdout, PASSWORD);
  const [began, ...others] = jsonLines(stdout);
  const to = `redis://127.0.0.1:${server.port} with the prefix sluice:`;
  t.strictSame(began, {
    event: 'began',
    ...{ from: `sqlite:${path}`, to, tenants: 2, tasks: 3, resumed_from: null },
  });
  t.match(
    others.filter(({ event }) => event === 'progress').map(({ stage }) => stage),
    ['copy', 'check'],
  );
  t.match(
    others.filter(({ event }) => event === 'tenant'),
    [
      { tenant: 'acme', documents: 2, tasks: 3, history_entries: 3, hash: /^[0-9a-f]{32}$/ },
      { tenant: 'globex', documents: 1, tasks: 0, usage_records: 0, idempotency_records: 0 },
    ],
  );
  t.match(others.at(-1), { event: 'ended', result: 'moved', tenants: 2, documents: 3, tasks: 3 });
  t.strictSame(await using(opened(), copiesOf), before);
  await using(opened(), store => refuseMoved(store));
  await t.rejects(
    using(fileStore(path), store => refuseMoved(store)),
    /were moved to redis:/,
  );
});

t.test('people see how far it is, what each tenant has, and what to do next', async t => {
  const path = await filledFile(t);
  const target = storePath(t);
  const move = () => runIn({}, 'tasks', 'move', '--from', `sqlite:${path}`, '--to', `sqlite://${target}`);
  const { status, stdout, stderr } = await move();
  t.equal(status, 0);
  t.match(stdout, /^acme {2}[0-9a-f]{32} {2}2 documents, 3 tasks, 3 history entries/m);
  t.match(stderr, `Moving 2 tenants, 3 tasks from sqlite:${path} to sqlite:${target}\n`);
  t.match(stderr, /Copied 2 tenants, 3 tasks|Copied 0 tenants, 0 tasks/);
  t.match(stderr, /Everything was moved and is the same in both stores \(\d+s\)\./);
  t.match(stderr, `Let TASKS_STORE and its address name sqlite:${target}.`);
  const again = await move();
  t.strictSame([again.status, again.stdout], [0, '']);
  t.match(again.stderr, /was moved to .* There is nothing to do\./);
});

t.test('a store that was moved is reopened after a confirmation', async t => {
  const path = await filledFile(t);
  const reopen = (...flags: string[]) => runIn({}, 'tasks', 'reopen', '--store', `sqlite:${path}`, ...flags);
  t.match(await reopen(), { status: 0, stdout: /was not moved: the service can start on it/ });
  await runIn({}, 'tasks', 'move', '--from', `sqlite:${path}`, '--to', `sqlite:${storePath(t)}`);
  t.match(await reopen(), { status: 2, stderr: /which are also in sqlite:.*Give --yes to confirm/ });
  t.match(await reopen('--yes', '--json'), { status: 0, stdout: '{"reopened":true}\n' });
  await using(fileStore(path), store => refuseMoved(store));
});

t.test('Redis to Redis: each URL can have a prefix, and the source keeps its keys', async t => {
  const { url, opened } = await redisWithPassword(t);
  const make = new Factory(systemClock);
  await using(opened('a:'), store => store.apply('acme', [make.account('acme')]));
  const env = { SLUICE_MOVE_FROM: `${url}/0?prefix=a:&type=single`, SLUICE_MOVE_TO: `${url}?prefix=b:` };
  const { status, stdout, stderr } = await runIn(env, 'tasks', 'move');
  t.equal(status, 0, stderr);
  t.notMatch(stdout + stderr, PASSWORD);
  t.strictSame(await using(opened('b:'), copiesOf), await using(opened('a:'), copiesOf));
});

t.test('a Redis that a process uses is refused', async t => {
  const { url, opened } = await redisWithPassword(t);
  const path = await filledFile(t);
  await using(opened(), async store => {
    await store.ping();
    t.ok(((await store.lastUse()) ?? 0) > (await store.now()) - 5_000);
    const timer = setInterval(() => store.ping().catch(() => {}), 500);
    const { status, stderr } = await runIn(
      { SLUICE_MOVE_TO: url },
      'tasks',
      'move',
      '--from',
      `sqlite:${path}`,
    );
    clearInterval(timer);
    t.equal(status, 2);
    t.match(stderr, /a process of the service uses redis:.* Stop all of them first/);
  });
});

t.test('a store that cannot be used is refused, and no password is printed', async t => {
  const path = await filledFile(t);
  const { server } = await redisWithPassword(t);
  const wrong = 'wrong-password';
  const port = await freePort();
  const foreign = join(tempDirectory(t), 'foreign.db');
  const db = new DatabaseSync(foreign);
  db.exec('CREATE TABLE other (a)');
  db.close();
  const text = join(tempDirectory(t), 'text.db');
  writeFileSync(text, 'no database at all');
  const from = `sqlite:${path}`;
  const cases: readonly (readonly [from: string, to: string, says: RegExp])[] = [
    ['', from, /no store is given: give --from or set SLUICE_MOVE_FROM/],
    [from, '', /no store is given: give --to or set SLUICE_MOVE_TO/],
    [
      from,
      `redsi://:${wrong}@localhost`,
      /--to: it is not the URL of a task store\.\nSee "sluice tasks move --help"/,
    ],
    [`sqlite:${path}x`, from, /--from: there is no file/],
    ['sqlite:', from, /--from: the path is missing: write sqlite:PATH/],
    [from, from, /cannot be moved to itself/],
    [`sqlite:${foreign}`, from, /it is the database of another program/],
    [`sqlite:${text}`, from, /not a database|not an SQLite database/],
    [from, `sqlite:${path}/below/tasks.db`, /is not a directory|cannot be created/],
    [from, `redis://:${wrong}@127.0.0.1:${server.port}`, /check the user and the password/],
    [from, `redis://:${wrong}@127.0.0.1:${port}`, /ECONNREFUSED/],
    [from, `redis://:${wrong}@127.0.0.1:1,redis://127.0.0.1:2`, /--to: a list of addresses/],
    [from, `redis://:${wrong}@127.0.0.1:${server.port}?prefix=a{b`, /its parameter "prefix" has/],
    [from, `redis://:${wrong}@127.0.0.1:${server.port}?type=sentinel`, /neither single nor cluster/],
    [from, `redis://:${wrong}@127.0.0.1:${server.port}?prefix=%zz`, /--to: a `%` in it begins no escape/],
  ];
  for (const [first, second, says] of cases) {
    const env = { SLUICE_MOVE_FROM: first, SLUICE_MOVE_TO: second };
    const { status, stdout, stderr } = await runWith(
      { env: { ...env, TASKS_REDIS_TIMEOUT: '1s' } },
      'tasks',
      'move',
    );
    t.strictSame([status, stdout], [2, ''], stderr);
    t.match(stderr, says);
    t.notMatch(stderr, wrong);
  }
  await using(fileStore(path), store => refuseMoved(store));
});

t.test('a file that a process uses, and one of an older version, are refused', async t => {
  const path = await filledFile(t);
  const move = (from: string, to: string) =>
    runIn({}, 'tasks', 'move', '--from', `sqlite:${from}`, '--to', `sqlite:${to}`);
  const says = /another process uses it; stop all processes of the service/;
  await using(fileStore(path), async () => {
    t.match(await move(path, storePath(t)), { status: 2, stderr: says });
    t.match(await move(storePath(t), path), { status: 2 });
  });
  const target = storePath(t);
  await using(fileStore(target), async () => t.match(await move(path, target), { status: 2, stderr: says }));
  const db = new DatabaseSync(path);
  db.exec('PRAGMA user_version = 8');
  db.close();
  t.match(await move(path, storePath(t)), {
    status: 2,
    stderr: /its layout is 8, this version has \d+; start this version of the service on it once/,
  });
});

t.test('a target with other data is refused', async t => {
  const [path, target] = [await filledFile(t), await filledFile(t)];
  t.match(await runIn({}, 'tasks', 'move', '--from', `sqlite:${path}`, '--to', `sqlite:${target}`), {
    status: 2,
    stderr: /is not empty: it has data of the tenant acme\. Use an empty store\./,
  });
});

t.test('a directory stands for the file in it, which is made if it is the target', async t => {
  const path = await filledFile(t);
  const directory = tempDirectory(t);
  const { status, stderr } = await runIn(
    {},
    ...[
      'tasks',
      'move',
      '--from',
      `sqlite:${path.replace(/\/tasks\.db$/, '')}`,
      '--to',
      `sqlite:${directory}/new`,
    ],
  );
  t.equal(status, 0, stderr);
  t.match(stderr, `from sqlite:${path} to sqlite:${directory}/new/tasks.db\n`);
});
