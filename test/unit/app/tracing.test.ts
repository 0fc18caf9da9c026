import { globalErrorHandler } from '@opentelemetry/core';
import t from 'tap';
import { OtlpTracing } from '../../../src/app/tracing.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { ManualClock } from '../../support/manual-clock.ts';

t.test('a collector that is away is one log line in ten seconds, however many batches fail', async t => {
  const clock = new ManualClock(0);
  const logger = new KeepingLogger();
  const tracing = await OtlpTracing.open({ settings: loadSettings({}), clock, logger });
  t.teardown(() => tracing.stop());
  const fail = (times: number) => {
    for (let i = 0; i < times; i++) globalErrorHandler(new Error('connect ECONNREFUSED'));
  };
  fail(50);
  t.match(logger.lines, [
    { level: 'warning', message: 'spans could not be sent', fields: { reason: 'connect ECONNREFUSED' } },
  ]);
  clock.advance(10_000);
  fail(1);
  t.match(logger.lines, [{}, { fields: { times: 50 } }]);
});
