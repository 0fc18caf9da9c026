import t from 'tap';
import type { ServingPorts, ToServingThread } from '../../../../src/app/serving/messages.ts';
import { ServingHealth } from '../../../../src/app/serving/serving-health.ts';
import { ServingListeners } from '../../../../src/app/serving/serving-listeners.ts';
import { ThreadFigures } from '../../../../src/app/serving/thread-figures.ts';
import { Health } from '../../../../src/base/health.ts';
import type { LastingThread } from '../../../../src/base/threads/lasting-thread.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const FIXED: ServingPorts = { grpc: 8081, http: null };
const ANY: ServingPorts = { grpc: 0, http: null };

/** A thread that keeps what it is sent. */
class Thread implements LastingThread<ToServingThread> {
  readonly place: number;
  readonly threadId: number;
  readonly state = 'ready';
  readonly messages: unknown[] = [];

  constructor(place: number) {
    this.place = place;
    this.threadId = place + 10;
  }

  post(message: unknown): void {
    this.messages.push(message);
  }
}

function fresh(count: number) {
  const clock = new ManualClock(0);
  const logger = new KeepingLogger();
  const health = new Health();
  const figures = ThreadFigures.create(count);
  const threads = Array.from({ length: count }, (_, place) => new Thread(place));
  const ready = new Set(threads);
  const serving = new ServingHealth(health, clock);
  const listeners = new ServingListeners(ready, figures, serving, clock, logger);
  const listens = (thread: Thread, ports = FIXED) => listeners.heard(thread, { kind: 'listening', ports });
  const ends = (thread: Thread): void => {
    ready.delete(thread);
    listeners.ended(thread);
  };
  return { clock, logger, health, figures, threads, ready, listeners, listens, ends };
}

t.test('all threads open fixed ports at the same moment', async t => {
  const { threads, listeners, listens } = fresh(2);
  const opened = listeners.open(FIXED);
  t.same(
    threads.map(({ messages }) => messages),
    [[{ kind: 'listen', ports: FIXED }], [{ kind: 'listen', ports: FIXED }]],
  );
  for (const thread of threads) listens(thread);
  t.same(await opened, FIXED);
  t.equal(listeners.count, 2);
});

t.test('one thread lets the system choose a port, and the others open the same one', async t => {
  const { threads, listeners, listens } = fresh(2);
  const opened = listeners.open(ANY);
  t.same(threads[1].messages, []);
  listens(threads[0], FIXED);
  await Promise.resolve();
  await new Promise(resolve => setImmediate(resolve));
  t.same(threads[1].messages, [{ kind: 'listen', ports: FIXED }]);
  listens(threads[1]);
  t.same(await opened, FIXED);
});

t.test('a thread that ends while the ports open does not hold up the others', async t => {
  const { threads, listeners, listens, ends } = fresh(3);
  const opened = listeners.open(ANY);
  ends(threads[0]);
  await new Promise(resolve => setImmediate(resolve));
  listens(threads[1], FIXED);
  await new Promise(resolve => setImmediate(resolve));
  ends(threads[2]);
  t.same(await opened, FIXED);
  t.equal(listeners.count, 1);
});

t.test('a thread that becomes ready while the ports open has them as well', async t => {
  const { threads, ready, listeners, listens } = fresh(2);
  ready.delete(threads[1]);
  const opened = listeners.open(FIXED);
  ready.add(threads[1]);
  const joined = listeners.join(threads[1]);
  t.same(threads[1].messages, [{ kind: 'listen', ports: FIXED }]);
  for (const thread of threads) listens(thread);
  await Promise.all([opened, joined]);
  t.equal(listeners.count, 2);
});

t.test('the start fails if all threads end, or if a port cannot be opened', async t => {
  const first = fresh(2);
  const opened = first.listeners.open(FIXED);
  for (const thread of first.threads) first.ends(thread);
  await t.rejects(opened, /the serving threads ended while they opened their ports/);

  const second = fresh(1);
  const refused = second.listeners.open(FIXED);
  second.listeners.heard(second.threads[0], { kind: 'not_listening', message: 'set GRPC_PORT' });
  await t.rejects(refused, /set GRPC_PORT/);
  t.notOk(second.listeners.areOpen);
});

t.test(
  'without a thread that listens the process is unhealthy, and a replacement tries every second',
  async t => {
    const { clock, logger, health, threads, listeners, listens, ends, ready } = fresh(1);
    const opened = listeners.open(FIXED);
    listens(threads[0]);
    await opened;
    ends(threads[0]);
    t.notOk(health.healthy);
    const next = new Thread(0);
    ready.add(next);
    const refusal = { kind: 'not_listening', message: 'the port is in use' } as const;
    for (let attempt = 1; attempt <= 3; attempt++) {
      const joining = attempt === 1 ? listeners.join(next) : null;
      t.equal(next.messages.length, attempt);
      listeners.heard(next, refusal);
      await joining;
      await new Promise(resolve => setImmediate(resolve));
      t.notOk(health.healthy);
      clock.advance(1_000);
    }
    t.equal(logger.lines.length, 1, 'the same failure is logged once');
    listens(next);
    await new Promise(resolve => setImmediate(resolve));
    t.ok(health.healthy);
    listeners.close();
  },
);

t.test(
  'if a thread has far fewer connections than its share, the others give up what they have beyond it',
  async t => {
    const { clock, figures, threads, listeners, listens } = fresh(3);
    const opened = listeners.open(FIXED);
    for (const thread of threads) listens(thread);
    await opened;
    const spreads = (): unknown[] =>
      threads.map(({ messages }) => messages.filter(each => (each as { kind: string }).kind === 'spread'));
    for (const [place, connections] of [17, 10, 3].entries())
      figures.set(place, { connections, decisions: 0, busy: 0 });
    clock.advance(2_000);
    t.same(spreads(), [[{ kind: 'spread', connections: 7 }], [], []]);
    clock.advance(60_000);
    t.same(spreads(), [[{ kind: 'spread', connections: 7 }], [], []], 'only once');
  },
);

t.test('a distribution as the kernel makes it by chance stays', async t => {
  const { clock, figures, threads, listeners, listens } = fresh(3);
  const opened = listeners.open(FIXED);
  for (const thread of threads) listens(thread);
  await opened;
  for (const [place, connections] of [14, 10, 6].entries())
    figures.set(place, { connections, decisions: 0, busy: 0 });
  clock.advance(2_000);
  t.ok(threads.every(({ messages }) => messages.length === 1));
});
