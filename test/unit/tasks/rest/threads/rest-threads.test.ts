import { MessageChannel } from 'node:worker_threads';
import type { Test } from 'tap';
import t from 'tap';
import { type Clock, systemClock } from '../../../../../src/base/clock.ts';
import { StatsRegistry } from '../../../../../src/stats/registry.ts';
import { ThreadsStats } from '../../../../../src/stats/thread-stats.ts';
import { SIGNAL_NAMES, SignalMesh, SignalPorts, Signals } from '../../../../../src/tasks/model/signals.ts';
import type { HeldBody, RenderedResponse, RestHead } from '../../../../../src/tasks/rest/http/http.ts';
import type { ApiCall, ApiLimitVerdict } from '../../../../../src/tasks/rest/http/parts.ts';
import type { EngineLimits } from '../../../../../src/tasks/rest/threads/early-limits.ts';
import { RestThreads } from '../../../../../src/tasks/rest/threads/rest-threads.ts';
import { type SharedStore, ThreadLinks } from '../../../../../src/tasks/rest/threads/thread-links.ts';
import type { WorkerTest, WorkerTester } from '../../../../../src/tasks/scheduler/workers/worker-tests.ts';
import { each } from '../../../../support/each.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { NO_LIMITS } from '../../../../support/tasks/no-limits.ts';
import { testsOf } from '../../../../support/tests-of.ts';
import { until } from '../../../../support/until.ts';
import { WaitClock } from '../../../../support/wait-clock.ts';

const test = testsOf(open);

const FRAGILE = new URL('../../../../support/tasks/rest-thread.js', import.meta.url);

interface Options {
  readonly count?: number;
  readonly failing?: readonly number[];
  readonly bounds?: { readonly calls: number; readonly bytes: number };
  readonly limits?: EngineLimits;
  readonly tester?: WorkerTester;
  readonly store?: SharedStore | null;
  readonly clock?: Clock;
}

const UNLIMITED: EngineLimits = { active: false, ask: async () => ({ allowed: true, nearest: null }) };

async function open(t: Test, options: Options = {}) {
  const { count = 1, failing = [], limits = UNLIMITED, store = null } = options;
  const logger = new KeepingLogger();
  const stats = new StatsRegistry();
  const mesh = new SignalMesh();
  const signals = new Signals();
  const ports = new SignalPorts(signals, SIGNAL_NAMES);
  mesh.join(port => ports.connect(port));
  const answers: string[] = [];
  let lost = 0;
  let lastId = 0;
  const threads = new RestThreads({
    module: FRAGILE,
    count,
    workerData: () => ({ begun, failing }),
    tenantOf: ({ host }) => host,
    limits,
    tester: options.tester ?? { test: () => Promise.reject(new Error('not part of this test')) },
    links: new ThreadLinks({ signals: mesh, store, limitAsker: NO_LIMITS }),
    nextRequestId: () => `req_${++lastId}`,
    answered: (operation, status) => answers.push(`${operation} ${status}`),
    stats: new ThreadsStats(stats),
    lost: () => lost++,
    ...(options.bounds !== undefined && { bounds: options.bounds }),
    clock: options.clock ?? systemClock,
    random: () => 0,
    logger,
  });
  const begun = new Int32Array(new SharedArrayBuffer(4));
  t.teardown(async () => {
    await threads.stop();
    ports.close();
  });
  await threads.start();
  const gauge = () => stats.gauges().get('first_threads');
  return { threads, logger, signals, ports, answers, lost: () => lost, begun, gauge };
}

function head(path: string, host = 'acme', method = 'GET'): RestHead {
  return { method, host, path, query: '', headers: {}, remoteAddress: '192.0.2.1' };
}

interface Asked {
  readonly answer: Promise<{ readonly status: number; readonly text: string; readonly headers: object }>;
  readonly admitted: Promise<void>;
  readonly waits: Promise<void>;
  readonly call: ReturnType<RestThreads['begin']>;
}

function ask(threads: RestThreads, asked: RestHead, body: readonly Uint8Array[] | HeldBody = []): Asked {
  const answer = Promise.withResolvers<RenderedResponse>();
  const admitted = Promise.withResolvers<void>();
  const waits = Promise.withResolvers<void>();
  const call = threads.begin(asked, body, {
    admitted: admitted.resolve,
    waits: waits.resolve,
    answered: answer.resolve,
  });
  const read = ({ status, headers, body }: RenderedResponse) => ({
    status,
    headers,
    text: typeof body === 'string' ? body : Buffer.from(body).toString(),
  });
  return { answer: answer.promise.then(read), admitted: admitted.promise, waits: waits.promise, call };
}

