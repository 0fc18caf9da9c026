import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { MetricsEndpoint } from '../../../../src/app/statistics/metrics-endpoint.ts';
import { openSinks } from '../../../../src/app/statistics/sinks.ts';
import { systemClock } from '../../../../src/base/clock.ts';
import type { Service } from '../../../../src/base/lifecycle.ts';
import { OutageLog } from '../../../../src/base/outage-log.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { HTTP_ENGINE } from '../../../support/http-engine.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { tcpReceiver, udpReceiver } from '../../../support/line-receivers.ts';
import { readPrometheusText } from '../../../support/prometheus-text.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';

const RULE = 'ratelimit.service.rate_limit.shop.user.over_limit';
const OFF = { USE_STATSD: 'false' };

/** The sinks of these settings, started, and statistics to send: {@link RULE} has 5. */
async function started(t: Test, env: Readonly<Record<string, string>>) {
  const stats = new StatsRegistry();
  const logger = new KeepingLogger();
  const settings = loadSettings(env);
  const sinks = await openSinks({
    settings,
    stats,
    logger,
    outages: new OutageLog({ clock: systemClock, logger }),
    httpEngine: HTTP_ENGINE,
    version: '1.2.3',
    clock: systemClock,
    random: () => 0,
  });
  const stop = async () => void (await Promise.all(sinks.map(sink => sink.stop())));
  t.teardown(stop);
  for (const sink of sinks) await sink.start();
  stats.counter(RULE).add(5);
  return { sinks, stats, logger, stop };
}

const names = (sinks: readonly Service[]) => sinks.map(sink => sink.name);

/** The page that the only endpoint among the sinks serves. */
async function scraped(sinks: readonly Service[], path = '/metrics'): Promise<Response> {
  const endpoint = sinks.find(sink => sink instanceof MetricsEndpoint) as MetricsEndpoint;
  return await fetch(`http://127.0.0.1:${endpoint.port}${path}`);
}

t.test('without settings statistics go to statsd over TCP; that nobody is there is no warning', async t => {
  const { sinks } = await started(t, {});
  t.same(names(sinks), ['statsd at localhost:8125']);
});

t.test('statsd over TCP and over UDP, with the extra tags', async t => {
  for (const [protocol, receive] of [
    ['tcp', tcpReceiver],
    ['tcp4', tcpReceiver],
    ['udp', udpReceiver],
    ['udp4', udpReceiver],
  ] as const) {
    const { port, received } = await receive(t);
    const { stop } = await started(t, {
      STATSD_HOST: '127.0.0.1',
      STATSD_PORT: String(port),
      STATSD_PROTOCOL: protocol,
      EXTRA_TAGS: 'env:prod',
    });
    await stop();
    await received.until(({ text }) => text.includes(`${RULE}.__env=prod:5|c\n`));
    t.pass(protocol);
  }
});

t.test('statistics are sent at the interval, without a stop', async t => {
  const { port, received } = await tcpReceiver(t);
  const env = { STATSD_HOST: '127.0.0.1', STATSD_PORT: String(port), STATS_FLUSH_INTERVAL: '5ms' };
  const { stats } = await started(t, env);
  await received.until(({ text }) => text.includes(`${RULE}:5|c\n`));
  stats.counter(RULE).add(2);
  await received.until(({ text }) => text.includes(`${RULE}:2|c\n`));
});

t.test('DogStatsD with mogrifiers, extra tags and the tags of the process', async t => {
  const { port, received } = await udpReceiver(t);
  const { stop } = await started(t, {
    ...OFF,
    USE_DOG_STATSD: 'true',
    STATSD_HOST: '127.0.0.1',
    STATSD_PORT: String(port),
    EXTRA_TAGS: 'zone:a',
    USE_DOG_STATSD_MOGRIFIERS: 'rules',
    DOG_STATSD_MOGRIFIER_RULES_PATTERN: 'rate_limit\\.([^.]+)\\.(.+)\\.(\\w+)$',
    DOG_STATSD_MOGRIFIER_RULES_NAME: 'rl.$3',
    DOG_STATSD_MOGRIFIER_RULES_TAGS: 'dom:$1,rule:$2',
    DD_ENTITY_ID: 'pod-1',
    DD_ENV: 'prod',
    DD_SERVICE: 'limits',
    DD_VERSION: '7',
  });
  await stop();
  const tags = 'dd.internal.entity_id:pod-1,env:prod,service:limits,version:7,zone:a,dom:shop,rule:user';
  await received.until(({ text }) => text.includes(`rl.over_limit:5|c|#${tags}\n`));
});

t.test('Prometheus at its path, with the extra tags as labels', async t => {
  const { sinks } = await started(t, {
    ...OFF,
    USE_PROMETHEUS: 'true',
    PROMETHEUS_ADDR: '127.0.0.1:0',
    PROMETHEUS_PATH: '/own',
    EXTRA_TAGS: 'env:prod',
  });
  const response = await scraped(sinks, '/own');
  t.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  const metric = 'ratelimit_service_rate_limit_over_limit';
  const samples = readPrometheusText(await response.text())
    .get(metric)
    ?.samples.get(metric);
  t.same(samples, [{ labels: { domain: 'shop', key1: 'user', env: 'prod' }, value: 5 }]);
  t.equal((await scraped(sinks, '/metrics')).status, 404);
});

