import t from 'tap';
import { askOverHttp, statistic } from '../support/asking.ts';
import { noPostgres, postgresFor } from '../support/postgres-server.ts';
import { reply, startPushWorker } from '../support/push-workers.ts';
import { redisFor } from '../support/redis-server.ts';
import { TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { newTenant, startTasksService } from '../support/tasks/tasks-service.ts';
import { until } from '../support/until.ts';

// The threads that answer requests of tasks, in the whole program: one dies, and nothing else happens.

/** Text in a body that is fatal to the thread that reads it. */
const FATAL = 'this-ends-the-thread';

const FRAGILE = `
  import { isMainThread } from 'node:worker_threads';
  const { parse } = JSON;
  if (!isMainThread) JSON.parse = (text, ...more) => {
    if (String(text).includes('${FATAL}')) process.exit(7);
    return parse(text, ...more);
  };`;

const DECISION = { domain: 'demo', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };

for (const store of ['sqlite', 'redis', ...(noPostgres === false ? ['postgres'] : [])]) {
  t.test(`with ${store}, a REST thread that dies takes its own requests with it alone`, async t => {
    const settings: Record<string, string> = {
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(FRAGILE)}`,
      TASKS_STORE: store,
      TASKS_REST_THREADS: '2',
    };
    if (store === 'redis') {
      const redis = await redisFor(t, { args: TASK_SERVER_ARGS });
      settings['TASKS_REDIS_URL'] = `redis://${redis.address}`;
    }
    if (store === 'postgres') settings['TASKS_POSTGRES_URL'] = (await postgresFor(t)).url();
    const service = await startTasksService(t, settings);
    const acme = await newTenant(service);
    const worker = await startPushWorker(t, reply(200));
    await acme.make('workers', { name: 'mailer', url: worker.url() });
    await acme.make('workers', { name: 'puller', mode: 'pull' });
    const { id: later } = await acme.make('tasks', { worker: 'mailer', delay: '1s' });

    const poll = acme.ask('POST /workers/puller/leases', { wait: '30s' });
    const fatal = acme.ask('POST /tasks', { worker: 'mailer', type: FATAL });
    t.match(await fatal, {
      status: 503,
      headers: { 'content-type': 'application/problem+json', 'retry-after': '1' },
      json: { code: 'interrupted', detail: /may have taken effect/ },
    });
    t.match(await askOverHttp(service.http, DECISION), { status: 200 }, 'decisions go on');
    t.match(await poll, { status: 503, json: { code: 'interrupted' } });

    const { id } = await acme.make('tasks', { worker: 'mailer' });
    for (const task of [id, later]) t.match(await acme.taskIn(task, 'succeeded'), { attempt: 1 });
    t.match(
      service.logs.filter(({ level }) => level === 'error'),
      [{ '@message': 'REST thread ended; starting a replacement' }],
    );
    await until(async () => (await statistic(service.debug, 'tasks.rest_threads')) === 2);
    t.equal(await statistic(service.debug, 'tasks.rest_threads_lost'), 1);
    t.match(await service.terminate(), { status: 0 });
  });
}