/** A body in memory of its own, as it comes from a socket. */
function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

test('a call is answered by the thread, its body put together from its pieces', async ({ threads }, t) => {
  t.match(await ask(threads, head('/echo'), [bytes('a '), bytes('body')]).answer, {
    status: 200,
    text: 'a body',
  });
  const large = 'é'.repeat(400_000);
  t.equal((await ask(threads, head('/echo'), [bytes(large)]).answer).text, large, 'memory changes hands');
  t.equal(threads.pending, 0);
});

test('what comes in one turn is answered, however much it is', async ({ threads }, t) => {
  const texts = Array.from({ length: 1_000 }, (_, i) => `${i}`);
  const answers = await Promise.all(texts.map(text => ask(threads, head('/echo'), [bytes(text)]).answer));
  t.same(each(answers, 'text'), texts);
});

test('a large body is taken in when the thread wants it', async ({ threads }, t) => {
  const { call, admitted, answer } = ask(threads, head('/take'), { atMost: 1_000 });
  await admitted;
  call.body([bytes('x'.repeat(600)), bytes('y'.repeat(300))]);
  t.equal((await answer).text, '900 bytes');
  t.equal((await ask(threads, head('/thread'), { atMost: 1_000 }).answer).text, '1', 'not wanted');
  const left = ask(threads, head('/take'), { atMost: 1_000 });
  await left.admitted;
  left.call.gone();
  t.equal(threads.pending, 0, 'a caller that goes leaves nothing behind');
});

t.test('more calls than there are places for are refused, and one tenant does not take all', async t => {
  const { threads, answers } = await open(t, { bounds: { calls: 16, bytes: 1_000 } });
  const held = Array.from({ length: 5 }, () => ask(threads, head('/slow')));
  const refused = await ask(threads, head('/thread')).answer;
  t.match(refused, { status: 503, headers: { 'Retry-After': '1', 'X-Request-Id': 'req_1' } });
  t.match(JSON.parse(refused.text), { code: 'overloaded', detail: /Retry in a second/ });
  t.same(answers, ['unknown 503']);
  t.match(await ask(threads, head('/thread', 'globex')).answer, { status: 200 }, 'another has places');
  await Promise.all(held.map(({ answer }) => answer));
  t.match(await ask(threads, head('/thread')).answer, { status: 200 });
});

t.test('bodies are bounded together', async t => {
  const { threads } = await open(t, { bounds: { calls: 100, bytes: 1_000 } });
  const first = ask(threads, head('/slow'), [bytes('x'.repeat(400))]);
  t.match(await ask(threads, head('/echo'), [bytes('x'.repeat(400))]).answer, { status: 503 });
  const taken = ask(threads, head('/take'), { atMost: 400 });
  t.match(JSON.parse((await taken.answer).text), { code: 'overloaded' }, 'none is taken in');
  await first.answer;
  t.match(await ask(threads, head('/echo'), [bytes('x'.repeat(400))]).answer, { status: 200 });
});

for (const [how, path] of [
  ['exits', '/exit'],
  ['throws', '/throw'],
] as const) {
  t.test(`a thread that ${how} takes its own calls with it, and is replaced`, async t => {
    const { threads, logger, lost, gauge } = await open(t, { count: 2 });
    const [one, other] = await twoTenants(threads);
    t.equal(gauge(), 2);
    const read = ask(threads, head('/never', one));
    const written = ask(threads, head('/never', one, 'POST'));
    const taking = ask(threads, head('/take', one, 'POST'), { atMost: 10_000 });
    await taking.admitted;
    const elsewhere = ask(threads, head('/slow', other));
    ask(threads, head(path, one));
    const answers = await Promise.all([read, written, taking].map(({ answer }) => answer));
    for (const answer of answers) t.match(answer, { status: 503, headers: { 'Retry-After': '1' } });
    const details = answers.map(({ text }) => JSON.parse(text));
    t.match(details, [
      { code: 'interrupted', detail: /had no effect/ },
      { code: 'interrupted', detail: /may have taken effect\. .*same Idempotency-Key/ },
      { code: 'interrupted', detail: /had no effect/ },
    ]);
    // Asked for while there is no thread: it waits for the next one.
    t.match(await ask(threads, head('/thread', one)).answer, { status: 200, text: '3' });
    t.match(await elsewhere.answer, { status: 200 }, 'the other thread goes on');
    t.match(logger.lines, [{ level: 'error', message: 'REST thread ended; starting a replacement' }]);
    t.equal(lost(), 1);
    t.equal(gauge(), 1, 'its gauges go with it');
    t.equal(threads.pending, 0);
  });
}

