import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { MINUTE_MS } from '../../src/base/clock.ts';
import { redisFor } from '../support/redis-server.ts';
import { TASK_SERVER_ARGS } from '../support/tasks/redis-backend.ts';
import { newTenant, startTasksService, type Tenant } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

// The whole service on a host whose clock is wrong and is set while it runs. Redis keeps the right time.

t.jobs = 2;
const SIDE_BY_SIDE = { buffered: true };

const DELAY_MS = 2_000;

/** The clock of a service: all its threads read from a file by how much it is wrong. */
class HostClock {
  readonly #file: string;

  constructor(t: Test, wrongByMs: number) {
    this.#file = join(tempDirectory(t), 'wrong-by');
    this.set(wrongByMs);
  }

  set(wrongByMs: number): void {
    writeFileSync(`${this.#file}.new`, String(wrongByMs));
    renameSync(`${this.#file}.new`, this.#file);
  }

  get nodeOptions(): string {
    const program = `
      import { readFileSync } from 'node:fs';
      const now = Date.now;
      let wrongByMs = 0;
      let readMs = Number.NEGATIVE_INFINITY;
      Date.now = () => {
        if (performance.now() - readMs > 10) {
          readMs = performance.now();
          wrongByMs = Number(readFileSync(${JSON.stringify(this.#file)}, 'utf8'));
        }
        return now() + wrongByMs;
      };`;
    return `--import=data:text/javascript,${encodeURIComponent(program)}`;
  }
}

/** Creates a task with a delay, then calls `between`. Resolves to how long the task took to start, in milliseconds. */
async function startedAfterMs(tenant: Tenant, between: () => void): Promise<number> {
  const askedMs = performance.now();
  const task = await tenant.make('tasks', { worker: 'puller', delay: `${DELAY_MS}ms` });
  between();
  for (;;) {
    const { json } = await tenant.ask('POST /workers/puller/leases', { wait: '30s' });
    const tookMs = performance.now() - askedMs;
    if (json.leases.length === 0) continue;
    if (json.leases[0].task.id !== task.id) throw new Error('another task was started');
    return tookMs;
  }
}

t.test('with Redis, delays are right on a host whose clock is wrong and is set', SIDE_BY_SIDE, async t => {
  const redis = await redisFor(t, { args: TASK_SERVER_ARGS });
  const clock = new HostClock(t, -20 * MINUTE_MS);
  const store = { TASKS_STORE: 'redis', TASKS_REDIS_URL: `redis://${redis.address}` };
  const service = await startTasksService(t, { ...store, NODE_OPTIONS: clock.nodeOptions });
  const tenant = await newTenant(service);
  const worker = await tenant.make('workers', { name: 'puller', mode: 'pull' });
  t.ok(Math.abs(Date.parse(worker.created_at) - Date.now()) < MINUTE_MS, 'times are those of Redis');
  for (const wrongByMs of [-20 * MINUTE_MS, 20 * MINUTE_MS, 0, -60 * MINUTE_MS]) {
    const tookMs = await startedAfterMs(tenant, () => clock.set(wrongByMs));
    t.ok(tookMs >= DELAY_MS, `clock set to ${wrongByMs} ms: not before ${DELAY_MS} ms (${tookMs})`);
  }
});

t.test(
  'with SQLite, a clock that is set back does not shorten a delay, nor holds it up',
  SIDE_BY_SIDE,
  async t => {
    const clock = new HostClock(t, 0);
    const service = await startTasksService(t, { NODE_OPTIONS: clock.nodeOptions });
    const tenant = await newTenant(service);
    await tenant.make('workers', { name: 'puller', mode: 'pull' });
    for (const wrongByMs of [-20 * MINUTE_MS, -21 * MINUTE_MS]) {
      const tookMs = await startedAfterMs(tenant, () => clock.set(wrongByMs));
      t.ok(tookMs >= DELAY_MS, `clock set to ${wrongByMs} ms: not before ${DELAY_MS} ms (${tookMs})`);
      t.ok(tookMs < MINUTE_MS, `long before the clock has caught up (${tookMs})`);
    }
  },
);
