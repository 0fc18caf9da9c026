import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { askOverGrpc, askOverHttp, dialled } from '../support/asking.ts';
import { Authority } from '../support/certificates.ts';
import { descriptor, request } from '../support/decisions.ts';
import { everythingSelected, type Panel, readDashboard, type Target } from '../support/grafana-dashboard.ts';
import { GrpcClient } from '../support/grpc-client.ts';
import {
  type PrometheusServer,
  type Series,
  startPrometheus,
  WITHOUT_PROMETHEUS,
} from '../support/prometheus-server.ts';
import { reply, startPushWorker } from '../support/push-workers.ts';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, startService } from '../support/service.ts';
import { newTenant, type Tenant, tasksEnv } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';
import { opsText } from '../unit/ops/ops-files.ts';

// Four processes, one for each STORE_FAILURE_MODE, that a real Prometheus scrapes. What the alerts and the dashboard ask
// for must be there after real traffic, and the alerts about the store and the rules must hold in real failures.

const RULES = `
domain: shop
descriptors:
  - key: user
    rate_limit: {unit: day, requests_per_unit: 5}
  - key: trial
    shadow_mode: true
    rate_limit: {unit: day, requests_per_unit: 1}
  - key: job
    holder: id
    rate_limit: {unit: day, requests_per_unit: 1000000000, reserve: {for: 1s}}
`;
const MODES = ['error', 'allow', 'deny', 'local'] as const;

/** Longest wait until all queries have data. */
const PATIENCE_MS = 60_000;
/** Between rounds of requests and of questions, so that the services have the CPU. */
const PACE_MS = 100;
/** What Grafana computes for `$__rate_interval` is four times the interval of scrapes; a busy machine scrapes late. */
const WINDOW = '20s';

interface Scene {
  readonly services: readonly ServiceProcess[];
  readonly prometheus: PrometheusServer;
  readonly clients: readonly GrpcClient[];
  readonly tenant: Tenant;
}

/** The expression of an alert. */
function expressionOf(alert: string): string {
  const rules = parse(opsText('prometheus/alerts.yaml')).groups.flatMap(
    (group: { rules: object[] }) => group.rules,
  );
  return rules.find((rule: { alert: string }) => rule.alert === alert).expr;
}

async function metricsAddress(service: ServiceProcess): Promise<string> {
  const line = await service.logged(each => each['name'] === 'metrics');
  return String(line['address']);
}

/** Waits until an expression finds exactly these instances. */
async function untilInstances(
  prometheus: PrometheusServer,
  expr: string,
  instances: string[],
): Promise<void> {
  const wanted = [...instances].sort().join();
  await until(async () => {
    const found = new Set((await prometheus.now(expr)).map(({ labels }) => labels['instance']));
    return [...found].sort().join() === wanted;
  });
}

/** Sends decisions of all kinds, and tasks, until the signal. Failures are part of it. */
async function traffic({ services, clients, tenant }: Scene, signal: AbortSignal): Promise<void> {
  for (let round = 0; !signal.aborted; round++) {
    const user = request('shop', `user=${round % 10}`);
    const asked = clients.flatMap(client => [
      askOverGrpc(client, user),
      askOverGrpc(client, request('shop', 'trial=x')),
      askOverGrpc(client, request('', 'user=x')),
      askOverGrpc(client, request('shop', descriptor(`job=x,id=lost-${round}`, { hitsAddend: 5 }))),
      settled(client, round),
    ]);
    const json = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: String(round % 10) }] }] };
    const overHttp = services.flatMap(({ http }) => [askOverHttp(http, json), askOverHttp(http, {})]);
    const tasks = ['good', 'bad'].map(worker => tenant.ask('POST /tasks', { worker }));
    await Promise.allSettled([...asked, ...overHttp, ...tasks]);
    await pause(PACE_MS);
  }
}

/** Holds hits, and settles more of them. */
async function settled(client: GrpcClient, round: number): Promise<void> {
  for (const hitsAddend of [5, 7])
    await askOverGrpc(client, request('shop', descriptor(`job=x,id=${round}`, { hitsAddend })));
}