for (const [how, path] of [
  ['runs an endless loop', '/loop'],
  ['waits and blocks its event loop', '/block'],
] as const) {
  t.test(`a thread that ${how} is terminated after eleven seconds, and replaced`, async t => {
    const clock = new WaitClock(0);
    const { threads, logger, lost } = await open(t, { clock });
    const never = ask(threads, head('/never'));
    t.equal((await ask(threads, head('/thread')).answer).text, '1');
    const written = ask(threads, head(path, 'acme', 'POST'));
    for (let second = 1; second <= 11; second++) await clock.pass(1_000);
    for (const { answer } of [never, written]) {
      const { status, text, headers } = await answer;
      t.match({ status, headers }, { status: 503, headers: { 'Retry-After': '1' } });
      t.equal(JSON.parse(text).code, 'interrupted');
    }
    t.equal((await ask(threads, head('/thread')).answer).text, '2');
    t.match(logger.lines, [
      {
        level: 'error',
        message: 'REST thread is not responding; replacing it',
        fields: {
          reason: 'its event loop is blocked',
          since: '1970-01-01T00:00:01.000Z',
          calls: 2,
        },
      },
    ]);
    t.equal(lost(), 1);
    t.equal(threads.pending, 0);
  });
}

t.test('a thread that answers is not terminated, however long a call takes', async t => {
  const clock = new WaitClock(0);
  const { threads, logger } = await open(t, { clock });
  const { call, waits } = ask(threads, head('/poll'));
  await waits;
  for (let second = 1; second <= 40; second++) {
    await clock.pass(1_000);
    t.equal((await ask(threads, head('/thread')).answer).text, '1');
  }
  t.same(logger.lines, []);
  call.gone();
  await clock.pass(1_000);
  await clock.pass(1_000);
  t.equal(clock.pending, 0, 'nothing wakes up a process without calls');
});

/** Two tenants whose calls go to different threads. */
async function twoTenants(threads: RestThreads): Promise<[string, string]> {
  await until(() => threads.ready === 2);
  const one = await ask(threads, head('/thread', 'tenant-0')).answer;
  for (let i = 1; ; i++) {
    const { text } = await ask(threads, head('/thread', `tenant-${i}`)).answer;
    if (text !== one.text) return ['tenant-0', `tenant-${i}`];
  }
}

t.test('while a thread does not start again its calls are refused at once', async t => {
  const clock = new WaitClock(0);
  const { threads, begun } = await open(t, { failing: [2], clock });
  ask(threads, head('/exit'));
  await until(() => Atomics.load(begun, 0) === 2);
  await until(async () => {
    const { status, text } = await ask(threads, head('/thread')).answer;
    return status === 503 && JSON.parse(text).detail.includes('was not processed');
  });
  await clock.pass(100);
  await until(async () => (await ask(threads, head('/thread')).answer).status === 200);
});

t.test('a thread that ends again as soon as it has started is replaced after a while', async t => {
  const clock = new WaitClock(0);
  const { threads, begun } = await open(t, { clock });
  const exit = () => ask(threads, head('/exit')).answer;
  await exit();
  await exit();
  t.equal(Atomics.load(begun, 0), 2, 'the first one that ended was replaced at once');
  await clock.pass(100);
  t.equal((await ask(threads, head('/thread')).answer).text, '3');
  await clock.pass(1_000);
  await exit();
  t.equal(
    (await ask(threads, head('/thread')).answer).text,
    '4',
    'one that has run for a while is replaced at once',
  );
});

t.test('a first thread that does not start ends the start', async t => {
  await t.rejects(open(t, { failing: [1] }), { message: /a REST thread does not start: it does not begin/ });
});

test('a waiting call takes no place, and learns when its caller disconnects', async ({ threads }, t) => {
  const { call, waits } = ask(threads, head('/poll'));
  await waits;
  t.equal(threads.pending, 0);
  call.gone();
  await until(async () => (await ask(threads, head('/told')).answer).text.endsWith('gone'));
});

test('a drain ends the calls that wait, also of threads that start later', async ({ threads }, t) => {
  const { waits, answer } = ask(threads, head('/poll'));
  await waits;
  threads.drain();
  t.equal((await answer).text, 'drained');
  await ask(threads, head('/exit')).answer;
  t.equal((await ask(threads, head('/poll')).answer).text, 'drained');
});

test('a stop lets the calls that run finish', async ({ threads, lost }, t) => {
  const running = ask(threads, head('/slow'));
  t.equal((await ask(threads, head('/thread')).answer).text, '1');
  await threads.stop();
  t.match(await running.answer, { status: 200, text: 'done' });
  t.equal(lost(), 0);
});

