import { EventEmitter, once } from 'node:events';
import t, { type Test } from 'tap';
import {
  type PullWorkerOptions,
  runPullWorker,
  SluiceClient,
  TaskFailed,
  type TaskHandler,
} from '../../clients/typescript/src/index.ts';
import { cuttingProxy } from '../support/cutting-proxy.ts';
import { freePort } from '../support/free-port.ts';
import { redisFor } from '../support/redis-server.ts';
import type { ServiceProcess } from '../support/service.ts';
import { silencingProxy } from '../support/silencing-proxy.ts';
import { TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { newTenant, startTasksService, type Tenant } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

// Pull workers of the client, against the running service.

/** The shortest lease that the service grants. */
const LEASE_MS = 5_000;

/** A running pull worker. */
class Running {
  readonly errors: unknown[] = [];
  readonly #stop = new AbortController();
  readonly ended: Promise<void>;

  constructor(options: Omit<PullWorkerOptions, 'onError'>) {
    const onError = (error: unknown): void => void this.errors.push(error);
    this.ended = runPullWorker({ leaseMs: LEASE_MS, ...options, onError }, this.#stop.signal);
    this.ended.catch(() => {});
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.ended;
  }
}

/** A tenant with pull workers, which retry at once. */
class Scene {
  readonly service: ServiceProcess;
  readonly tenant: Tenant;

  constructor(service: ServiceProcess, tenant: Tenant) {
    this.service = service;
    this.tenant = tenant;
  }

  client(url = `http://${this.service.http}`): SluiceClient {
    return new SluiceClient({ url, token: this.tenant.token });
  }

  worker(name: string): Promise<unknown> {
    const retry = { base: '100ms', factor: 1, jitter: 0 };
    return this.tenant.make('workers', { name, mode: 'pull', retry });
  }

  async tasks(worker: string, count: number): Promise<string[]> {
    const tasks = Array.from({ length: count }, (_, n) => ({ worker, payload: n }));
    const { results } = await this.tenant.make('tasks/batch', { tasks });
    return results.map(({ task }: { task: { id: string } }) => task.id);
  }

  async events(id: string): Promise<string[]> {
    return (await this.tenant.history(id)).map(({ event }) => event);
  }

  run(worker: string, handle: TaskHandler, options: Partial<PullWorkerOptions> = {}): Running {
    return new Running({ client: this.client(), worker, handle, ...options });
  }
}

/** Resolves when `holds`, which is asked again after each event. */
async function on(events: EventEmitter, holds: () => boolean): Promise<void> {
  while (!holds()) await once(events, 'change');
}

async function doneOnceEach(t: Test, scene: Scene): Promise<void> {
  await scene.worker('many');
  const ids = await scene.tasks('many', 30);
  const events = new EventEmitter();
  const handled: string[] = [];
  let [now, most] = [0, 0];
  const running = scene.run(
    'many',
    async task => {
      most = Math.max(most, ++now);
      await new Promise(resolve => setTimeout(resolve, 5));
      now--;
      handled.push(task.id);
      events.emit('change');
      return { doubled: (task.payload as number) * 2 };
    },
    { concurrency: 5, instance: 'test' },
  );
  await on(events, () => handled.length === 30);
  await running.stop();
  t.same(running.errors, []);
  t.same(handled.sort(), ids.sort(), 'each task is done once');
  t.ok(most > 1 && most <= 5, `at most five at a time: ${most}`);
  const { json: last } = await scene.tenant.ask(`GET /tasks/${ids[29]}`);
  t.match(last, { status: 'succeeded', result: { doubled: last.payload * 2 } });
  t.same(await scene.events(ids[0]), ['created', 'started', 'succeeded']);
}

async function gracefulStop(t: Test, scene: Scene): Promise<void> {
  await scene.worker('stopped');
  const [quick, slow] = await scene.tasks('stopped', 2);
  const events = new EventEmitter();
  const begun: string[] = [];
  let reason: unknown;
  const running = scene.run(
    'stopped',
    async (task, { signal }) => {
      begun.push(task.id);
      events.emit('change');
      const end = task.id === quick ? once(events, 'stopping') : once(signal, 'abort');
      await end;
      reason ??= signal.reason;
    },
    { concurrency: 2, graceMs: 200 },
  );
  await on(events, () => begun.length === 2);
  const [later] = await scene.tasks('stopped', 1);
  const stopped = running.stop();
  events.emit('stopping');
  await stopped;
  t.same(running.errors, []);
  t.match(await scene.tenant.taskIn(quick, 'succeeded'), { attempt: 1 }, 'it finished in the grace period');
  t.match((await scene.tenant.ask(`GET /tasks/${slow}`)).json, { status: /scheduled|retry/, attempt: 0 });
  t.same(await scene.events(slow), ['created', 'started', 'released'], 'returned, not counted');
  t.match(reason, { name: 'WorkerStopped' });
  t.same(await scene.events(later), ['created'], 'nothing is leased after the stop');
}

async function missedLeases(t: Test, scene: Scene): Promise<void> {
  await scene.worker('missed');
  const proxy = await silencingProxy(t, Number(scene.service.http.split(':')[1]));
  const client = scene.client(`http://${proxy.address}`);
  let handled = 0;
  const running = scene.run('missed', () => handled++, { client });
  const [first] = await scene.tasks('missed', 1);
  // Its outcome is reported while another call waits for tasks.
  await scene.tenant.taskIn(first, 'succeeded');
  proxy.dropReplies();
  const [id] = await scene.tasks('missed', 1);
  await scene.tenant.taskIn(id, 'running');
  await running.stop();
  const [created, started, released, ...more] = await scene.events(id);
  t.same([created, started, released, more], ['created', 'started', 'released', []]);
  t.equal(handled, 1);
}

async function killedService(t: Test, scene: Scene, restart: () => Promise<ServiceProcess>): Promise<void> {
  const count = 40;
  await scene.worker('killed');
  const ids = await scene.tasks('killed', count);
  const events = new EventEmitter();
  const handled = new Map<string, number>();
  const running = scene.run(
    'killed',
    async task => {
      await new Promise(resolve => setTimeout(resolve, 20));
      handled.set(task.id, (handled.get(task.id) ?? 0) + 1);
      events.emit('change');
    },
    { concurrency: 3 },
  );
  await on(events, () => handled.size >= 8);
  await scene.service.terminate('SIGKILL');
  t.ok(handled.size < count, 'work is left');
  const tenant = scene.tenant.at((await restart()).http);
  for (const id of ids) await tenant.taskIn(id, 'succeeded');
  await running.stop();
  t.equal(handled.size, count, 'every task was done');
  const repeated = [...handled.values()].filter(times => times > 1).length;
  t.ok(repeated <= 3, `only tasks that ran at the kill may run again: ${repeated}`);
}

async function startScene(t: Test, settings: Readonly<Record<string, string>>): Promise<Scene> {
  const service = await startTasksService(t, settings);
  return new Scene(service, await newTenant(service));
}

t.test('SQLite', async t => {
  const settings = { TASKS_DATA_DIRECTORY: tempDirectory(t), PORT: String(await freePort()) };
  const scene = await startScene(t, settings);
  await t.test('tasks are done once each, a few at a time', t => doneOnceEach(t, scene));
  await t.test('a stop waits for a while and returns the rest', t => gracefulStop(t, scene));
  await t.test('leases whose answer got lost are returned at a stop', t => missedLeases(t, scene));
  await t.test('what lasts longer than a lease', t => longTasks(t, scene));
  await t.test('failures of handlers', t => failures(t, scene));
  await t.test('without onError, failures are warnings of the process', t => warnings(t, scene));
  await t.test('handlers can throw anything', t => oddFailures(t, scene));
  await t.test('a service that refuses a worker ends it', t => refusals(t, scene));
  await t.test('a killed service loses nothing', t =>
    killedService(t, scene, () => startTasksService(t, settings)),
  );
});

t.test('Redis', async t => {
  const redis = await redisFor(t, { args: TASK_SERVER_ARGS });
  const settings = {
    TASKS_STORE: 'redis',
    TASKS_REDIS_URL: `redis://${redis.address}`,
    PORT: String(await freePort()),
  };
  const scene = await startScene(t, settings);
  await t.test('tasks are done once each, a few at a time', t => doneOnceEach(t, scene));
  await t.test('a stop waits for a while and returns the rest', t => gracefulStop(t, scene));
  await t.test('a killed service loses nothing', t =>
    killedService(t, scene, () => startTasksService(t, settings)),
  );
});

/** All at the same time, because leases take seconds. */
async function longTasks(t: Test, scene: Scene): Promise<void> {
  await Promise.all([
    kept(t, scene),
    exaggerated(t, scene),
    canceled(t, scene),
    lost(t, scene),
    timedOut(t, scene),
  ]);
}

async function kept(t: Test, scene: Scene): Promise<void> {
  await scene.worker('kept');
  const [id] = await scene.tasks('kept', 1);
  const running = scene.run('kept', async (_, { progress }) => {
    progress(40, 'almost half');
    await new Promise(resolve => setTimeout(resolve, LEASE_MS * 1.3));
  });
  await scene.tenant.taskIn(id, 'succeeded');
  await running.stop();
  const history = await scene.tenant.history(id);
  t.same(running.errors, []);
  t.match(
    history.map(({ event }) => event),
    ['created', 'started', 'heartbeat_progress', 'succeeded'],
    'heartbeats keep the lease',
  );
  t.match(JSON.stringify(history[2]), /40.*almost half|almost half.*40/);
}

/** The service rejects a progress above 100 and a note of more than 200 characters. */
async function exaggerated(t: Test, scene: Scene): Promise<void> {
  await scene.worker('exaggerated');
  const [id] = await scene.tasks('exaggerated', 1);
  const running = scene.run('exaggerated', async (_, { progress }) => {
    const timer = setInterval(() => progress(100.1, 'long'.repeat(100)), 200);
    await new Promise(resolve => setTimeout(resolve, LEASE_MS * 1.3));
    clearInterval(timer);
  });
  await scene.tenant.taskIn(id, 'succeeded');
  await running.stop();
  t.same(running.errors, []);
  t.match(JSON.stringify(await scene.tenant.history(id)), /100,.*longlong/, 'both are cut');
}

async function timedOut(t: Test, scene: Scene): Promise<void> {
  await scene.worker('timed');
  await scene.tenant.make('tasks', { worker: 'timed', timeout: '2s', retry: { max_attempts: 1 } });
  const events = new EventEmitter();
  let [reason, tookMs]: [unknown, number] = [null, 0];
  const running = scene.run(
    'timed',
    async (_, { signal }) => {
      const beganMs = performance.now();
      await once(signal, 'abort');
      [reason, tookMs] = [signal.reason, performance.now() - beganMs];
      events.emit('change');
    },
    { leaseMs: 60_000 },
  );
  await on(events, () => reason !== null);
  await running.stop();
  t.match(reason, { name: 'LeaseLost' }, 'the timeout of the task ends a lease that would last longer');
  t.ok(tookMs < 20_000, `before the first heartbeat: ${tookMs} ms`);
}

async function canceled(t: Test, scene: Scene): Promise<void> {
  await scene.worker('canceled');
  const [id] = await scene.tasks('canceled', 1);
  const events = new EventEmitter();
  let reason: unknown;
  const running = scene.run('canceled', async (_, { signal }) => {
    events.emit('change');
    await once(signal, 'abort');
    reason = signal.reason;
    throw signal.reason;
  });
  await once(events, 'change');
  await scene.tenant.ask(`POST /tasks/${id}/cancel`);
  await scene.tenant.taskIn(id, 'canceled');
  await running.stop();
  t.match(reason, { name: 'TaskCanceled' });
  t.same(running.errors, []);
}

async function lost(t: Test, scene: Scene): Promise<void> {
  await scene.worker('lost');
  const [id] = await scene.tasks('lost', 1);
  const proxy = await cuttingProxy(t, scene.service.http);
  let reason: unknown;
  const first = scene.run(
    'lost',
    async (_, { signal }) => {
      proxy.close();
      await once(signal, 'abort');
      reason = signal.reason;
      return 'too late';
    },
    { client: scene.client(proxy.url) },
  );
  await scene.tenant.taskUntil(id, ({ last_error }) => last_error?.code === 'lease_expired');
  const second = scene.run('lost', () => 'in time');
  t.match(await scene.tenant.taskIn(id, 'succeeded'), { attempt: 2, result: 'in time' });
  await Promise.all([first.stop(), second.stop()]);
  t.match(reason, { name: 'LeaseLost' }, 'the first worker knows that it is not the only one any more');
  t.ok(first.errors.length > 0, 'failed heartbeats are reported');
}

async function failures(t: Test, scene: Scene): Promise<void> {
  await scene.worker('failing');
  const [final, later, large, circular, thrown] = await scene.tasks('failing', 5);
  const circle: Record<string, unknown> = {};
  circle['self'] = circle;
  const running = scene.run('failing', task => {
    if (task.id === final) throw new TaskFailed('no such address', { code: 'bounced', retry: false });
    if (task.id === later) throw new TaskFailed('out of paper', { retryAfter: '1h' });
    if (task.id === large) return 'x'.repeat(20_000);
    if (task.id === circular) return circle;
    if (task.attempt === 1) throw new RangeError('the first attempt');
    return 'the second attempt';
  });
  const failed = { status: 'failed', attempt: 1 };
  t.match(await scene.tenant.taskIn(final, 'failed'), {
    ...failed,
    last_error: { code: 'bounced', message: 'no such address' },
  });
  const waiting = await scene.tenant.taskUntil(later, ({ last_error }) => last_error?.code === 'failed');
  t.equal(waiting.status, 'retry');
  t.ok(Date.parse(waiting.next_attempt_at) - Date.parse(waiting.last_error.at) >= 3_600_000, 'an hour later');
  t.match(await scene.tenant.taskIn(large, 'failed'), { ...failed, last_error: { code: 'result_rejected' } });
  t.match(await scene.tenant.taskIn(circular, 'failed'), {
    ...failed,
    last_error: { code: 'result_rejected', message: /circular/ },
  });
  const again = await scene.tenant.taskIn(thrown, 'succeeded');
  t.match(again, { attempt: 2, result: 'the second attempt', last_error: { code: 'RangeError' } });
  await running.stop();
  t.ok(running.errors.some(error => error instanceof RangeError));
}

/** Without a listener for errors, which would be as careless as these handlers. */
async function oddFailures(t: Test, scene: Scene): Promise<void> {
  await scene.worker('odd');
  const without = { reason: () => Promise.reject(), text: () => Promise.reject(Object.create(null)) };
  const name = Object.assign(new Error('named'), { name: 7 });
  const faults: readonly [handle: () => unknown, status: string, error: object][] = [
    [without.reason, 'failed', { code: 'Error', message: 'undefined' }],
    [without.text, 'failed', { code: 'Error', message: /cannot be converted/ }],
    [() => Promise.reject(name), 'failed', { code: '7', message: 'named' }],
    [
      () => ({
        toJSON() {
          throw new RangeError('no JSON');
        },
      }),
      'failed',
      { code: 'result_rejected', message: 'no JSON' },
    ],
    [
      () => Promise.reject(new TaskFailed('later', { code: 'busy', retryAfter: '99 years' })),
      'failed',
      { code: 'busy', message: 'later' },
    ],
  ];
  const tasks = faults.map((_, payload) => ({ worker: 'odd', payload, retry: { max_attempts: 1 } }));
  const { results } = await scene.tenant.make('tasks/batch', { tasks });
  const stop = new AbortController();
  t.teardown(() => stop.abort());
  const client = scene.client();
  const ended = runPullWorker(
    { client, worker: 'odd', handle: task => faults[task.payload as number][0](), waitMs: 1_000 },
    stop.signal,
  );
  for (const [i, [, status, last_error]] of faults.entries())
    t.match(await scene.tenant.taskIn(results[i].task.id, status), { last_error });
  stop.abort();
  await ended;
}

async function refusals(t: Test, scene: Scene): Promise<void> {
  const nobody = scene.run('nobody', () => {});
  await t.rejects(nobody.ended, { name: 'SluiceProblem', status: 404 });
  await scene.worker('guarded');
  const { id, value } = await scene.tenant.make('workers/guarded/secrets', { type: 'token' });
  const client = new SluiceClient({ url: `http://${scene.service.http}`, token: value });
  const handled = new EventEmitter();
  const running = scene.run('guarded', () => handled.emit('change'), { client, waitMs: 1_000 });
  await scene.tasks('guarded', 1);
  await once(handled, 'change');
  t.equal((await scene.tenant.ask(`DELETE /workers/guarded/secrets/${id}`)).status, 204);
  await t.rejects(
    running.ended,
    { name: 'SluiceProblem', status: 401 },
    'a token that was deleted ends a waiting worker',
  );
}

async function warnings(t: Test, scene: Scene): Promise<void> {
  await scene.worker('warned');
  const [id] = await scene.tasks('warned', 1);
  const handle = () => {
    throw new TaskFailed('out of ink', { retry: false });
  };
  const warned = t.capture(process, 'emitWarning', () => {});
  const stop = new AbortController();
  const ended = runPullWorker({ client: scene.client(), worker: 'warned', handle }, stop.signal);
  await scene.tenant.taskIn(id, 'failed');
  stop.abort();
  await ended;
  t.match(warned(), [{ args: [`${id}: out of ink`, 'SluiceWorkerWarning'] }]);
}