async function startScene(
  t: Test,
  redisPort: number,
): Promise<Scene & { readonly fixRules: () => Promise<void> }> {
  const common = {
    RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': RULES }),
    RUNTIME_APPDIRECTORY: 'config',
    RUNTIME_WATCH_ROOT: 'false',
    KVCACHE_URL: `127.0.0.1:${redisPort}`,
    DISABLE_STATS: 'false',
    USE_STATSD: 'false',
    USE_PULLSTATS: 'true',
    PULLSTATS_ADDR: '127.0.0.1:0',
  };
  const faulty = writeRules(tempDirectory(t), { 'config/rules.yaml': RULES.replace('day', 'fortnight') });
  const { certificate, key } = new Authority('operations').issue({
    subject: 'localhost',
    names: ['localhost'],
  });
  const tls = tempDirectory(t);
  writeFileSync(join(tls, 'tls.crt'), certificate);
  writeFileSync(join(tls, 'tls.key'), key);
  const more: Record<(typeof MODES)[number], Record<string, string>> = {
    error: tasksEnv(t, { ...common, SERVE_THREADS: '2' }),
    allow: { ...common, SERVE_THREADS: '1', WORKER_THREADS: '1' },
    deny: common,
    local: {
      ...common,
      RUNTIME_ROOT: faulty,
      GRPC_SERVER_USE_TLS: 'true',
      GRPC_SERVER_TLS_CERT: join(tls, 'tls.crt'),
      GRPC_SERVER_TLS_KEY: join(tls, 'tls.key'),
    },
  };
  const starting = MODES.map(mode => {
    const env = { ...more[mode], STORE_FAILURE_MODE: mode };
    return startService({ env, ...(mode === 'local' && { fronts: [] }) });
  });
  t.teardown(() => Promise.all(starting.map(async service => (await service).terminate())));
  const services = await Promise.all(starting);
  const prometheus = await startPrometheus(t, 'some-name', await Promise.all(services.map(metricsAddress)));
  const clients = services.slice(0, 3).map(({ grpc }) => new GrpcClient(dialled(grpc)));
  t.teardown(() => {
    for (const client of clients) client.close();
  });
  const [good, bad] = [await startPushWorker(t, reply(200)), await startPushWorker(t, reply(500))];
  const tenant = await newTenant(services[0]);
  await tenant.make('workers', { name: 'good', url: good.url() });
  await tenant.make('workers', { name: 'bad', url: bad.url() });
  await tenant.make('schedules', { name: 'often', worker: 'good', cron: '* * * * * *', task: {} });
  const fixRules = async () => {
    writeRules(join(faulty), { 'config/rules.yaml': RULES });
    await services[3].listening(['http', 'grpc', 'debug'], PATIENCE_MS);
  };
  return { services, prometheus, clients, tenant, fixRules };
}

t.test('what alerts and the dashboard ask for', { skip: WITHOUT_PROMETHEUS }, async t => {
  const redis = await redisFor(t);
  const scene = await startScene(t, redis.port);
  const { prometheus, services } = scene;
  const instances = await Promise.all(services.map(metricsAddress));

  await t.test('rules that are faulty at the start are an alert until they are loaded', async () => {
    await untilInstances(prometheus, expressionOf('SluiceRulesNotLoaded'), [instances[3]]);
    await scene.fixRules();
    await untilInstances(prometheus, expressionOf('SluiceRulesNotLoaded'), []);
  });

  const done = new AbortController();
  const sent = traffic(scene, done.signal);
  t.teardown(async () => {
    done.abort();
    await sent;
  });

  await t.test('a store that fails is an alert in every STORE_FAILURE_MODE', async () => {
    const calls = 'sum by (instance) (sluice_store_call_duration_seconds_count{outcome="ok"}) > 0';
    await untilInstances(prometheus, calls, instances);
    await untilInstances(prometheus, expressionOf('SluiceStoreErrors'), []);
    await redis.kill();
    await untilInstances(prometheus, expressionOf('SluiceStoreErrors'), instances);
    await redis.restart();
  });

  await t.test('alerts use metrics that the service has', async t => {
    const names = new Set(
      opsText('prometheus/alerts.yaml').match(/\b(?:ratelimit|sluice|process)_\w+(?=[{[ )])/g),
    );
    t.ok(names.size > 20);
    const missing = new Set(names);
    const endMs = Date.now() + PATIENCE_MS;
    while (missing.size > 0 && Date.now() < endMs) {
      for (const name of missing) if ((await prometheus.now(name)).length > 0) missing.delete(name);
      await pause(PACE_MS);
    }
    t.same([...missing], []);
  });

  await t.test('each query of the dashboard returns data, with the labels of its legend', async t => {
    const dashboard = readDashboard();
    const interpolate = await everythingSelected(prometheus, dashboard, WINDOW);
    const ask = ({ expr, instant }: Target): Promise<Series[]> =>
      instant ? prometheus.now(interpolate(expr)) : prometheus.recently(interpolate(expr), 20);
    const queries = dashboard.panels.flatMap(({ title, targets = [] }: Panel) =>
      targets.map(target => ({ title, target })),
    );
    let without = queries;
    const endMs = Date.now() + PATIENCE_MS;
    while (without.length > 0 && Date.now() < endMs) {
      const asked = without.map(async ({ target }) => hasData(target, await ask(target)));
      const answers = await Promise.all(asked);
      without = without.filter((_, index) => !answers[index]);
      await pause(PACE_MS);
    }
    t.same(
      without.map(({ title, target }) => `${title}: ${interpolate(target.expr)}`),
      [],
    );
    for (const { expr } of dashboard.annotations.list) await prometheus.recently(interpolate(expr), 5);
  });
});

/** True if a curve or a number would be drawn, and its legend would have no empty label. */
function hasData({ legendFormat }: Target, series: readonly Series[]): boolean {
  const labels = [...legendFormat.matchAll(/{{(\w+)}}/g)].map(([, label]) => label);
  return series.some(
    ({ labels: found, values }) =>
      values.some(Number.isFinite) && labels.every(label => (found[label] ?? '') !== '' || label === 'key2'),
  );
}
