import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { getPage, statistic } from '../support/asking.ts';
import { type Metric, readPrometheusText } from '../support/prometheus-text.ts';
import { reply, startPushWorker } from '../support/push-workers.ts';
import { repositoryRoot } from '../support/repository.ts';
import { writeRules } from '../support/rule-files.ts';
import type { ServiceProcess } from '../support/service.ts';
import { askForAccount, newTenant, outerAddress, startTasksService } from '../support/tasks/tasks-service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

// Decisions and tasks are one product: the limits of the interface are rules, its statistics are on the same page, and
// it stops with the rest.

/** Metrics of specification 3.14, and their labels. They have a prefix, and the names of the specification for one version. */
const METRICS: Readonly<Record<string, readonly string[]>> = {
  tasks_created_total: [],
  tasks_finished_total: ['status'],
  attempts_total: ['outcome'],
  dispatch_lag_seconds: [],
  attempt_duration_seconds: [],
  tasks_in_flight: [],
  tasks_due: [],
  oldest_due_seconds: [],
  leases_expired_total: [],
  settle_rejected_total: [],
  schedules_fired_total: ['result'],
  store_op_seconds: ['op'],
  store_errors_total: [],
  http_requests_total: ['code', 'route'],
};

function shipped(name: string): string {
  return readFileSync(join(repositoryRoot(), 'ops/quickstart/config', name), 'utf8');
}

/** Rules for calls of the tasks API by which the tenant `acme` may write once a year. */
function strictRules(more: string): string {
  return `${shipped('sluice_api.yaml')}
  - key: tenant
    value: acme
    descriptors:
      - key: method
        value: write
        ${more}rate_limit:
          unit: year
          requests_per_unit: 1
`;
}

async function metricsOf(service: ServiceProcess): Promise<ReadonlyMap<string, Metric>> {
  const line = await service.logged(each => each['name'] === 'metrics');
  const { text } = await getPage(String(line['address']), '/metrics');
  return readPrometheusText(text);
}

/** The value of the first sample with these labels; undefined where there is none. */
function sampleOf(
  metrics: ReadonlyMap<string, Metric>,
  name: string,
  labels: Readonly<Record<string, string>> = {},
  sample = name,
): number | undefined {
  return metrics
    .get(name)
    ?.samples.get(sample)
    ?.find(each => Object.entries(labels).every(([label, value]) => each.labels[label] === value))?.value;
}