t.test('the decision engine is asked about calls, and a failure of it is passed on', async t => {
  const nearest = { limit: 5, remaining: 2, windowSeconds: 60, resetSeconds: 7 };
  const { threads } = await open(t, {
    limits: {
      active: true,
      ask: async ({ tenant, kind, user }) => {
        if (tenant === 'globex') throw new Error('no rules');
        return { allowed: `${kind} ${user}` === 'read u', nearest };
      },
    },
  });
  t.same(JSON.parse((await ask(threads, head('/limits')).answer).text), { allowed: true, nearest });
  t.match(await ask(threads, head('/limits', 'globex')).answer, { status: 503 });
});

t.test('tests of workers are made by the thread with the engine', async t => {
  const made: WorkerTest[] = [];
  const { threads } = await open(t, {
    tester: {
      test: async test => {
        made.push(test);
        if (test.tenant === 'globex') throw new Error('the store is away');
        return { kind: 'refused', reason: 'rate', retryAfterMs: 7 };
      },
    },
  });
  const answer = await ask(threads, head('/test')).answer;
  t.same(JSON.parse(answer.text), { kind: 'refused', reason: 'rate', retryAfterMs: 7 });
  t.same(JSON.parse((await ask(threads, head('/test', 'globex')).answer).text), 'the store is away');
  t.same(each(made, 'tenant'), ['acme', 'globex']);
});

t.test('each call is counted once, whether or not its caller is known when it is sent', async t => {
  const counted: ApiCall[] = [];
  const nearest = { limit: 5, remaining: 2, windowSeconds: 60, resetSeconds: 7 };
  const { threads } = await open(t, {
    limits: {
      active: true,
      ask: async (call): Promise<ApiLimitVerdict> => {
        counted.push(call);
        return { allowed: true, nearest };
      },
    },
  });
  const call = { ...head('/counted'), headers: { authorization: 'of u' } };
  for (let i = 0; i < 3; i++) t.match((await ask(threads, call).answer).text, /r=2;t=7/);
  const expected: ApiCall = { tenant: 'acme', kind: 'read', user: 'u' };
  t.same(counted, [expected, expected, expected]);
  await ask(threads, { ...call, headers: {} }).answer;
  t.same(counted.slice(3), [{ ...expected, user: '' }], 'a caller without a token is nobody known');
});

t.test('without rules for calls nothing is asked, and with the next rules everything', async t => {
  let asked = 0;
  const limits = {
    active: false,
    ask: async () => {
      asked++;
      return { allowed: true, nearest: null };
    },
  };
  const { threads } = await open(t, { limits });
  t.equal((await ask(threads, head('/counted')).answer).text, '{}');
  t.equal(asked, 0);
  limits.active = true;
  await ask(threads, head('/counted')).answer;
  t.equal(asked, 1);
});

t.test('signals reach every other thread once, before the answer that follows them', async t => {
  const { threads, signals, ports } = await open(t, { count: 2 });
  const [one, other] = await twoTenants(threads);
  const heard: string[] = [];
  signals.listen({ roomFor: tenant => heard.push(tenant) });
  await ask(threads, head('/tell', one)).answer;
  ports.receive();
  t.same(heard, [one], 'also one that is no REST thread');
  signals.tell('taskDue', 'somebody', 'wrk', 0);
  ports.flush();
  for (const tenant of [one, other]) {
    // Signals of two threads come over two ports, in either order.
    const { text } = await ask(threads, head('/told', tenant)).answer;
    t.match(text, new RegExp(`^(room for ${one} somebody|somebody room for ${one})$`));
  }
});

test('a replacement thread receives signals', async ({ threads, signals, ports }, t) => {
  await ask(threads, head('/exit')).answer;
  t.equal((await ask(threads, head('/told')).answer).text, '');
  signals.tell('taskDue', 'somebody', 'wrk', 0);
  ports.flush();
  t.equal((await ask(threads, head('/told')).answer).text, 'somebody');
});

t.test('each thread gets a way to the store and the port of callers, also in place of another', async t => {
  const ways: string[] = [];
  const { threads } = await open(t, {
    store: {
      addClient: client => {
        ways.push('joined');
        client.connect(new MessageChannel().port1);
        client.refused({ trouble: 'file_failed', message: 'no file' });
        return () => ways.push('left');
      },
      wanted: () => {},
    },
  });
  threads.listeningOn(8080);
  t.equal((await ask(threads, head('/told')).answer).text, 'store no file port 8080');
  await ask(threads, head('/exit')).answer;
  t.equal((await ask(threads, head('/told')).answer).text, 'store no file port 8080');
  t.same(ways, ['joined', 'left', 'joined']);
});
