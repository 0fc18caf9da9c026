import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { askOverGrpc } from '../../../support/asking.ts';
import { descriptor } from '../../../support/decisions.ts';
import type { GrpcClient } from '../../../support/grpc-client.ts';
import { redisFor } from '../../../support/redis-server.ts';
import { DEATHS, die, hang, limitHeapOfThreads } from '../../../support/threads/deaths.ts';
import { type ServingService, startServing } from '../../../support/threads/serving-service.ts';
import { until } from '../../../support/until.ts';

limitHeapOfThreads(64);

const CLIENTS = 16;
/** Pause of each client between two calls, so that the calls leave the processor to the threads that start. */
const PAUSE_MS = 20;
const LIMIT = 1_000_000;
const ASK = { domain: 'd', descriptors: [descriptor('k=v')], hitsAddend: 0 };

/** Asks with every client, one call after the other with a pause between them, until it is stopped. */
class Callers {
  /** What remained, by each answer. */
  readonly remaining: number[] = [];
  readonly failures: { readonly client: GrpcClient; readonly text: string }[] = [];
  readonly #clients: readonly GrpcClient[];
  #going = true;

  constructor(service: ServingService) {
    this.#clients = Array.from({ length: CLIENTS }, () => service.client());
  }

  async run(): Promise<void> {
    await Promise.all(
      this.#clients.map(async client => {
        while (this.#going) {
          await this.#ask(client);
          await pause(PAUSE_MS);
        }
      }),
    );
  }

  /** Resolves after this number of further answers. */
  async answers(count: number): Promise<void> {
    const last = this.remaining.length + count;
    await until(() => this.remaining.length >= last);
  }

  stop(): void {
    this.#going = false;
  }

  async #ask(client: GrpcClient): Promise<void> {
    try {
      const { statuses } = await askOverGrpc(client, ASK);
      this.remaining.push(statuses[0].limitRemaining);
    } catch (failure) {
      this.failures.push({ client, text: (failure as Error).message });
    }
  }
}

/** Each hit took one number, and no answer was given twice. A failed call may have counted a hit. */
async function isExact(t: Test, service: ServingService, callers: Callers): Promise<void> {
  const { remaining, failures } = callers;
  t.equal(new Set(remaining).size, remaining.length, 'nothing was counted for two answers');
  const { statuses } = await askOverGrpc(service.client(), ASK);
  const counted = LIMIT - statuses[0].limitRemaining - 1;
  t.ok(
    remaining.length <= counted && counted <= remaining.length + failures.length,
    `${remaining.length} <= ${counted} <= ${remaining.length} + ${failures.length}`,
  );
}

t.test('a serving thread that dies, however it does, takes only its connections with it', async t => {
  const service = await startServing(t, 3);
  const alive = [...service.workers];
  const callers = new Callers(service);
  const running = callers.run();
  await callers.answers(200);
  for (const [deaths, death] of DEATHS.entries()) {
    const before = callers.failures.length;
    await die(alive.shift()!, death);
    await callers.answers(300);
    await service.serving(3);
    alive.push(service.workers.at(-1)!);
    const failed = new Set(callers.failures.slice(before).map(({ client }) => client));
    t.ok(failed.size < CLIENTS, `${death}: ${failed.size} of ${CLIENTS} clients had a connection to it`);
    t.equal(await service.statistic('ratelimit.service.serving_threads_lost'), deaths + 1);
  }
  callers.stop();
  await running;
  t.ok(
    callers.failures.every(({ text }) => /^status 14:/.test(text)),
    'their calls are UNAVAILABLE, so clients may retry',
  );
  await isExact(t, service, callers);
  const lines = service.logger.lines.filter(line => line.message.startsWith('Serving thread ended'));
  t.equal(lines.length, DEATHS.length);
});

t.test('a serving thread that hangs is replaced, and its connections are closed', async t => {
  const service = await startServing(t, 2);
  const callers = new Callers(service);
  const running = callers.run();
  await callers.answers(100);
  const stuck = service.workers[0];
  const gone = once(stuck, 'exit');
  await hang(stuck);
  await callers.answers(100);
  await gone;
  await service.serving(2);
  callers.stop();
  await running;
  t.match(
    service.logger.lines.filter(
      ({ message }) => message === 'Serving thread is not responding; replacing it',
    ),
    [{ level: 'error' }],
  );
  await isExact(t, service, callers);
});

t.test('threads that die again and again make the process unhealthy', async t => {
  const service = await startServing(t, 2);
  const health = async () => (await fetch(`http://${service.at.http}/healthcheck?verbose`)).json();
  t.match(await health(), { healthy: true });
  for (let death = 0; death < 5; death++) {
    await service.serving(2);
    await die(service.workers.at(-1)!, 'terminated');
  }
  t.match(await health(), { healthy: false, components: { serving_threads: false } });
});

t.test('a thread that is replaced while the store is unavailable recovers with the store', async t => {
  const redis = await redisFor(t);
  const service = await startServing(t, 2, { REDIS_URL: redis.address, REDIS_SOCKET_TYPE: 'tcp' });
  await redis.kill();
  for (const worker of [...service.workers]) await die(worker, 'terminated');
  await service.serving(2);
  const client = service.client();
  await t.rejects(askOverGrpc(client, ASK), /status 14: Redis/);
  await redis.start();
  await until(async () => {
    try {
      return (await askOverGrpc(client, ASK)).statuses.length === 1;
    } catch {
      return false;
    }
  });
});
