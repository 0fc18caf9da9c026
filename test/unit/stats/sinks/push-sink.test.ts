import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { Test } from 'tap';
import t from 'tap';
import type { Clock } from '../../../../src/base/clock.ts';
import type { Logger } from '../../../../src/base/logger.ts';
import { Outage, OutageLog } from '../../../../src/base/outage-log.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { jsonLines, type LineFormat, statsdLines } from '../../../../src/stats/sinks/line-formats.ts';
import { type LineOutput, StreamOutput } from '../../../../src/stats/sinks/line-output.ts';
import { LAST_FLUSH_MS, PushSink } from '../../../../src/stats/sinks/push-sink.ts';
import { TcpOutput } from '../../../../src/stats/sinks/tcp-output.ts';
import { UdpOutput } from '../../../../src/stats/sinks/udp-output.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ReceivedLines, tcpReceiver, udpReceiver } from '../../../support/line-receivers.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { until } from '../../../support/until.ts';

const INTERVAL_MS = 10_000;

function outageOf(clock: Clock, logger: Logger): Outage {
  const texts = { level: 'warning', began: 'unavailable', over: 'available again', fields: {} } as const;
  return new Outage(texts, new OutageLog({ clock, logger }), clock);
}

/** A sink, with a counter `c`. */
function sinkTo(
  output: LineOutput,
  clock: ManualClock,
  stats = new StatsRegistry(),
  format: LineFormat = statsdLines([]),
) {
  const logger = new KeepingLogger();
  const sink = new PushSink({
    stats,
    format,
    output,
    intervalMs: INTERVAL_MS,
    failedFlushes: stats.counter('failed'),
    lostLines: stats.counter('lost'),
    outage: outageOf(clock, logger),
    clock,
  });
  return { sink, stats, logger, counter: stats.counter('c') };
}

/** The same, started, and stopped at the end of the test. */
async function started(t: Test, ...parts: Parameters<typeof sinkTo>) {
  const made = sinkTo(...parts);
  t.teardown(() => {
    parts[0].close();
    return made.sink.stop();
  });
  await made.sink.start();
  return made;
}

/** A sink over TCP that has started, and its receiver. */
async function overTcp(t: Test, stats = new StatsRegistry(), receiver = {}) {
  const clock = new ManualClock(0);
  const server = await tcpReceiver(t, receiver);
  const output = tcpOutput(server.port, clock);
  return { ...(await started(t, output, clock, stats)), clock, server, output };
}

/** Statistics with more lines than a connection takes at once. */
function many(): StatsRegistry {
  const stats = new StatsRegistry();
  stats.addSource({
    *totals() {
      for (let number = 0; number < 150_000; number++) yield [`source.with.a.long.name.number.${number}`, 1];
    },
  });
  return stats;
}

const total = (stats: StatsRegistry, name: string): number =>
  [...stats.counters()].find(([each]) => each === name)?.[1] ?? 0;

function tcpOutput(port: number, clock: ManualClock): TcpOutput {
  return new TcpOutput({ name: 'statsd', host: '127.0.0.1', port, family: 0, clock, random: () => 0 });
}

/** Resolves once the output can send, with a clock that moves from timer to timer. */
async function reconnected(output: TcpOutput, clock: ManualClock): Promise<void> {
  for (;;) {
    try {
      return await output.ready();
    } catch {
      await new Promise(resolve => setImmediate(resolve));
      clock.advance(clock.pendingDelaysMs[0] ?? 0);
    }
  }
}

/** Moves the clock until the condition holds: what runs in between is real. */
async function advanceUntil(clock: ManualClock, isThere: () => boolean): Promise<void> {
  while (!isThere()) {
    clock.advance(INTERVAL_MS);
    await new Promise(resolve => setImmediate(resolve));
  }
}

t.test('TCP: each interval sends what was added, over one connection', async t => {
  const { counter, clock, server, output } = await overTcp(t);
  await output.ready();
  counter.add(3);
  clock.advance(INTERVAL_MS);
  await server.received.until(({ text }) => text === 'c:3|c\n');
  counter.add(2);
  clock.advance(INTERVAL_MS);
  await server.received.until(({ text }) => text === 'c:3|c\nc:2|c\n');
  t.equal(server.sockets.size, 1);
});

t.test('a flush sends what other threads have counted as well', async t => {
  const stats = new StatsRegistry();
  stats.onCollect(async () => stats.counter('fetched').add(1));
  const { sink, clock, server, output } = await overTcp(t, stats);
  await output.ready();
  clock.advance(INTERVAL_MS);
  await server.received.until(({ text }) => text === 'fetched:1|c\n');
  await sink.stop();
  await server.received.until(({ text }) => text === 'fetched:1|c\nfetched:1|c\n');
});

t.test('a stop sends what was added since the last flush, and closes the connection', async t => {
  const { sink, counter, clock, server } = await overTcp(t);
  counter.add(3);
  await sink.stop();
  await server.received.until(({ text }) => text === 'c:3|c\n');
  t.equal(clock.pending, 0, 'no timer is left');
});

t.test('while the receiver is unavailable nothing is lost: the next flush sends everything', async t => {
  const { counter, stats, logger, clock, server: first, output } = await overTcp(t);
  await output.ready();
  counter.add(1);
  clock.advance(INTERVAL_MS);
  await first.received.until(received => received.counted('c') === 1);
  await first.close();
  // What is sent before the end of the connection is noticed is lost: that is TCP.
  while (
    await output.ready().then(
      () => true,
      () => false,
    )
  )
    await new Promise(resolve => setImmediate(resolve));
  counter.add(10);
  await advanceUntil(clock, () => logger.messages('warning').length > 0);
  t.equal(logger.messages('warning')[0], 'unavailable');
  counter.add(100);
  const second = await tcpReceiver(t, { port: first.port });
  await reconnected(output, clock);
  clock.advance(INTERVAL_MS);
  await second.received.until(received => received.counted('c') > 0);
  t.equal(second.received.counted('c'), 110);
  await advanceUntil(clock, () => logger.messages('warning').length > 1);
  t.same(logger.messages('warning'), ['unavailable', 'available again'], 'logged once');
  t.ok(total(stats, 'failed') >= 1);
  t.equal(total(stats, 'lost'), 0);
});

