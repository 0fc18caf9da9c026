import t from 'tap';
import { redisFor } from '../support/redis-server.ts';
import { campaign } from '../support/tasks/kills/campaign.ts';
import { killPlan } from '../support/tasks/kills/plan.ts';
import { redisTaskStore, TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { taskSettings } from '../support/tasks/served-tasks.ts';
import { keysOfTenant } from '../support/tasks/stored-things.ts';

/** What is left of a tenant to show that it was deleted. */
const TOMBSTONE = new Set(['A:account', 'D:account', 'P:account:', 'Z']);

const plan = killPlan(8);
t.setTimeout(plan.killMs + plan.boundMs + 60_000);

t.test('processes on one Redis are killed again and again: nothing is lost, nothing hangs', async t => {
  const redis = await redisFor(t, { args: TASK_SERVER_ARGS });
  await campaign(t, {
    env: taskSettings(t, { redis }),
    openStore: () => redisTaskStore([redis]),
    leftOf: async domain => (await keysOfTenant(redis, domain)).filter(name => !TOMBSTONE.has(name)),
    ...plan,
  });
});
