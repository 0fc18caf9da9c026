import t from 'tap';
import { startPushWorker } from '../support/push-workers.ts';
import { newTenant, startTasksService } from '../support/tasks/tasks-service.ts';
import { until } from '../support/until.ts';

t.test('a task that waits because its tenant has its share of deliveries says so', async t => {
  const service = await startTasksService(t, { TASKS_DRAIN_TIMEOUT: '0s', TASKS_PUSH_CONCURRENCY: '16' });
  const receiver = await startPushWorker(t, () => {});
  const tenant = await newTenant(service, 'first');
  await tenant.make('workers', { name: 'hanging', url: receiver.url(), timeout: '15m', concurrency: 300 });
  await tenant.make('tasks/batch', { tasks: Array.from({ length: 40 }, () => ({ worker: 'hanging' })) });
  await receiver.received(24);
  const reasons = async () => {
    const { json } = await tenant.ask('GET /tasks?status=scheduled');
    return new Set(json.data.map(({ waiting_for }: { waiting_for: string }) => waiting_for));
  };
  await until(async () => (await reasons()).has('tenant_share'));
  t.same(await reasons(), new Set(['tenant_share']));
});