t.test('the response time in milliseconds', async t => {
  const env = { USE_PROMETHEUS: 'true', PROMETHEUS_ADDR: '127.0.0.1:0', ...OFF };
  for (const [asMilliseconds, sum] of [
    ['true', 2_000],
    ['false', 2],
  ] as const) {
    const { sinks, stats } = await started(t, {
      ...env,
      PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS: asMilliseconds,
    });
    stats.timer('ratelimit_server.Check.response_time').record(2_000);
    const text = await (await scraped(sinks)).text();
    t.match(text, `ratelimit_service_response_time_seconds_sum{grpc_method="Check"} ${sum}\n`);
  }
});

t.test('Prometheus with an own mapper file', async t => {
  const path = join(tempDirectory(t), 'mapper.yaml');
  writeFileSync(
    path,
    'mappings:\n- {match: "*.service.rate_limit.*.*.*", name: "hits_$4", labels: {rule: $3}}\n',
  );
  const { sinks } = await started(t, {
    ...OFF,
    USE_PULLSTATS: 'true',
    PULLSTATS_ADDR: '127.0.0.1:0',
    PULLSTATS_MAPPER_YAML: path,
  });
  t.match(await (await scraped(sinks)).text(), 'hits_over_limit{rule="user"} 5\n');
});

for (const [how, file, expected] of [
  [
    'does not speak of tasks',
    'mappings:\n- {match: "a.*", name: "a"}\n',
    'sluice_tasks_attempts_total{outcome="timed_out"} 3\n',
  ],
  [
    'maps them by a pattern',
    'mappings:\n- {match: "tasks[.](.*)", match_type: regex, name: "own"}\n',
    '\nown 3\n',
  ],
  [
    'orders globs and maps them by one',
    'defaults: {glob_disable_ordering: true}\nmappings:\n- {match: "*.*.*", name: "own_$2"}\n',
    '\nown_attempts 3\n',
  ],
] as const) {
  t.test(`statistics of tasks where the own mapper file ${how}`, async t => {
    const path = join(tempDirectory(t), 'mapper.yaml');
    writeFileSync(path, file);
    const env = { ...OFF, USE_PULLSTATS: 'true', PULLSTATS_ADDR: '127.0.0.1:0', PULLSTATS_MAPPER_YAML: path };
    const { sinks, stats } = await started(t, env);
    stats.counter('tasks.attempts.timed_out').add(3);
    const page = await (await scraped(sinks)).text();
    t.match(page, expected);
    t.equal(page.match(/^(?!attempts_total).* 3\n/gm)?.length, 1, 'once');
  });
}

t.test('a mapper file that cannot be used stops the start, and is named with its faults', async t => {
  const directory = tempDirectory(t);
  const path = join(directory, 'mapper.yaml');
  writeFileSync(path, 'mappings:\n- {match: a.b*, name: a}\n');
  const env = { USE_PULLSTATS: 'true', PULLSTATS_MAPPER_YAML: path };
  await t.rejects(
    started(t, env),
    /PULLSTATS_MAPPER_YAML: cannot use '.*mapper\.yaml': mappings\[0\]\.match is "a\.b\*"/,
  );
  await t.rejects(started(t, { ...env, PULLSTATS_MAPPER_YAML: directory }), /EISDIR/);
});

t.test('several sinks together, each with all of it', async t => {
  const statsd = await tcpReceiver(t);
  const dogStatsd = await udpReceiver(t);
  const { sinks, stop } = await started(t, {
    STATSD_HOST: '127.0.0.1',
    STATSD_PORT: String(statsd.port),
    USE_PULLSTATS: 'true',
    PULLSTATS_ADDR: '127.0.0.1:0',
  });
  const others = await started(t, {
    ...OFF,
    USE_AGENTSTATS: 'true',
    STATSD_HOST: '127.0.0.1',
    STATSD_PORT: String(dogStatsd.port),
  });
  t.equal(sinks.length + others.sinks.length, 3);
  t.match(await (await scraped(sinks)).text(), 'ratelimit_service_rate_limit_over_limit{');
  await Promise.all([stop(), others.stop()]);
  for (const { received } of [statsd, dogStatsd])
    await received.until(({ text }) => text.includes(`${RULE}:5|c\n`));
});

t.test('without a sink statistics go to standard output; disabled they go nowhere', async t => {
  const parts = {
    stats: new StatsRegistry(),
    logger: new KeepingLogger(),
    outages: new OutageLog({ clock: systemClock, logger: new KeepingLogger() }),
    clock: systemClock,
    random: () => 0,
    httpEngine: HTTP_ENGINE,
    version: '1.2.3',
  };
  const opened = async (env: Readonly<Record<string, string>>) =>
    names(await openSinks({ ...parts, settings: loadSettings(env) }));
  t.same(await opened(OFF), ['standard output']);
  t.same(await opened({ DISABLE_STATS: 'true', USE_STATSD: 'true', USE_PULLSTATS: 'true' }), []);
  t.same(await opened({ ...OFF, USE_AGENTSTATS: 'true' }), ['DogStatsD at localhost:8125']);
  t.same(await opened({ STATSD_HOST: '::1' }), ['statsd at [::1]:8125']);
});

t.test('a mapper file that does not exist is logged, and the built-in mapping is used', async t => {
  const path = join(tempDirectory(t), 'none.yaml');
  const env = { USE_PULLSTATS: 'true', PULLSTATS_ADDR: '127.0.0.1:0', PULLSTATS_MAPPER_YAML: path };
  const { sinks, logger } = await started(t, { ...OFF, ...env });
  t.match(
    logger.lines.filter(line => line.level === 'error'),
    [{ message: /^The mapper file does not exist/, fields: { setting: 'PULLSTATS_MAPPER_YAML', path } }],
  );
  t.match(await (await scraped(sinks)).text(), 'ratelimit_service_rate_limit_over_limit{domain=');
});
