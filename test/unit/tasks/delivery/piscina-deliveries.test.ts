import t from 'tap';
import { type Clock, systemClock } from '../../../../src/base/clock.ts';
import { PiscinaDeliveries } from '../../../../src/tasks/delivery/piscina-deliveries.ts';
import type { DeliveringSetup } from '../../../support/delivering-thread.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { LOOPBACK_SETUP, pushTo, reply, startPushWorker, TASK } from '../../../support/push-workers.ts';
import type { Teardown } from '../../../support/temp-directory.ts';
import { until } from '../../../support/until.ts';
import { WaitClock } from '../../../support/wait-clock.ts';

const NOW = 1_767_225_600_000;
const ABORTED = { kind: 'aborted', error: { code: 'aborted' } };
const LOST = {
  kind: 'aborted',
  error: { code: 'thread_lost', message: 'the thread that made the attempt crashed' },
};

interface Options {
  readonly count?: number;
  readonly capacity?: number;
  readonly failing?: readonly number[];
  readonly clock?: Clock;
  /** Without its ending; {@link FRAGILE} unless given. */
  readonly module?: string;
}

/** Threads that the test can bring down. */
const FRAGILE = '../../../support/delivering-thread';
/** Those of the program. */
const GENUINE = '../../../../workers/deliver';

/** Delivery threads, not yet started. */
function threads(
  t: Teardown,
  { count = 1, capacity = 4, failing = [], clock = systemClock, module = FRAGILE }: Options = {},
) {
  const logger = new KeepingLogger();
  const begun = new Int32Array(new SharedArrayBuffer(4));
  const setup: DeliveringSetup = { ...LOOPBACK_SETUP, capacity, begun, failing };
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
  let lost = 0;
  const creation = {
    module: new URL(`${module}.${extension}`, import.meta.url),
    count,
    lost: () => lost++,
    clock,
    random: () => 0,
    logger,
  };
  const deliveries = new PiscinaDeliveries(creation, setup);
  t.teardown(() => deliveries.stop());
  return { deliveries, logger, begun, lost: () => lost };
}

t.test('attempts are made by threads, and their outcomes come back whole', async t => {
  const worker = await startPushWorker(
    t,
    reply(200, { 'content-type': 'application/json' }, '{"done":true}'),
  );
  const { deliveries } = threads(t);
  await deliveries.start();
  const outcome = await deliveries.deliver(
    pushTo(worker.url(), { secretHeaders: { authorization: 'Bearer a' } }),
  );
  t.match(outcome, {
    kind: 'answered',
    status: 200,
    http: { status: 200, response: '{"done":true}', truncated: false },
    result: '{"done":true}',
    retryAfterMs: null,
    noRetry: false,
    error: null,
  });
  t.match(Object.fromEntries(worker.requests[0].fields), {
    authorization: 'Bearer a',
    'webhook-id': TASK.id,
    'task-max-attempts': '12',
  });
  t.match(await deliveries.deliver(pushTo('http://10.0.0.1/')), { error: { code: 'forbidden_address' } });
});

t.test('the threads of the program are such threads', async t => {
  const worker = await startPushWorker(t, reply(204));
  const { deliveries } = threads(t, { module: GENUINE });
  await deliveries.start();
  t.match(await deliveries.deliver(pushTo(worker.url('/tasks', 'localhost'))), {
    kind: 'answered',
    status: 204,
  });
});

t.test('attempts go to the thread that has the fewest, up to the capacity', async t => {
  const worker = await startPushWorker(t, () => {});
  const { deliveries } = threads(t, { count: 2, capacity: 4 });
  t.same([deliveries.free, deliveries.capacity], [0, 4], 'before the start');
  await deliveries.start();
  await until(() => deliveries.ready === 2);
  t.equal(deliveries.free, 4);
  const outcomes = Array.from({ length: 4 }, () => deliveries.deliver(pushTo(worker.url())));
  t.equal(deliveries.free, 0);
  t.match(await deliveries.deliver(pushTo(worker.url())), ABORTED, 'one too many is not begun');
  await worker.received(4);
  for (const socket of worker.sockets) reply(200)(socket);
  for (const outcome of await Promise.all(outcomes)) t.equal(outcome.status, 200);
  t.equal(deliveries.free, 4);
});

t.test('an abort reaches the thread, also right after the attempt was asked for', async t => {
  const worker = await startPushWorker(t, () => {});
  const { deliveries } = threads(t);
  await deliveries.start();
  const early = deliveries.deliver(pushTo(worker.url()));
  deliveries.abort('acme', TASK.id);
  t.match(await early, ABORTED);
  const outcome = deliveries.deliver(pushTo(worker.url(), { tenant: 'other' }));
  await until(() => worker.open === 1 && worker.requests.length > 0);
  deliveries.abort('acme', TASK.id);
  deliveries.abort('other', TASK.id);
  t.match(await outcome, ABORTED);
  await worker.openAre(0);
});

