import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { tcpReceiver, udpReceiver } from '../support/line-receivers.ts';
import { readPrometheusText } from '../support/prometheus-text.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const RULES = 'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: year, requests_per_unit: 2}\n';
const ASK = { domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'x' }] }] };
const RULE = 'ratelimit.service.rate_limit.d.a';

/** Longer than any test: what arrives was sent by the stop. */
const NEVER = { STATS_FLUSH_INTERVAL: '1h' };
const OFTEN = { STATS_FLUSH_INTERVAL: '20ms' };
const NO_STATSD = { USE_PUSHSTATS: 'false' };

async function serving(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return await serviceFor(t, { rules: RULES, env });
}

async function ask(service: ServiceProcess, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await askOverHttp(service.http, ASK);
}

async function metricsAddress(service: ServiceProcess): Promise<string> {
  return String((await service.logged(line => line['name'] === 'metrics'))['address']);
}

t.test('statsd: sent at the interval, and the last of it by the stop', async t => {
  const { port, received } = await tcpReceiver(t);
  const service = await serving(t, { ...OFTEN, PUSHSTATS_HOST: '127.0.0.1', PUSHSTATS_PORT: String(port) });
  await ask(service, 3);
  await received.until(lines => lines.counted(`${RULE}.total_hits`) === 3);
  t.equal(received.counted(`${RULE}.over_limit`), 1);
  t.match(received.text, 'ratelimit.service.config_load_success:1|c\n');
  await ask(service, 4);
  t.match(await service.terminate(), { status: 0 });
  await received.until(lines => lines.counted(`${RULE}.total_hits`) === 7);
  t.equal(received.counted(`${RULE}.over_limit`), 5);
});

t.test('DogStatsD with a mogrifier', async t => {
  const { port, received } = await udpReceiver(t);
  const service = await serving(t, {
    ...NEVER,
    ...NO_STATSD,
    USE_AGENTSTATS: 'true',
    PUSHSTATS_HOST: '127.0.0.1',
    PUSHSTATS_PORT: String(port),
    AGENTSTATS_MOGRIFIERS: 'RULES',
    AGENTSTATS_MOGRIFIER_RULES_PATTERN: '^ratelimit\\.service\\.rate_limit\\.(\\w+)\\.(.+)\\.(\\w+)$',
    AGENTSTATS_MOGRIFIER_RULES_NAME: 'limits.$3',
    AGENTSTATS_MOGRIFIER_RULES_TAGS: 'domain:$1,rule:$2',
    EXTRA_TAGS: 'env:prod',
  });
  await ask(service, 3);
  await service.terminate();
  await received.until(({ text }) => text.includes('limits.over_limit:1|c|#env:prod,domain:d,rule:a\n'));
});

t.test('Prometheus', async t => {
  const host =
    '  - key: host\n    value_to_metric: true\n    rate_limit: {unit: year, requests_per_unit: 2}\n';
  const service = await serviceFor(t, {
    rules: RULES + host,
    env: {
      ...NO_STATSD,
      USE_PULLSTATS: 'true',
      PULLSTATS_ADDR: '127.0.0.1:0',
      SANITIZE_DESCRIPTOR_METRIC_DOTS: 'true',
    },
  });
  const page = async () => {
    const response = await fetch(`http://${await metricsAddress(service)}/metrics`);
    const metrics = readPrometheusText(await response.text());
    return { metrics, value: (metric: string) => metrics.get(metric)?.samples.get(metric) };
  };
  const TOTAL = 'ratelimit_service_rate_limit_total_hits';

  await t.test('what is counted is on the page at once', async t => {
    await ask(service, 3);
    const { metrics, value } = await page();
    t.same(value(TOTAL), [{ labels: { domain: 'd', key1: 'a' }, value: 3 }]);
    t.same(value('ratelimit_service_rate_limit_over_limit'), [
      { labels: { domain: 'd', key1: 'a' }, value: 1 },
    ]);
    t.same(value('ratelimit_service_config_load_success'), [{ labels: {}, value: 1 }]);
    t.equal(metrics.get('ratelimit_service_response_time_seconds')?.type, 'histogram');
  });

  await t.test('values with dots are series of their own', async t => {
    for (const value of ['foo.bar.other.org', 'foo.bar.example.com'])
      await askOverHttp(service.http, { domain: 'd', descriptors: [{ entries: [{ key: 'host', value }] }] });
    t.same((await page()).value(TOTAL), [
      { labels: { domain: 'd', key1: 'a' }, value: 3 },
      { labels: { domain: 'd', key1: 'host_foo_bar_example_com' }, value: 1 },
      { labels: { domain: 'd', key1: 'host_foo_bar_other_org' }, value: 1 },
    ]);
  });
});

