import t from 'tap';
import { askOverHttp, statistic } from '../support/asking.ts';
import { noPostgres, postgresFor } from '../support/postgres-server.ts';
import { headerOf, reply, startPushWorker } from '../support/push-workers.ts';
import { redisFor } from '../support/redis-server.ts';
import { TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { ask, newTenant, startTasksService } from '../support/tasks/tasks-service.ts';
import { until } from '../support/until.ts';

// The thread with the task engine, in the whole program: it dies with pushes under way, and no task is lost.

/** Type of a task whose first push ends the thread that hands it to a delivery thread. */
const FATAL = 'this-ends-the-thread';

/** Also gives a test the time to see the service without an engine. */
const FRAGILE = `
  import { MessagePort } from 'node:worker_threads';
  const { postMessage } = MessagePort.prototype;
  MessagePort.prototype.postMessage = function (message, ...more) {
    if (message?.kind === 'begun') {
      setTimeout(() => postMessage.call(this, message, ...more), 1500);
      return;
    }
    const isFatal = ([, { task }]) => task.type === '${FATAL}' && task.attempt === 1;
    if (message?.kind === 'deliver' && message.requests.some(isFatal)) process.exit(7);
    postMessage.call(this, message, ...more);
  };`;

const SIDE_BY_SIDE = { buffered: true };

const DECISION = { domain: 'demo', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };

// Both mostly wait for the ends of leases.
t.jobs = 2;

for (const store of ['sqlite', 'redis', ...(noPostgres === false ? ['postgres'] : [])]) {
  t.test(
    `with ${store}, an engine thread that dies loses no task, and calls go on`,
    SIDE_BY_SIDE,
    async t => {
      const settings: Record<string, string> = {
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(FRAGILE)}`,
        TASKS_STORE: store,
      };
      if (store === 'redis') {
        const redis = await redisFor(t, { args: TASK_SERVER_ARGS });
        settings['TASKS_REDIS_URL'] = `redis://${redis.address}`;
      }
      if (store === 'postgres') settings['TASKS_POSTGRES_URL'] = (await postgresFor(t)).url();
      const service = await startTasksService(t, settings);
      const ready = () => ask(service.http, 'GET /readyz');
      t.match(await ready(), { status: 200, json: { components: { task_engine: 'ok' } } });
      const acme = await newTenant(service);
      const worker = await startPushWorker(t, () => {});
      await acme.make('workers', { name: 'mailer', url: worker.url(), timeout: '1s' });
      await acme.make('workers', { name: 'puller', mode: 'pull' });
      const poll = acme.ask('POST /workers/puller/leases', { wait: '30s' });
      const held = await acme.make('tasks', { worker: 'mailer' });
      await worker.received(1);
      worker.answer = reply(200);
      const fatal = await acme.make('tasks', { worker: 'mailer', type: FATAL });

      await until(async () => (await ready()).status === 503);
      t.match((await ready()).json.components, { task_engine: /is starting/, task_interface: 'ok' });
      t.match(await askOverHttp(service.http, DECISION), { status: 200 }, 'decisions go on');
      const pulled = await acme.make('tasks', { worker: 'puller' });
      t.match((await poll).json, { leases: [{ task: { id: pulled.id } }] }, 'also calls that wait');
      const meanwhile = await acme.make('tasks', { worker: 'mailer' });

      await until(async () => (await ready()).status === 200);
      t.match(await acme.taskIn(meanwhile.id, 'succeeded'), { attempt: 1 });
      const later = await acme.make('tasks', { worker: 'mailer', delay: '100ms' });
      t.match(await acme.taskIn(later.id, 'succeeded'), { attempt: 1 });
      // These wait for the ends of their leases.
      for (const { id } of [held, fatal]) t.match(await acme.taskIn(id, 'succeeded'), { attempt: 2 });
      const pushed = worker.requests.map(request => headerOf(request, 'webhook-id'));
      t.same(
        pushed.toSorted(),
        [held.id, held.id, fatal.id, meanwhile.id, later.id].toSorted(),
        'nothing is pushed more often than it has to be',
      );
      t.match(
        service.logs.filter(({ level }) => level === 'error'),
        [{ '@message': 'Task engine thread ended; starting a replacement' }],
      );
      t.equal(await statistic(service.debug, 'tasks.engine_threads_lost'), 1);
      t.match(await service.terminate(), { status: 0 });
    },
  );
}
