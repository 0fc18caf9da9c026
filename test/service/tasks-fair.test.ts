import t from 'tap';
import { reply, startPushWorker } from '../support/push-workers.ts';
import { redisFor } from '../support/redis-server.ts';
import { TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { newTenant, startTasksService, type Tenant } from '../support/tasks/tasks-service.ts';

// Tenants whose receivers hang, beside others, in the whole program.

type Test = Parameters<typeof startTasksService>[0];

/** Has 300 tasks of a new tenant pushed to a receiver that never answers. */
async function hang(t: Test, tenant: Tenant): Promise<void> {
  const receiver = await startPushWorker(t, () => {});
  await tenant.make('workers', { name: 'hanging', url: receiver.url(), timeout: '15m', concurrency: 300 });
  await tenant.make('tasks/batch', { tasks: Array.from({ length: 300 }, () => ({ worker: 'hanging' })) });
  await receiver.received(128);
}

/** @param services processes over one store */
async function checkFairness(
  t: Test & { ok(value: boolean, name: string): void },
  services: readonly { readonly http: string }[],
) {
  for (const domain of ['first', 'second']) await hang(t, await newTenant(services[0], domain));
  const receiver = await startPushWorker(t, reply(200));
  const third = await newTenant(services[0], 'third');
  await third.make('workers', { name: 'prompt', url: receiver.url() });
  for (const { http } of services) {
    const { id, created_at: createdAt } = await third.at(http).make('tasks', { worker: 'prompt' });
    const task = await third.taskIn(id, 'succeeded');
    const waitedMs = Date.parse(task.started_at) - Date.parse(createdAt);
    t.ok(waitedMs <= 1_000, `started after ${waitedMs} ms`);
  }
}

t.test('receivers that hang do not delay tasks of other tenants: SQLite', async t => {
  await checkFairness(t, [await startTasksService(t, { TASKS_DRAIN_TIMEOUT: '0s' })]);
});

t.test('receivers that hang do not delay tasks of other tenants: Redis, two processes', async t => {
  const redis = await redisFor(t, { args: TASK_SERVER_ARGS });
  const settings = {
    TASKS_STORE: 'redis',
    TASKS_REDIS_URL: `redis://${redis.address}`,
    TASKS_DRAIN_TIMEOUT: '0s',
  };
  const services = [await startTasksService(t, settings), await startTasksService(t, settings)];
  await checkFairness(t, services);
});
