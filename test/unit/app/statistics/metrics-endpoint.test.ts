import { once } from 'node:events';
import { connect } from 'node:net';
import t, { type Test } from 'tap';
import { MetricsEndpoint } from '../../../../src/app/statistics/metrics-endpoint.ts';
import { PAUSE, StatsRegistry } from '../../../../src/stats/registry.ts';
import { Exposition } from '../../../../src/stats/sinks/prometheus/exposition.ts';
import { defaultMappings } from '../../../../src/stats/sinks/prometheus/mappings/default-mappings.ts';
import { HTTP_ENGINE } from '../../../support/http-engine.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { tcpReceiver } from '../../../support/line-receivers.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { until } from '../../../support/until.ts';

function endpoint(t: Test, { port = 0, stats = new StatsRegistry() } = {}) {
  const clock = new ManualClock(0);
  const logger = new KeepingLogger();
  const exposition = new Exposition({
    stats,
    mappings: defaultMappings('seconds'),
    tags: [],
    version: '1.2.3',
    clock,
    logger,
  });
  const made = new MetricsEndpoint({
    host: '127.0.0.1',
    port,
    path: '/metrics',
    exposition,
    engine: HTTP_ENGINE,
    clock,
    logger,
  });
  t.teardown(() => made.stop());
  const get = (init: RequestInit = {}) => fetch(`http://127.0.0.1:${made.port}/metrics`, init);
  return { made, clock, logger, get };
}

t.test('the page is for GET and HEAD', async t => {
  const { made, get, logger } = endpoint(t);
  await made.start();
  t.match(logger.lines, [
    {
      message: 'Metrics server listening',
      fields: { name: 'metrics', address: `127.0.0.1:${made.port}`, path: '/metrics' },
    },
  ]);
  t.match(await (await get()).text(), '# TYPE process_start_time_seconds gauge\n');
  t.equal(await (await get({ method: 'HEAD' })).text(), '');
  t.equal((await get({ method: 'POST' })).status, 405);
});

t.test('a port in use is logged once, and opened when it is free', async t => {
  const other = await tcpReceiver(t);
  const { made, clock, logger, get } = endpoint(t, { port: other.port });
  await made.start();
  t.match(logger.lines, [
    {
      message: 'Metrics port could not be opened; retrying',
      fields: {
        error: /^cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\): .*set PULLSTATS_ADDR to a free port/,
        retry_in: '5s',
      },
    },
  ]);
  clock.advance(5_000);
  await until(() => clock.pending > 0);
  await other.close();
  clock.advance(5_000);
  await until(() => made.port > 0);
  t.equal((await get()).status, 200);
  t.equal(logger.messages('error').length, 1);
  t.same(logger.messages('info'), ['Metrics server listening']);
});

t.test('a stop ends the attempts', async t => {
  const other = await tcpReceiver(t);
  const { made, clock } = endpoint(t, { port: other.port });
  await made.start();
  await made.stop();
  t.equal(clock.pending, 0);
  await made.start();
  t.equal(made.port, 0, 'nothing starts after it');
});

t.test('a scrape includes what other threads have counted', async t => {
  const stats = new StatsRegistry();
  stats.onCollect(async () => stats.counter('ratelimit.fetched').add(1));
  const { made, get } = endpoint(t, { stats });
  await made.start();
  t.match(await (await get()).text(), '\nratelimit_fetched 1\n');
});

t.test('the number of concurrent scrapes is limited, and a disconnected reader makes room', async t => {
  const stats = new StatsRegistry();
  let isHeld = true;
  stats.addSource({
    *totals() {
      while (isHeld) yield PAUSE;
      yield ['a', 1];
    },
  });
  const { made, get } = endpoint(t, { stats });
  await made.start();
  const readers = [1, 2].map(() => connect(made.port, '127.0.0.1'));
  for (const reader of readers) reader.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n');
  // The head of a page is sent when its making has begun.
  for (const reader of readers) await once(reader, 'data');
  const third = await get();
  t.equal(third.status, 503);
  t.match(await third.text(), '2 scrapes are already in progress');
  readers[0].destroy();
  isHeld = false;
  await once(readers[1], 'data');
  t.equal((await get()).status, 200);
  readers[1].destroy();
});