t.test('decisions and tasks are one product', async t => {
  const root = writeRules(tempDirectory(t), {
    'config/demo.yaml': shipped('demo.yaml'),
    'config/sluice_api.yaml': shipped('sluice_api.yaml'),
  });
  const service = await startTasksService(t, {
    HOST: '0.0.0.0',
    RUNTIME_ROOT: root,
    DISABLE_STATS: 'false',
    USE_STATSD: 'false',
    USE_PULLSTATS: 'true',
    PULLSTATS_ADDR: '127.0.0.1:0',
    TASKS_DRAIN_TIMEOUT: '10m',
  });
  const local = { http: `127.0.0.1:${service.http.split(':')[1]}` };
  const acme = await newTenant(local);

  await t.test(
    'accounts are made from this machine only',
    { skip: outerAddress() === '127.0.0.1' },
    async t => {
      const outer = { http: `${outerAddress()}:${service.http.split(':')[1]}` };
      t.match(await askForAccount(outer, 'far'), { status: 401, json: { code: 'authentication_required' } });
    },
  );

  await t.test('metrics of a run are on the page of Prometheus', async t => {
    const worker = await startPushWorker(t, reply(200));
    await acme.make('workers', { name: 'mailer', url: worker.url() });
    await acme.make('workers', { name: 'puller', mode: 'pull' });
    const { id } = await acme.make('tasks', { worker: 'mailer' });
    await acme.taskIn(id, 'succeeded');
    worker.answer = reply(500, { 'task-no-retry': 'true' });
    await acme.taskIn((await acme.make('tasks', { worker: 'mailer' })).id, 'failed');
    const canceled = await acme.make('tasks', { worker: 'puller' });
    await acme.ask(`PUT /tasks/${canceled.id}`, { status: 'canceled' });
    await acme.make('schedules', { name: 'often', worker: 'puller', cron: '* * * * * *', task: {} });
    await until(async () => (await acme.ask('GET /schedules/often')).json.fired > 0);
    await acme.ask('PUT /schedules/often', { paused: true });
    t.equal((await acme.ask('GET /tasks/tsk_none')).status, 404);

    // REST threads and the engine report once a second. The last event of each is reported with all before it.
    let metrics = await metricsOf(service);
    while (
      sampleOf(metrics, 'sluice_tasks_http_requests_total', { route: 'readTask', code: '404' }) ===
        undefined ||
      sampleOf(metrics, 'sluice_tasks_schedules_fired_total') === undefined
    ) {
      metrics = await metricsOf(service);
    }
    for (const [name, labels] of Object.entries(METRICS)) {
      const metric = metrics.get(name);
      t.ok(metric, name);
      const [first] = metric?.samples.values().next().value ?? [];
      const found = Object.keys(first?.labels ?? {}).filter(label => label !== 'le');
      t.same(found.sort(), labels, `labels of ${name}`);
      t.ok(
        metrics.has(`sluice_${name.startsWith('tasks_') ? '' : 'tasks_'}${name}`),
        `${name} with a prefix`,
      );
    }
    t.ok(Number(sampleOf(metrics, 'sluice_tasks_created_total')) >= 4, 'by callers and by the schedule');
    for (const [status, count] of Object.entries({ succeeded: 1, failed: 1, canceled: 1 })) {
      t.equal(sampleOf(metrics, 'sluice_tasks_finished_total', { status }), count, status);
    }
    t.equal(sampleOf(metrics, 'sluice_tasks_attempts_total', { outcome: 'succeeded' }), 1);
    t.equal(
      sampleOf(metrics, 'sluice_tasks_dispatch_lag_seconds', {}, 'sluice_tasks_dispatch_lag_seconds_count'),
      2,
    );
    t.equal(
      sampleOf(
        metrics,
        'sluice_tasks_attempt_duration_seconds',
        {},
        'sluice_tasks_attempt_duration_seconds_count',
      ),
      2,
    );
    t.equal(sampleOf(metrics, 'sluice_tasks_in_flight'), 0);
    t.equal(sampleOf(metrics, 'sluice_tasks_http_requests_total', { route: 'createTask', code: '201' }), 3);
    t.ok(
      sampleOf(
        metrics,
        'sluice_tasks_store_op_seconds',
        { op: 'create' },
        'sluice_tasks_store_op_seconds_count',
      ),
    );
    t.ok(metrics.has('ratelimit_service_rate_limit_total_hits'), 'beside those of decisions');
    const mailer = { tenant: 'acme', worker: 'mailer' };
    t.equal(sampleOf(metrics, 'sluice_tasks_worker_failures_total', mailer), 1);
    const workerLag = 'sluice_tasks_worker_dispatch_lag_seconds';
    t.equal(sampleOf(metrics, workerLag, mailer, `${workerLag}_count`), 2);
    const delay = 'sluice_event_loop_delay_seconds';
    for (const thread of ['tasks_rest', 'tasks_engine'])
      t.ok(Number(sampleOf(metrics, delay, { thread }, `${delay}_count`)) > 0, thread);
    t.notMatch([...metrics.keys()].join(' '), /acme/, 'no tenant is in a name');
  });

  /** Edits the rules, and waits until they are in force, which `shown` of `/rlconfig` tells. */
  const edit = async (rules: string, shown: RegExp) => {
    writeRules(root, { 'config/sluice_api.yaml': rules });
    await until(async () => shown.test((await getPage(service.debug, '/rlconfig')).text));
  };

  await t.test('limits of calls come from the rules, which may be edited', async t => {
    const { headers } = await acme.ask('GET /workers');
    t.match(headers, {
      // Of the two limits the one that is nearer to its end, which depends on the second.
      'ratelimit-policy': /^"default";q=(2000;w=1|24000;w=60)$/,
      ratelimit: /^"default";r=\d+;t=\d+$/,
    });
    t.match(
      (await acme.ask('POST /tasks', { worker: 'puller' })).headers['ratelimit-policy'],
      /;q=(1000;w=1|12000;w=60)$/,
    );

    const shown = 'sluice_api\\.tenant_acme\\.method_write: unit=YEAR requests_per_unit=1';
    await edit(strictRules(''), new RegExp(`^${shown}, shadow_mode: false`, 'm'));
    const first = await acme.ask('POST /tasks', { worker: 'puller' });
    t.match(first, {
      status: 201,
      headers: { ratelimit: /;r=0;t=\d+$/, 'ratelimit-policy': /;q=1;w=31536000$/ },
    });
    const second = await acme.ask('POST /tasks', { worker: 'puller' });
    t.match(second, { status: 429, json: { code: 'rate_limited' } });
    const wait = Number(second.headers['retry-after']);
    t.ok(wait >= 1 && wait <= 31_536_000, `Retry-After: ${wait}`);
    t.match(second.headers['content-type'], /^application\/problem\+json/);
    t.equal((await acme.ask('GET /workers')).status, 200, 'reads go on');
    const other = await newTenant(local, 'other');
    for (let call = 0; call < 2; call++) {
      t.match(await other.ask('POST /workers', { name: `w${call}`, mode: 'pull' }), { status: 201 });
    }

    await edit(strictRules('shadow_mode: true\n        '), new RegExp(`^${shown}, shadow_mode: true`, 'm'));
    t.equal(
      (await acme.ask('POST /tasks', { worker: 'puller' })).status,
      201,
      'in shadow mode all is let through',
    );
    const { text } = await getPage(service.debug, '/stats');
    const name = 'ratelimit.service.rate_limit.sluice_api.tenant_acme.method_write';
    t.match(text, new RegExp(`^${name}\\.over_limit: 2$`, 'm'), 'and counted as with any rule');
    t.match(text, new RegExp(`^${name}\\.shadow_mode: 1$`, 'm'));
  });

  await t.test('calls that wait for tasks are answered when the service stops', async t => {
    await acme.make('workers', { name: 'idle', mode: 'pull' });
    const claims = () => statistic(service.debug, 'tasks.store_op.claim.count');
    const before = await claims();
    const polls = [1, 2, 3].map(() => acme.ask('POST /workers/idle/leases', { wait: '30s' }));
    // Each asks the store before it waits.
    await until(async () => (await claims()) >= before + polls.length);
    const end = await service.terminate();
    t.match(end, { status: 0, signal: null });
    for (const poll of await Promise.all(polls)) t.match(poll, { status: 200, json: { leases: [] } });
    t.ok(end.elapsedMs < 10_000, `${Math.round(end.elapsedMs)} ms, of the 30 s that they would have waited`);
  });
});
