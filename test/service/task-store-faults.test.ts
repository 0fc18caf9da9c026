import { rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Test } from 'tap';
import t from 'tap';
import { threadedSqliteStore } from '../../src/tasks/store/sqlite/engine/thread-operator.ts';
import type { TaskStore } from '../../src/tasks/store/task-store.ts';
import { violationsOf } from '../exam/task-store/invariants.ts';
import { getPage } from '../support/asking.ts';
import { KeepingLogger } from '../support/keeping-logger.ts';
import { headerOf, type PushWorker, reply, startPushWorker } from '../support/push-workers.ts';
import { type RedisServer, redisFor } from '../support/redis-server.ts';
import { type ServiceProcess, startService } from '../support/service.ts';
import { fillDisk, smallDisk } from '../support/small-disk.ts';
import { redisTaskStore, TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { TaskCaller, taskSettings } from '../support/tasks/served-tasks.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

/** Tasks that are being pushed while the store is away. */
const PUSHED = 5;
/** All is well again within this time. */
const RECOVERY_MS = 60_000;

/** A service with a worker that is pushed to, which answers when it is told to. */
class Scene {
  readonly service: ServiceProcess;
  readonly worker: PushWorker;
  readonly ids: string[] = [];
  readonly #caller: TaskCaller;
  readonly #waiting: Socket[] = [];

  private constructor(service: ServiceProcess, worker: PushWorker, caller: TaskCaller) {
    this.service = service;
    this.worker = worker;
    this.#caller = caller;
    worker.answer = socket => this.#waiting.push(socket);
  }

  static async open(t: Test, env: Readonly<Record<string, string>>): Promise<Scene> {
    const worker = await startPushWorker(t, reply(200));
    const service = await startService({ env });
    t.teardown(() => service.terminate());
    const caller = new TaskCaller(t);
    await caller.signUp(service.http);
    // No attempt may be lost to a lease that ends: what is tried once must be settled.
    const fields = { url: worker.url(), timeout: '15m', concurrency: 100, retry: { max_attempts: 1 } };
    await caller.made(service.http, 'POST', '/workers', { name: 'worker', ...fields });
    return new Scene(service, worker, caller);
  }

  create(idempotencyKey: string, payload: unknown = null) {
    const body = { worker: 'worker', payload };
    return this.#caller.ask(this.service.http, { method: 'POST', path: '/tasks', body, idempotencyKey });
  }

  /** Makes tasks, and resolves when all of them are being pushed. */
  async push(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      const { status, json } = await this.create(`pushed ${i}`);
      if (status !== 201) throw new Error(`no task: ${JSON.stringify(json)}`);
      this.ids.push(json.id);
    }
    await this.worker.received(count);
  }

  /** The worker says that all is done, and goes on to say so. */
  answerAll(): void {
    this.worker.answer = reply(200);
    for (const socket of this.#waiting.splice(0)) reply(200)(socket);
  }

  /** Asks until the store answers again: the task is made once, however often that is. */
  async createAgain(key: string): Promise<void> {
    await this.#recovers(async () => {
      const { status, json } = await this.create(key);
      if (status === 201) this.ids.push(json.id);
      return status === 201 ? null : json;
    });
  }

  allSucceeded(): Promise<void> {
    return this.#recovers(async () => {
      const { counts } = await this.#caller.made(this.service.http, 'GET', '/tasks/counts');
      return counts.succeeded === this.ids.length ? null : counts;
    });
  }

  /** Waits until nothing is wrong any more. */
  #recovers(whatIsWrong: () => Promise<unknown>): Promise<void> {
    const endMs = performance.now() + RECOVERY_MS;
    return until(async () => {
      const wrong = await whatIsWrong();
      if (wrong !== null && performance.now() > endMs) {
        throw new Error(
          `after ${RECOVERY_MS} ms there is still ${JSON.stringify(wrong)}. The service wrote:\n${this.service.output}`,
        );
      }
      return wrong === null;
    });
  }
}

/** The store was told of outcomes, and did not take them. */
async function outcomesAreHeld({ service }: Scene): Promise<void> {
  await service.logged(({ '@message': message }) => /^The task store is unavailable/.test(String(message)));
}