t.test('attempts to connect become rarer, up to 30 s', async t => {
  const clock = new ManualClock(0);
  const server = await tcpReceiver(t);
  await server.close();
  const output = new TcpOutput({
    name: 'statsd',
    host: '127.0.0.1',
    port: server.port,
    family: 4,
    clock,
    random: () => 1,
  });
  t.teardown(() => output.close());
  output.open();
  const waits: number[] = [];
  while (waits.length < 8) {
    await t.rejects(output.ready(), /ECONNREFUSED/);
    // The connection reports `close` a moment after the failure.
    await until(() => clock.pending !== 0);
    waits.push(clock.pendingDelaysMs[0]);
    clock.advance(clock.pendingDelaysMs[0]);
  }
  t.same(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
});

t.test(
  'the connection to a receiver that does not read is closed; what it did not get is sent later',
  async t => {
    const { logger, stats, clock, output } = await overTcp(t, many(), { reads: false });
    await output.ready();
    await advanceUntil(clock, () => logger.messages('warning').length > 0);
    t.match(logger.lines[0], { message: 'unavailable', fields: { reason: 'it accepted no data for 5 s' } });
    const lost = total(stats, 'lost');
    t.ok(lost > 0 && lost < 1_000, `at most a piece is lost: ${lost} lines`);
    t.equal(total(stats, 'failed'), 1);
  },
);

t.test(
  'a stop does not wait for a receiver that does not read: the flush it cuts off is no failure',
  async t => {
    const { sink, clock, output, stats, logger } = await overTcp(t, many(), { reads: false });
    await output.ready();
    const stopped = sink.stop();
    clock.advance(LAST_FLUSH_MS);
    await stopped;
    await until(() => clock.pending <= 0);
    for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve));
    t.equal(total(stats, 'failed'), 0);
    t.same(logger.lines, []);
  },
);

t.test('a stop without a start, and a second one, are harmless', async t => {
  const clock = new ManualClock(0);
  const { sink } = sinkTo(tcpOutput(1, clock), clock);
  await sink.stop();
  await sink.stop();
  await sink.start();
  t.equal(clock.pending, 0);
});

t.test('UDP: packets of whole lines that fit a network, to the address of the host', async t => {
  const clock = new ManualClock(0);
  const receiver = await udpReceiver(t);
  const stats = new StatsRegistry();
  for (let number = 0; number < 1_000; number++) stats.counter(`counter.${number}.é`).add(number + 1);
  const output = new UdpOutput({ name: 'statsd', host: 'localhost', port: receiver.port, family: 4 });
  const { sink } = await started(t, output, clock, stats);
  await sink.stop();
  await receiver.received.until(({ lines }) => lines.length === 1_000);
  t.equal(receiver.received.counted('counter.999.é'), 1_000);
  t.ok(
    receiver.packets.every(size => size <= 1_432),
    'no packet is larger',
  );
  t.ok(receiver.packets.length < 30, 'many lines share one');
});

t.test('UDP: a host without an address is logged, and counters wait', async t => {
  const clock = new ManualClock(0);
  const output = new UdpOutput({ name: 'statsd', host: 'no-such-host.invalid', port: 8125, family: 0 });
  const { counter, logger, stats } = await started(t, output, clock);
  counter.add(1);
  clock.advance(INTERVAL_MS);
  await until(() => logger.lines.length !== 0);
  t.match(logger.lines[0], { message: 'unavailable', fields: { reason: /no-such-host\.invalid/ } });
  t.equal(total(stats, 'lost'), 0);
});

t.test('a stream gets JSON lines, and a stream whose reader has closed it ends nothing', async t => {
  const clock = new ManualClock(0);
  const stream = new PassThrough();
  const received = new ReceivedLines();
  stream.setEncoding('utf8').on('data', text => received.take(text));
  const output = new StreamOutput('standard output', stream);
  const { stats, logger, sink } = await started(t, output, clock, new StatsRegistry(), jsonLines([], clock));
  stats.counter('c').add(1);
  clock.advance(INTERVAL_MS);
  await received.until(({ lines }) => lines.length === 2);
  t.match(
    received.lines.map(line => JSON.parse(line).json),
    [{ name: 'c', value: '1.000000', type: 'counter' }, { type: 'all stats' }],
  );
  stream.destroy();
  await once(stream, 'close');
  stats.counter('c').add(1);
  await advanceUntil(clock, () => logger.lines.length > 0);
  t.same(logger.messages('warning'), ['unavailable']);
  await sink.stop();
});

t.test('a stream that nobody reads holds up neither the others nor a stop', async t => {
  const clock = new ManualClock(0);
  const stream = new PassThrough({ highWaterMark: 1 });
  const { sink, counter } = await started(t, new StreamOutput('standard output', stream), clock);
  // The first write is held by the stream itself, and waits for its reader from then on.
  for (let flush = 0; flush < 3; flush++) {
    counter.add(1);
    clock.advance(INTERVAL_MS);
    await new Promise(resolve => setImmediate(resolve));
  }
  const stopped = sink.stop();
  clock.advance(LAST_FLUSH_MS);
  await stopped;
  t.pass('it has stopped');
});
