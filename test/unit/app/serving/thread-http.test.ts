import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { connectTasks } from '../../../../src/app/tasks/tasks-connection.ts';
import { systemClock } from '../../../../src/base/clock.ts';
import { Health } from '../../../../src/base/health.ts';
import { Bound, SharedBound } from '../../../../src/base/threads/shared-bound.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { ThreadsStats } from '../../../../src/stats/thread-stats.ts';
import { SignalMesh } from '../../../../src/tasks/model/signals.ts';
import { RestThreads } from '../../../../src/tasks/rest/threads/rest-threads.ts';
import { ThreadLinks } from '../../../../src/tasks/rest/threads/thread-links.ts';
import { NotReadyError, type ReadinessChecks } from '../../../../src/transports/http/routes/health-routes.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { NO_LIMITS } from '../../../support/tasks/no-limits.ts';
import type { HttpThreadSetup, ToHttpThread } from '../../../support/threads/http-thread.ts';
import { until } from '../../../support/until.ts';
import { RawConnection } from '../../transports/http/raw-connection.ts';

const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const support = (path: string) => new URL(`../../../support/${path}.${extension}`, import.meta.url);

const ENV = { HOST: '127.0.0.1', HTTP_SERVER_ENGINE: 'node' };
const SETTINGS = loadSettings(ENV);

/** The REST threads of a process. The paths of `test/support/tasks/rest-thread.ts` say what is to happen. */
async function openTasks(t: Test, checks: ReadinessChecks = {}) {
  const answers: string[] = [];
  const begun = new Int32Array(new SharedArrayBuffer(4));
  const rest = new RestThreads({
    module: support('tasks/rest-thread'),
    count: 1,
    workerData: () => ({ begun, failing: [] }),
    tenantOf: ({ host }) => host,
    limits: { active: false, ask: async () => ({ allowed: true, nearest: null }) },
    tester: { test: () => Promise.reject(new Error('not part of this test')) },
    links: new ThreadLinks({ signals: new SignalMesh(), store: null, limitAsker: NO_LIMITS }),
    nextRequestId: () => 'req',
    answered: (operation, status) => answers.push(`${operation} ${status}`),
    stats: new ThreadsStats(new StatsRegistry()),
    lost: () => {},
    clock: systemClock,
    random: () => 0,
    logger: new KeepingLogger(),
  });
  t.teardown(() => rest.stop());
  await rest.start();
  const told = async (): Promise<string> => {
    const head = { method: 'GET', host: 'x', path: '/told', query: '', headers: {}, remoteAddress: '' };
    const answer = await new Promise<string>(resolve =>
      rest.begin(head, [], {
        admitted: () => {},
        waits: () => {},
        answered: ({ body }) => resolve(String(body)),
      }),
    );
    return answer;
  };
  return { rest, told, answers, connect: () => connectTasks(rest, checks, systemClock) };
}

class ServingThread {
  readonly port: number;
  readonly #worker: Worker;

  static async start(t: Test, setup: Partial<HttpThreadSetup> = {}): Promise<ServingThread> {
    const workerData = { settings: SETTINGS, port: 0, threads: 1, tasks: null, ...setup };
    const transferList = workerData.tasks === null ? [] : [workerData.tasks.port];
    const worker = new Worker(support('threads/http-thread'), { workerData, transferList });
    t.teardown(() => worker.terminate());
    const [port] = await once(worker, 'message');
    return new ServingThread(worker, port as number);
  }

  private constructor(worker: Worker, port: number) {
    this.#worker = worker;
    this.port = port;
  }