for (const [how, host] of [
  ['ends', 'exit.example.com'],
  ['has a defect', 'throw.example.com'],
] as const) {
  t.test(`a thread that ${how} is replaced, and its attempts are told`, async t => {
    const worker = await startPushWorker(t, () => {});
    const { deliveries, logger, lost, begun } = threads(t);
    await deliveries.start();
    const outcomes = [deliveries.deliver(pushTo(worker.url()))];
    await worker.received(1);
    outcomes.push(deliveries.deliver(pushTo(`https://${host}/`)));
    t.match(await Promise.all(outcomes), [LOST, LOST]);
    await worker.openAre(0);
    await until(() => deliveries.free === 4);
    worker.answer = reply(200);
    t.match(await deliveries.deliver(pushTo(worker.url())), { status: 200 });
    t.equal(lost(), 1);
    t.equal(begun[0], 2);
    t.match(logger.lines, [
      { level: 'error', message: 'Delivery thread ended; starting a replacement', fields: { attempts: 2 } },
    ]);
  });
}

t.test('a thread that does not respond is replaced, and its attempts are reported', async t => {
  const clock = new WaitClock(NOW);
  const worker = await startPushWorker(t, reply(200));
  const { deliveries, logger, lost } = threads(t, { clock });
  await deliveries.start();
  // The thread counts as started.
  await clock.pass(1_000);
  const outcome = deliveries.deliver(pushTo('https://stuck.example.com/'));
  for (let second = 1; second <= 11; second++) await clock.pass(1_000);
  t.match(await outcome, LOST);
  await until(() => deliveries.free === 4);
  t.match(await deliveries.deliver(pushTo(worker.url())), { status: 200 });
  t.equal(lost(), 1);
  t.match(logger.lines, [
    {
      level: 'error',
      message: 'Delivery thread is not responding; replacing it',
      fields: { attempts: 1 },
    },
  ]);
});

t.test('the other threads go on when one ends', async t => {
  const worker = await startPushWorker(t, () => {});
  const { deliveries } = threads(t, { count: 2 });
  await deliveries.start();
  await until(() => deliveries.ready === 2);
  const kept = deliveries.deliver(pushTo(worker.url()));
  await worker.received(1);
  t.match(await deliveries.deliver(pushTo('https://exit.example.com/')), LOST);
  reply(200)(worker.sockets[0]);
  t.match(await kept, { status: 200 });
});

t.test('a thread that does not begin again is tried after a wait', async t => {
  const clock = new WaitClock(NOW);
  const worker = await startPushWorker(t, reply(200));
  const { deliveries, begun } = threads(t, { failing: [2, 3], clock });
  await deliveries.start();
  t.match(await deliveries.deliver(pushTo('https://exit.example.com/')), LOST);
  await clock.pass(100);
  await clock.pass(100);
  await until(() => deliveries.free === 4);
  t.equal(begun[0], 4);
  t.match(await deliveries.deliver(pushTo(worker.url())), { status: 200 });
});

t.test('a start fails when the threads do not begin, and leaves nothing', async t => {
  const { deliveries } = threads(t, { failing: [1, 2, 3] });
  await t.rejects(deliveries.start(), { message: 'a delivery thread does not start: it does not begin' });
  t.equal(deliveries.free, 0);
});

t.test('a stop ends attempts in progress, and closes the connections', async t => {
  const worker = await startPushWorker(t, () => {});
  const { deliveries, logger, lost } = threads(t, { count: 2 });
  await deliveries.start();
  await until(() => deliveries.ready === 2);
  const outcomes = Array.from({ length: 4 }, () => deliveries.deliver(pushTo(worker.url())));
  await worker.received(4);
  await deliveries.stop();
  for (const outcome of await Promise.all(outcomes)) t.match(outcome, ABORTED);
  await worker.openAre(0);
  t.equal(deliveries.free, 0);
  t.match(await deliveries.deliver(pushTo(worker.url())), ABORTED);
  await deliveries.stop();
  t.equal(lost(), 0);
  t.same(logger.lines, []);
});

t.test('a stop does not wait for a thread that is stuck', async t => {
  const clock = new WaitClock(NOW);
  const { deliveries } = threads(t, { clock });
  await deliveries.start();
  const outcome = deliveries.deliver(pushTo('https://stuck.example.com/'));
  const stopped = deliveries.stop();
  await clock.pass(2_000);
  await stopped;
  t.match(await outcome, ABORTED);
});

t.test('a stop before the start, and while it starts', async t => {
  const { deliveries } = threads(t);
  await deliveries.stop();
  const starting = deliveries.start();
  const stopping = deliveries.stop();
  await t.rejects(starting, { message: 'the delivery threads are stopped' });
  await stopping;
  t.equal(deliveries.free, 0);
});