/** A task was refused for a time, and nothing else is known of it. */
function isRefused(t: Test, answer: Awaited<ReturnType<Scene['create']>>): void {
  t.match(answer, { status: 503, json: { code: 'store_unavailable' } }, 'the interface says so');
  t.ok(Number(answer.headers['retry-after']) >= 1, 'and when to come again');
}

/** Everything was made and done once. */
async function isWhole(t: Test, scene: Scene, store: TaskStore): Promise<void> {
  await scene.allSucceeded();
  // Each thread has a connection of its own to Redis, and they come back one after the other.
  await until(async () => (await getPage(scene.service.http, '/readyz')).status === 200);
  t.match(await scene.service.terminate(), { status: 0 }, scene.service.output);
  const sent = scene.worker.requests.map(request => headerOf(request, 'webhook-id'));
  t.strictSame(sent.sort(), [...scene.ids].sort(), 'each task was sent once');
  await store.start();
  t.teardown(() => store.stop());
  const created = new Map([['acme', scene.ids]]);
  t.strictSame(await violationsOf(store, { finished: true, created }), []);
}

t.test('SQLite, and another process holds the write lock: outcomes are held, calls are refused', async t => {
  const path = join(tempDirectory(t), 'tasks.db');
  const scene = await Scene.open(t, taskSettings(t, { directory: join(path, '..') }));
  await scene.push(PUSHED);
  const other = new DatabaseSync(path, { timeout: 20_000 });
  t.teardown(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  scene.answerAll();
  isRefused(t, await scene.create('while locked'));
  await outcomesAreHeld(scene);
  other.exec('ROLLBACK');
  await scene.createAgain('while locked');
  await isWhole(t, scene, threadedSqliteStore({ path }, new KeepingLogger()).store);
});

t.test('SQLite, and the disk is full: what was accepted is kept, and it goes on with room', async t => {
  const directory = smallDisk(t, '8m');
  if (directory === null) return t.pass('not shown: this user may not mount a small file system');
  const scene = await Scene.open(t, taskSettings(t, { directory }));
  await scene.push(PUSHED);
  const filler = fillDisk(directory, 64 * 1024);

  const payload = 'x'.repeat(100_000);
  let refused: Awaited<ReturnType<Scene['create']>> | null = null;
  for (let i = 0; refused === null; i++) {
    const answer = await scene.create(`until full ${i}`, payload);
    if (answer.status === 201) scene.ids.push(answer.json.id);
    else refused = answer;
  }
  isRefused(t, refused);
  scene.answerAll();
  rmSync(filler);
  await scene.createAgain('when there is room');
  const path = join(directory, 'tasks.db');
  await isWhole(t, scene, threadedSqliteStore({ path }, new KeepingLogger()).store);
});

t.test('Redis', async t => {
  const open = async (t: Test) => {
    // With `everysec` a Redis whose disk is slow answers before it has written, and what it had not is gone with it.
    const redis = await redisFor(t, { args: [...TASK_SERVER_ARGS, '--appendfsync', 'always'] });
    const env = {
      ...taskSettings(t, { redis }),
      TASKS_REDIS_TIMEOUT: '500ms',
      TASKS_REDIS_DURABILITY: 'always',
    };
    const scene = await Scene.open(t, env);
    await scene.push(PUSHED);
    return { redis, scene };
  };
  const isWholeIn = (t: Test, scene: Scene, redis: RedisServer) =>
    isWhole(t, scene, redisTaskStore([redis], { durability: 'always' }));

  t.test('that stands still: outcomes are held, calls are refused', async t => {
    const { redis, scene } = await open(t);
    redis.freeze();
    scene.answerAll();
    isRefused(t, await scene.create('while it stands still'));
    await outcomesAreHeld(scene);
    redis.thaw();
    await scene.createAgain('while it stands still');
    await isWholeIn(t, scene, redis);
  });

  t.test('that dies and comes back: outcomes are held, calls are refused', async t => {
    const { redis, scene } = await open(t);
    await redis.kill();
    scene.answerAll();
    isRefused(t, await scene.create('while it is away'));
    await outcomesAreHeld(scene);
    await redis.start();
    await scene.createAgain('while it is away');
    await isWholeIn(t, scene, redis);
    const told = scene.service.logs.filter(({ level }) => level === 'warning' || level === 'error');
    t.match(
      told.map(line => line['@message']),
      [/^The task store is unavailable/, 'The task store is available again'],
      JSON.stringify(told),
    );
    t.equal(told.length, 2);
  });
});
