import t, { type Test } from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { reply, startPushWorker } from '../support/push-workers.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { newTenant, startTasksService } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

// One budget for proxied calls and for tasks, in the whole program. The windows of the first rule last for a day, so the
// whole test is in one.

const RULES = `domain: edge
descriptors:
  - key: upstream
    value: billing
    rate_limit: { unit: day, requests_per_unit: 40 }
  - key: upstream
    value: mail
    rate_limit: { unit: second, requests_per_unit: 5 }
`;

function limit(upstream: string) {
  return { domain: 'edge', descriptor: [{ key: 'upstream', value: upstream }] };
}

/** Longest wait for pushes that were granted. */
const GRANTED_MS = 5_000;

/** A test at the end of a day has to wait for the next one. */
async function untilDayLasts(): Promise<void> {
  while (86_400_000 - (Date.now() % 86_400_000) < 60_000) {
    await new Promise(resolve => setTimeout(resolve, 1_000));
  }
}

/** A call that a proxy asks about. */
async function isAllowed(http: string, upstream: string): Promise<boolean> {
  const descriptors = [{ entries: limit(upstream).descriptor }];
  const { body } = await askOverHttp(http, { domain: 'edge', descriptors });
  return body.overallCode === 'OK';
}

function settings(t: Test, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const root = writeRules(tempDirectory(t), { 'config/edge.yaml': RULES });
  return { RUNTIME_ROOT: root, TASKS_LIMIT_SHARED_DOMAINS: 'edge', TASKS_DRAIN_TIMEOUT: '0s', ...more };
}

/** @param services processes that share their stores */
async function checkSharing(t: Test, services: readonly { readonly http: string; readonly debug: string }[]) {
  await untilDayLasts();
  const receiver = await startPushWorker(t, reply(200));
  const acme = await newTenant(services[0]);
  await acme.make('workers', {
    name: 'billing',
    url: receiver.url(),
    limit: limit('billing'),
    concurrency: 50,
  });
  const unlisted = { name: 'other', mode: 'pull', limit: { ...limit('billing'), domain: 'sluice_api' } };
  const refused = await acme.ask('POST /workers', unlisted);
  t.match(refused, { status: 422, json: { errors: [{ pointer: '/limit/domain' }] } });
  t.match(refused.json.detail, /TASKS_LIMIT_DOMAINS/);
  await acme.make('workers', { name: 'puller', mode: 'pull', limit: limit('billing') });
  let allowed = 0;
  for (let call = 0; call < 5; call++) if (await isAllowed(services[0].http, 'billing')) allowed++;
  t.equal(allowed, 5);

  // Proxied calls, pushes and leases at the same time, for more than there is.
  const tasks = (worker: string, count: number) => Array.from({ length: count }, () => ({ worker }));
  await acme.make('tasks/batch', { tasks: tasks('puller', 30) });
  await acme.make('tasks/batch', { tasks: tasks('billing', 60) });
  let leased = 0;
  const ask = async ({ http }: { readonly http: string }) => {
    if (await isAllowed(http, 'billing')) allowed++;
    const answer = await acme.at(http).ask('POST /workers/puller/leases', { max: 2 });
    leased += answer.json.leases.length;
  };
  for (let round = 0; round < 6; round++) for (const service of services) await ask(service);
  // What is granted may still be on its way.
  const latestMs = performance.now() + GRANTED_MS;
  await until(() => receiver.requests.length + leased + allowed >= 40 || performance.now() > latestMs);
  for (let round = 0; round < 3; round++) for (const service of services) await ask(service);
  await until(
    async () => (await acme.ask('GET /tasks?worker=billing&status=running')).json.data.length === 0,
  );
  const pushed = receiver.requests.length;
  t.equal(pushed + leased + allowed, 40, `${pushed} pushes, ${leased} leases, ${allowed} proxied calls`);
  const { data } = (await acme.ask('GET /tasks?worker=billing&limit=200')).json;
  const waiting = data.filter((task: { status: string }) => task.status === 'scheduled');
  for (const task of waiting) t.match(task, { waiting_for: 'limit', attempt: 0, deferrals: 0 });
  t.equal(pushed, data.length - waiting.length);

  // The worker goes on by itself in the next window.
  const mail = await startPushWorker(t, reply(200));
  const second = await acme.make('workers', {
    name: 'mail',
    url: mail.url(),
    limit: limit('mail'),
    concurrency: 50,
  });
  t.match(second, { limit: limit('mail') });
  await acme.make('tasks/batch', { tasks: tasks('mail', 12) });
  await mail.received(12);
  const ended = (await acme.ask('GET /tasks?worker=mail&limit=200')).json.data;
  const startedMs = ended.map(({ started_at: at }: { started_at: string }) => Date.parse(at));
  const tookMs = Math.max(...startedMs) - Math.min(...startedMs);
  t.equal(tookMs > 900, true, `12 tasks take three windows, and took ${tookMs} ms`);
}

t.test('proxied calls and tasks share a limit: SQLite', async t => {
  await checkSharing(t, [await startTasksService(t, settings(t))]);
});

t.test('proxied calls and tasks share a limit: Redis, two processes', async t => {
  const redis = await redisFor(t, { args: TASK_SERVER_ARGS });
  const shared = settings(t, {
    TASKS_STORE: 'redis',
    TASKS_REDIS_URL: `redis://${redis.address}`,
    KVCACHE_URL: redis.address,
  });
  await checkSharing(t, [await startTasksService(t, shared), await startTasksService(t, shared)]);
});