t.test('Prometheus with an own path and mapper file, beside statsd', async t => {
  const mapper = join(tempDirectory(t), 'mapper.yaml');
  writeFileSync(mapper, `mappings:\n- {match: '${RULE}.*', name: rule_a, labels: {stat: $1}}\n`);
  const { port, received } = await udpReceiver(t);
  const service = await serving(t, {
    ...NEVER,
    PUSHSTATS_HOST: '127.0.0.1',
    PUSHSTATS_PORT: String(port),
    PUSHSTATS_PROTOCOL: 'udp',
    EXTRA_TAGS: 'env:prod',
    USE_PULLSTATS: 'true',
    PULLSTATS_ADDR: '127.0.0.1:0',
    PULLSTATS_PATH: '/own',
    PULLSTATS_MAPPER_YAML: mapper,
  });
  await ask(service, 3);
  const response = await fetch(`http://${await metricsAddress(service)}/own`);
  t.match(await response.text(), /rule_a\{[^}]*stat="total_hits"[^}]*\} 3\n/);
  await t.test('a stop sends what the interval has not', async () => {
    t.equal(received.text, '');
    await service.terminate();
    await received.until(({ text }) => text.includes(`${RULE}.total_hits.__env=prod:3|c\n`));
  });
});

t.test('without a sink: JSON lines on standard output', async t => {
  const service = await serving(t, { ...NO_STATSD, ...OFTEN });
  await ask(service, 1);
  const line = await service.logged(({ json }) => (json as { name?: string })?.name === `${RULE}.total_hits`);
  t.match(line, { level: 'debug', logger: 'gostats.loggingsink', msg: 'flushing counter' });
  t.same(line['json'], { name: `${RULE}.total_hits`, value: '1.000000', type: 'counter' });
});

t.test('without a sink a stop writes what the interval has not', async t => {
  const service = await serving(t, { ...NO_STATSD, ...NEVER });
  await ask(service, 1);
  await service.terminate();
  t.match(service.output, `"json":{"name":"${RULE}.total_hits","value":"1.000000","type":"counter"}`);
});

t.test('DISABLE_STATS sends nothing anywhere', async t => {
  const { port, received } = await udpReceiver(t);
  const service = await serving(t, {
    ...OFTEN,
    DISABLE_STATS: 'true',
    PUSHSTATS_HOST: '127.0.0.1',
    PUSHSTATS_PORT: String(port),
    PUSHSTATS_PROTOCOL: 'udp',
    USE_PULLSTATS: 'true',
    PULLSTATS_ADDR: '127.0.0.1:0',
  });
  await ask(service, 3);
  await service.terminate();
  t.equal(received.text, '');
  t.notMatch(service.output, 'gostats');
  t.notMatch(service.output, '"metrics"');
});

t.test('an unreachable statsd does not prevent serving, and is logged', async t => {
  const { port, close } = await tcpReceiver(t);
  await close();
  const service = await serving(t, { ...OFTEN, PUSHSTATS_HOST: '127.0.0.1', PUSHSTATS_PORT: String(port) });
  const line = await service.logged(({ receiver }) => receiver !== undefined);
  t.match(line, {
    level: 'warning',
    '@message': /^Statistics cannot be sent/,
    receiver: /^statsd at 127\.0\.0\.1:\d+$/,
    reason: /ECONNREFUSED/,
  });
  await ask(service, 1);
  t.match(await service.terminate(), { status: 0 });
});

t.test('a mapper file with a fault stops the start with its place', async t => {
  const mapper = join(tempDirectory(t), 'mapper.yaml');
  writeFileSync(mapper, 'mappings:\n- {match: a}\n');
  const started = serving(t, {
    USE_PULLSTATS: 'true',
    PULLSTATS_ADDR: '127.0.0.1:0',
    PULLSTATS_MAPPER_YAML: mapper,
  });
  await t.rejects(
    started,
    /ended with status 2.*PULLSTATS_MAPPER_YAML: cannot use .*mappings\[0\]\.name is missing/s,
  );
});
