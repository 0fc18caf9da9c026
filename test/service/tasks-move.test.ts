import { join } from 'node:path';
import t from 'tap';
import { systemClock } from '../../src/base/clock.ts';
import { copiesOf } from '../exam/task-store/copying.ts';
import { Child } from '../support/child-process.ts';
import { reply, startPushWorker } from '../support/push-workers.ts';
import { redisFor } from '../support/redis-server.ts';
import { repositoryRoot } from '../support/repository.ts';
import { ServiceProcess } from '../support/service.ts';
import { redisTaskStore, TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { sameThreadSqliteStore } from '../support/tasks/same-thread-store.ts';
import { newTenant, startTasksService, tasksEnv } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { runIn } from '../unit/cli/run.ts';

// The program moves its tasks from a file to Redis, is killed meanwhile, and serves them from there.

const TASKS = 12_000;

/** Runs the move in a process of its own, and kills it when it prints a line like this. */
async function killedAt(line: RegExp, args: readonly string[]): Promise<string> {
  const launcher = join(repositoryRoot(), 'ops/launch/sluice.mjs');
  const child = new Child({
    command: process.execPath,
    args: [launcher, 'tasks', 'move', ...args, '--json'],
  });
  child.onLine(text => {
    if (line.test(text)) child.signal('SIGKILL');
  });
  const { signal } = await child.ended;
  if (signal !== 'SIGKILL') throw new Error(`the move ended before it was killed: ${child.output}`);
  return child.output;
}

t.test('a server that is not there ends the command with a message', async t => {
  const launcher = join(repositoryRoot(), 'ops/launch/sluice.mjs');
  const args = ['--from', 'postgres://u@127.0.0.1:1/tasks', '--to', `sqlite:${tempDirectory(t)}`];
  const child = new Child({ command: process.execPath, args: [launcher, 'tasks', 'move', ...args] });
  t.match(await child.ended, { status: 2 });
  t.match(child.output, /PostgreSQL at 127.0.0.1:1 was not ready within .*ECONNREFUSED/);
});

t.test('tasks go on in another store, after a move that was killed several times', async t => {
  const data = tempDirectory(t);
  const redis = await redisFor(t, { args: TASK_SERVER_ARGS });
  const receiver = await startPushWorker(t, reply(200));
  const service = await startTasksService(t, { TASKS_DATA_DIRECTORY: data });
  const acme = await newTenant(service);
  await acme.make('workers', { name: 'mailer', url: receiver.url() });
  await acme.make('workers/mailer/secrets', { type: 'header', name: 'x-key', value: 'sealed' });
  const done = await acme.make('tasks', { worker: 'mailer', payload: { n: 1 } });
  await acme.taskIn(done.id, 'succeeded');
  await acme.make('workers', { name: 'later', mode: 'pull' });
  for (let i = 0; i < TASKS; i += 500) {
    const tasks = Array.from({ length: 500 }, (_, n) => ({ worker: 'later', payload: { n: i + n } }));
    await acme.make('tasks/batch', { tasks });
  }
  const waiting = await acme.make('tasks', { worker: 'mailer', delay: '2s', key: 'k' });
  await service.terminate();

  const file = join(data, 'tasks.db');
  const args = ['--from', `sqlite:${file}`, '--to', `redis://${redis.address}`];
  const copying = /"stage":"copy"/;
  const outputs = [await killedAt(copying, args), await killedAt(copying, args)];
  outputs.push(await killedAt(/"stage":"check"/, args));
  t.match(outputs[0], /"resumed_from":null/);
  t.match(outputs[1], /"resumed_from":"2/);
  const early = new ServiceProcess({
    env: tasksEnv(t, { TASKS_STORE: 'redis', TASKS_REDIS_URL: redis.address }),
  });
  t.match(await early.ended, { status: 2 });
  t.match(early.output, /are being moved into this task store .* finish the move/);

  const { status, stdout, stderr } = await runIn({}, 'tasks', 'move', ...args, '--json');
  t.equal(status, 0, stderr);
  t.match(stdout, new RegExp(`"tasks":${TASKS + 2},`));
  const source = sameThreadSqliteStore({ path: file }, systemClock);
  const target = redisTaskStore([redis]);
  await Promise.all([source.start(), target.start()]);
  const [expected, found] = [await copiesOf(source), await copiesOf(target)];
  await Promise.all([source.stop(), target.stop()]);
  t.equal(found.length, expected.length);
  t.ok(
    found.every((text, i) => text === expected[i]),
    'both stores are the same',
  );

  const left = new ServiceProcess({ env: tasksEnv(t, { TASKS_DATA_DIRECTORY: data }) });
  t.match(await left.ended, { status: 2 });
  t.match(left.output, /the tasks of this task store were moved to redis:/);
  const moved = await startTasksService(t, { TASKS_STORE: 'redis', TASKS_REDIS_URL: redis.address });
  t.equal(await redis.command('EXISTS', 'sluice:used'), 1, 'it says at its start that it uses the store');
  const tenant = acme.at(moved.http);
  await tenant.taskIn(waiting.id, 'succeeded');
  t.equal(receiver.requests.length, 2, 'each task was pushed once');
  t.ok(receiver.requests.at(-1)?.fields.some(([name, value]) => name === 'x-key' && value === 'sealed'));
  const later = await tenant.ask('GET /tasks?worker=later&limit=1');
  t.match(later.json.data, [{ status: 'scheduled' }]);
});