  post(message: ToHttpThread): void {
    this.#worker.postMessage(message);
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  /** Resolves when the thread has ended by itself. */
  async ended(): Promise<number> {
    const [code] = await once(this.#worker, 'exit');
    return code as number;
  }
}

/** A request as it is on the wire. */
function wire(line: string, body = '', fields: readonly string[] = []): string {
  const length = body === '' ? [] : [`Content-Length: ${body.length}`];
  return [`${line} HTTP/1.1`, 'Host: acme.localhost', ...fields, ...length, '', body].join('\r\n');
}

async function ask(port: number, request: string) {
  const connection = await RawConnection.open(port);
  const response = await connection.ask(request);
  connection.destroy();
  return response;
}

const DECIDE = wire('POST /json', '{"domain":"d","descriptors":[{"entries":[{"key":"k"}]}]}');

t.test('threads listen on the same port, and each decides what arrives there', async t => {
  const one = await ServingThread.start(t, { threads: 2 });
  await ServingThread.start(t, { threads: 2, port: one.port });
  const deciders = new Set<string>();
  await until(async () => {
    const { status, body } = await ask(one.port, DECIDE);
    t.equal(status, 200);
    deciders.add(body);
    return deciders.size === 2;
  });
});

t.test('a thread that dies takes only its own connections with it', async t => {
  const one = await ServingThread.start(t, { threads: 2 });
  const connections = await Promise.all(Array.from({ length: 4 }, () => RawConnection.open(one.port)));
  const other = await ServingThread.start(t, { threads: 2, port: one.port });
  await one.terminate();
  await Promise.all(connections.map(connection => connection.closed()));
  for (let i = 0; i < 8; i++) t.equal((await ask(other.port, DECIDE)).status, 200);
});

t.test('threads have one limit of connections, and each has a guaranteed part of it', async t => {
  const bound = new SharedBound(8, 2);
  const { port } = await ServingThread.start(t, { threads: 2, connections: bound.join() });
  const other = Bound.at(bound.join());
  t.ok(other.hasRoom(1), 'a quarter is guaranteed');
  const open = await Promise.all(Array.from({ length: 6 }, () => RawConnection.open(port)));
  for (const connection of open) {
    t.equal((await connection.ask(DECIDE)).status, 200);
  }
  t.equal((await ask(port, DECIDE)).status, 503, 'the rest is for the other thread');
  for (const connection of open) connection.destroy();
});

t.test('health is that of the primary thread', async t => {
  const thread = await ServingThread.start(t);
  const health = new Health();
  health.onComponentChange(() => thread.post({ kind: 'health', components: health.components }));
  health.set('termination', true);
  health.report('store', false, 'Redis is not connected');
  const page = async () => JSON.parse((await ask(thread.port, wire('GET /healthcheck?verbose'))).body);
  await until(async () => 'store' in (await page()).components);
  t.same(await page(), {
    healthy: true,
    components: { termination: true, store: false },
    decides: { termination: true, store: false },
    notes: { store: 'Redis is not connected' },
    serving_threads: [],
  });
  health.set('termination', false);
  await until(async () => (await ask(thread.port, wire('GET /healthcheck'))).status === 500);
});

t.test('readiness is checked in the primary thread', async t => {
  let failure: Error | null = null;
  const { connect } = await openTasks(t, {
    task_store: async () => {
      if (failure !== null) throw failure;
    },
    task_engine: async () => {},
  });
  const { port } = await ServingThread.start(t, { tasks: connect() });
  const ready = await ask(port, wire('GET /readyz'));
  t.equal(ready.status, 200);
  t.match(JSON.parse(ready.body), { ready: true, components: { task_store: 'ok', task_engine: 'ok' } });
  failure = new NotReadyError('disk_full', 'the disk is full');
  const full = await ask(port, wire('GET /readyz'));
  t.equal(full.status, 503);
  t.match(JSON.parse(full.body), {
    ready: false,
    components: { task_store: 'the disk is full', task_engine: 'ok' },
    causes: { task_store: 'disk_full' },
  });
  failure = new Error('the engine is starting');
  const starting = JSON.parse((await ask(port, wire('GET /readyz'))).body);
  t.match(starting, { ready: false, components: { task_store: 'the engine is starting' } });
  t.notOk('causes' in starting);
});

t.test('requests to the task service are answered by the REST threads', async t => {
  const { rest, connect, answers } = await openTasks(t);
  const { port } = await ServingThread.start(t, { tasks: connect() });
  t.match(await ask(port, wire('POST /api/echo', 'hello')), { status: 200, body: 'hello' });
  const large = 'x'.repeat(5_000_000);
  t.equal((await ask(port, wire('POST /api/take', large))).body, '5000000 bytes');
  const chunk = `186a0\r\n${'y'.repeat(100_000)}\r\n`;
  const chunked = wire('POST /api/take', '', ['Transfer-Encoding: chunked']);
  t.equal((await ask(port, `${chunked}${chunk.repeat(3)}0\r\n\r\n`)).body, '300000 bytes');
  t.equal((await ask(port, wire('POST /api/echo', 'z'.repeat(60_000)))).body.length, 60_000);
  t.equal((await ask(port, wire('POST /api/take', 'x'.repeat(6_300_000)))).status, 413);
  await until(() => answers.length === 1);
  t.same(answers, ['unknown 413'], 'a request that the serving thread refuses is counted');
  t.equal((await ask(port, wire('GET /'))).status, 200, 'the text for programs; browsers get the console');
  await until(() => rest.pending === 0);
});

t.test('a long poll ends when its caller leaves', async t => {
  const { told, connect } = await openTasks(t);
  const { port } = await ServingThread.start(t, { tasks: connect() });
  const connection = await RawConnection.open(port);
  await connection.write(wire('GET /api/poll'));
  const staying = await RawConnection.open(port);
  await staying.write(wire('GET /api/poll'));
  // The calls of a tenant are handled in order.
  await ask(port, wire('GET /api/thread'));
  connection.destroy();
  await until(async () => (await told()) === 'gone');
  t.equal((await ask(port, wire('GET /api/thread'))).status, 200);
  staying.destroy();
  await until(async () => (await told()) === 'gone gone');
});

t.test('when a thread dies, its calls end and leave no place taken', async t => {
  const { rest, told, connect } = await openTasks(t);
  const dying = await ServingThread.start(t, { tasks: connect() });
  const polling = await RawConnection.open(dying.port);
  await polling.write(wire('GET /api/poll'));
  const sending = await RawConnection.open(dying.port);
  await sending.write(wire('POST /api/take', '', ['Content-Length: 5000000']));
  await sending.write('x'.repeat(1_000_000));
  await until(() => rest.pending === 1);
  await dying.terminate();
  await Promise.all([polling.closed(), sending.closed()]);
  await until(async () => (await told()) === 'gone');
  await until(() => rest.pending === 0);
  const { port } = await ServingThread.start(t, { tasks: connect() });
  t.equal((await ask(port, wire('POST /api/take', 'x'.repeat(5_000_000)))).body, '5000000 bytes');
});

t.test('when a REST thread dies, callers are asked to retry', async t => {
  const { connect } = await openTasks(t);
  const { port } = await ServingThread.start(t, { tasks: connect() });
  const connection = await RawConnection.open(port);
  await connection.write(wire('POST /api/never'));
  await ask(port, wire('GET /api/thread'));
  const exit = await ask(port, wire('GET /api/exit'));
  t.match(exit, { status: 503 });
  const written = await connection.response();
  t.equal(written.status, 503);
  t.match(JSON.parse(written.body), { code: 'interrupted', detail: /may have taken effect/ });
  t.equal((await ask(port, wire('GET /api/thread'))).body, '2');
});

t.test('a thread that stops answers the requests in flight, and then ends', async t => {
  const { connect, rest } = await openTasks(t);
  const thread = await ServingThread.start(t, { tasks: connect() });
  const connection = await RawConnection.open(thread.port);
  await connection.write(wire('GET /api/slow'));
  await until(() => rest.pending === 1);
  thread.post({ kind: 'drain' });
  t.equal((await ask(thread.port, wire('GET /healthcheck'))).status, 200, 'health checks are still answered');
  thread.post({ kind: 'stop' });
  const ended = thread.ended();
  t.match(await connection.response(), { status: 200, body: 'done' });
  t.equal(await ended, 0);
  await t.rejects(RawConnection.open(thread.port), { code: 'ECONNREFUSED' });
});
