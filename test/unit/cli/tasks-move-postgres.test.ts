import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import t, { type Test } from 'tap';
import { systemClock } from '../../../src/base/clock.ts';
import { refuseMoved } from '../../../src/tasks/move/move-record.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { copiesOf } from '../../exam/task-store/copying.ts';
import { giveTo, noPostgres, owner, postgresFor } from '../../support/postgres-server.ts';
import { Factory } from '../../support/tasks/factories.ts';
import { postgresTaskStore } from '../../support/tasks/postgres-backend.ts';
import { sameThreadSqliteStore } from '../../support/tasks/same-thread-store.ts';
import { storePath } from '../../support/tasks/sqlite-files.ts';
import { tempDirectory } from '../../support/temp-directory.ts';
import { runIn } from './run.ts';

/** Runs something with a store, which is stopped afterwards. */
async function using<T>(store: TaskStore, run: (store: TaskStore) => Promise<T>): Promise<T> {
  await store.start();
  try {
    return await run(store);
  } finally {
    await store.stop();
  }
}

async function filledFile(t: Test): Promise<string> {
  const path = storePath(t);
  const make = new Factory(systemClock);
  await using(sameThreadSqliteStore({ path }, systemClock), async store => {
    const worker = make.worker();
    await store.apply('acme', [make.account('acme'), worker]);
    await store.create('acme', make.createRequest([1, 2, 3].map(() => make.newTask(worker))));
  });
  return path;
}

const move = (from: string, to: string) => runIn({}, 'tasks', 'move', '--from', from, '--to', to);

t.test('from a file to PostgreSQL and back, and everything is as it was', { skip: noPostgres }, async t => {
  const server = await postgresFor(t);
  await server.query('CREATE DATABASE tasks');
  const [first, second] = [await filledFile(t), storePath(t)];
  const url = server.url('tasks').replace('postgres@', 'postgres:hunter2@');
  const there = await move(`sqlite:${first}`, url);
  t.equal(there.status, 0, there.stderr);
  t.match(there.stderr, `from sqlite:${first} to postgres://127.0.0.1:${server.port}/tasks\n`);
  t.notMatch(there.stderr, 'hunter2');
  const back = await move(url, `sqlite:${second}`);
  t.equal(back.status, 0, back.stderr);
  const file = (path: string) => using(sameThreadSqliteStore({ path }, systemClock), copiesOf);
  t.strictSame(await file(second), await file(first));
  const store = postgresTaskStore(server, { database: 'tasks' });
  await t.rejects(
    using(store, each => refuseMoved(each)),
    /were moved to sqlite:/,
  );
  const reopen = await runIn({}, 'tasks', 'reopen', '--store', url, '--yes');
  t.match(reopen, { status: 0, stdout: /The service can start on postgres:/ });
});

t.test('a database that a process uses is refused', { skip: noPostgres }, async t => {
  const server = await postgresFor(t);
  const path = await filledFile(t);
  await using(postgresTaskStore(server), async store => {
    await store.ping();
    const used = move(`sqlite:${path}`, server.url());
    const timer = setInterval(() => store.ping().catch(() => {}), 500);
    t.match(await used, {
      status: 2,
      stderr:
        /A process has used postgres:.* a moment ago.*\n.*a process of the service uses postgres:.* Stop all of them first/,
    });
    clearInterval(timer);
  });
  const later = await move(`sqlite:${path}`, server.url());
  t.equal(later.status, 0, later.stderr);
});

t.test(
  'a database without tables is refused as a source and is not changed',
  { skip: noPostgres },
  async t => {
    const server = await postgresFor(t);
    const { status, stderr } = await move(server.url(), `sqlite:${storePath(t)}`);
    t.equal(status, 2);
    t.match(stderr, /it has no tables of this service; give the database of TASKS_POSTGRES_URL/);
    const rows = await server.query("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'sluice%'");
    t.strictSame(rows, []);
  },
);

t.test('a source that does not answer ends the command', { skip: noPostgres }, async t => {
  const server = await postgresFor(t);
  await using(postgresTaskStore(server), async () => {});
  const client = new pg.Client({ connectionString: server.url() });
  await client.connect();
  await client.query('BEGIN; LOCK TABLE sluice.layout');
  const { status, stderr } = await runIn(
    { TASKS_POSTGRES_TIMEOUT: '300ms' },
    ...['tasks', 'move', '--from', server.url(), '--to', `sqlite:${storePath(t)}`],
  );
  await client.query('ROLLBACK');
  await client.end();
  t.equal(status, 2);
  t.match(stderr, /no answer within 300 ms/);
});

t.test('a password in a URL is used instead of the file of the service', { skip: noPostgres }, async t => {
  const directory = tempDirectory(t);
  const access = join(directory, 'hba.conf');
  writeFileSync(access, 'host all postgres all trust\nhost all app all scram-sha-256\n');
  giveTo(directory, owner());
  const server = await postgresFor(t, { settings: [`hba_file=${access}`] });
  await server.query("CREATE ROLE app LOGIN PASSWORD 'hunter2'");
  await server.query('CREATE DATABASE tasks OWNER app');
  const path = await filledFile(t);
  const env = { TASKS_POSTGRES_PASSWORD_FILE: '/nowhere/password' };
  const to = (url: string) => runIn(env, 'tasks', 'move', '--from', `sqlite:${path}`, '--to', url);
  const url = server.url('tasks').replace('postgres@', 'app@');
  t.match(await to(url), { status: 2, stderr: /TASKS_POSTGRES_PASSWORD_FILE/ });
  const { status, stderr } = await to(url.replace('app@', 'app:hunter2@'));
  t.equal(status, 0, stderr);
});

t.test('an address that cannot be used is refused', async t => {
  const path = await filledFile(t);
  const cases = [
    ['postgres://127.0.0.1/tasks', /--to: the user is missing/],
    ['postgres://u:hunter2@127.0.0.1:1/tasks', /ECONNREFUSED/],
    ['postgres://u:hunter2@127.0.0.1/tasks?prefix=a:', /--to: it has parameters other than sslmode/],
  ] as const;
  for (const [url, says] of cases) {
    const { status, stderr } = await runIn(
      { TASKS_POSTGRES_TIMEOUT: '1s' },
      'tasks',
      'move',
      '--from',
      `sqlite:${path}`,
      '--to',
      url,
    );
    t.equal(status, 2);
    t.match(stderr, says);
    t.notMatch(stderr, 'hunter2');
  }
});
