import { globalErrorHandler } from '@opentelemetry/core';
import t from 'tap';
import { OtlpTracing } from '../../../../src/app/tracing/otlp-tracing.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

t.test('a collector that is away is one log line, however many batches fail', async t => {
  const clock = new ManualClock(0);
  const logger = new KeepingLogger();
  const open = await OtlpTracing.load(loadSettings({}));
  const tracing = open({ stats: new StatsRegistry(), clock, logger });
  t.teardown(() => tracing.stop());
  for (let i = 0; i < 50; i++) {
    globalErrorHandler(new Error('connect ECONNREFUSED'));
    clock.advance(1_000);
  }
  t.match(logger.lines, [
    { level: 'warning', message: /^Spans cannot be sent/, fields: { reason: 'connect ECONNREFUSED' } },
  ]);
  t.equal(logger.lines.length, 1);
});

t.test('spans that do not fit into the queue are dropped and counted', async t => {
  const queue = 'OTEL_BSP_MAX_QUEUE_SIZE';
  process.env[queue] = '2';
  t.teardown(() => delete process.env[queue]);
  const stats = new StatsRegistry();
  const open = await OtlpTracing.load(loadSettings({}));
  const tracing = open({ stats, clock: new ManualClock(0), logger: new KeepingLogger() });
  // The first two are being sent, and two wait.
  for (let call = 0; call < 7; call++) tracing.begin('call', {}, () => '').end({}, '');
  t.equal(new Map(stats.counters()).get('ratelimit.tracing.spans_dropped'), 3);
  await tracing.stop();
});

t.test('an address that spans cannot be sent to ends the start, and its variable is named', async t => {
  const variable = 'OTEL_EXPORTER_OTLP_ENDPOINT';
  const before = process.env[variable];
  t.teardown(() => {
    if (before === undefined) delete process.env[variable];
    else process.env[variable] = before;
  });
  const open = async (protocol: string, endpoint: string) => {
    process.env[variable] = endpoint;
    const settings = loadSettings({ TRACING_EXPORTER_PROTOCOL: protocol });
    const opened = await OtlpTracing.load(settings);
    const tracing = opened({
      stats: new StatsRegistry(),
      clock: new ManualClock(0),
      logger: new KeepingLogger(),
    });
    await tracing.stop();
  };
  for (const [protocol, endpoint] of [
    ['http', 'user:hunter2 at collector'],
    ['http', 'collector:4318'],
    ['grpc', 'user:hunter2 at collector'],
  ] as const) {
    await t.rejects(open(protocol, endpoint), {
      message: /^OTEL_EXPORTER_OTLP_ENDPOINT is not a valid endpoint; use the form http:\/\/[^ ]+$/,
    });
  }
  for (const [protocol, endpoint] of [
    ['http', 'https://collector/otlp'],
    ['http', ''],
    ['grpc', 'collector:4317'],
    ['grpc', 'http://collector:4317'],
  ] as const) {
    await t.resolves(open(protocol, endpoint), `${protocol} ${endpoint}`);
  }
});
