import { Fault } from '../../../../src/base/fault.ts';
import { Exposition } from '../../../../src/stats/sinks/prometheus/exposition.ts';
import { defaultMappings } from '../../../../src/stats/sinks/prometheus/mappings/default-mappings.ts';
import { TaskStatistics } from '../../../../src/tasks/model/task-statistics.ts';
import { readPrometheusText } from '../../../support/prometheus-text.ts';
import { ACME, answered, EngineScene, OK, type Process } from '../../../support/tasks/engine-scene.ts';
import { PULLER } from '../../../support/tasks/factories.ts';
import { testsOf } from '../../../support/tests-of.ts';

const test = testsOf(() => EngineScene.open());
const serving = testsOf(EngineScene.serving);

/** The samples of a metric, by their labels, as a scrape of this process shows them. */
function scraped({ stats, logger }: Process, clock: EngineScene['clock']) {
  const exposition = new Exposition({
    stats,
    mappings: defaultMappings('seconds'),
    tags: [],
    version: '1.2.3',
    clock,
    logger,
  });
  const page = readPrometheusText([...exposition.lines()].join(''));
  const samples = (metric: string, name = metric): Record<string, number> =>
    Object.fromEntries(
      (page.get(metric)?.samples.get(name) ?? []).map(({ labels, value }) => [
        Object.entries(labels)
          .map(pair => pair.join('='))
          .join(' '),
        value,
      ]),
    );
  return { page, samples };
}

serving('task statistics have the names of the specification', async ({ scene, process, worker }, t) => {
  const retry = { ...worker.body.retry, maxAttempts: 1 };
  const [good, bad, slow] = await scene.add(worker, 3, { retry }, { heardBy: process });
  await scene.turn();
  t.same(scraped(process, scene.clock).samples('sluice_tasks_in_flight'), { '': 3 });
  process.deliveries.answer(good, { ...OK, durationMs: 20 });
  process.deliveries.answer(bad, answered(500));
  await scene.pass(45_600, 100);
  const { page, samples } = scraped(process, scene.clock);
  t.same(samples('sluice_tasks_finished_total'), { 'status=failed': 2, 'status=succeeded': 1 });
  t.same(samples('sluice_tasks_attempts_total'), {
    'outcome=attempt_failed': 1,
    'outcome=lease_expired': 1,
    'outcome=succeeded': 1,
  });
  t.same(samples('sluice_tasks_leases_expired_total'), { '': 1 });
  process.deliveries.answer(slow);
  await scene.pass(10);
  t.same(scraped(process, scene.clock).samples('sluice_tasks_settle_rejected_total'), { '': 1 });
  t.equal(page.get('sluice_tasks_dispatch_lag_seconds')?.type, 'histogram');
  t.match(samples('sluice_tasks_attempt_duration_seconds', 'sluice_tasks_attempt_duration_seconds_bucket'), {
    'le=0.01': 0,
    'le=0.025': 2,
    'le=+Inf': 2,
  });
  t.same(samples('sluice_tasks_in_flight'), { '': 1 });
  t.match(samples('sluice_tasks_store_op_seconds', 'sluice_tasks_store_op_seconds_count'), {
    'op=settle': 2,
  });
  t.ok(samples('sluice_tasks_store_op_seconds', 'sluice_tasks_store_op_seconds_count')['op=wakeups'] > 40);
});

test('the lag is the time from when a task is due to its start', async (scene, t) => {
  const process = await scene.process(t, { slots: 1 });
  const worker = await scene.worker();
  const [first] = await scene.add(worker, 2, {}, { heardBy: process });
  await scene.pass(3_000);
  t.same(scraped(process, scene.clock).samples('sluice_tasks_oldest_due_seconds'), { '': 3 });
  process.deliveries.answer(first);
  await scene.pass(10);
  const { samples } = scraped(process, scene.clock);
  t.match(samples('sluice_tasks_dispatch_lag_seconds', 'sluice_tasks_dispatch_lag_seconds_sum'), { '': 3 });
  t.match(samples('sluice_tasks_dispatch_lag_seconds', 'sluice_tasks_dispatch_lag_seconds_count'), { '': 2 });
  t.same(samples('sluice_tasks_oldest_due_seconds'), { '': 0 });
});

test('a due task that waits for room at its worker is the oldest', async (scene, t) => {
  const process = await scene.process(t);
  const worker = await scene.worker({ concurrency: 1 });
  await scene.add(worker, 2, {}, { heardBy: process });
  await scene.pass(3_000);
  t.same(scraped(process, scene.clock).samples('sluice_tasks_oldest_due_seconds'), { '': 3 });
});

test('the number of due tasks is the last known one, and a scrape does not query the store', async (scene, t) => {
  const process = await scene.process(t);
  const worker = await scene.worker({ mode: 'pull', url: null });
  const due = () => scraped(process, scene.clock).samples('sluice_tasks_due');
  t.same(due(), { '': 0 });
  await scene.add(worker, 3);
  await scene.add(worker, 1, { runAt: scene.clock.nowMs() + 60_000 });
  await scene.pass(10_000, 1_000);
  t.same(due(), { '': 3 });
  const { countDue } = scene.store;
  scene.store.countDue = () => Promise.reject(new Fault('store_failed', 'the store is away'));
  await scene.pass(60_000, 1_000);
  t.same(due(), { '': 3 }, 'a store that is away takes nothing from it');
  scene.store.countDue = countDue;
  await scene.pass(10_000, 1_000);
  t.same(due(), { '': 4 });
});

test('failures of the store are counted, and tasks that were made', async (scene, t) => {
  const process = await scene.process(t);
  const statistics = new TaskStatistics(process.stats);
  statistics.created.add(3);
  statistics.httpRequests('create_task', 201).add(2);
  statistics.schedulesFired('skipped_overlap').add(1);
  scene.store.fault = () => 'before';
  const puller = await scene.worker({ mode: 'pull', url: null });
  const call = process.engine.pullDesk.lease({
    tenant: ACME,
    workerId: puller.id,
    max: 1,
    waitMs: 0,
    leaseMs: null,
    actor: PULLER,
    allowed: async () => {},
    gone: new AbortController().signal,
  });
  await t.rejects(call, { code: 'store_failed' });
  const { samples } = scraped(process, scene.clock);
  t.same(samples('sluice_tasks_store_errors_total'), { '': 1 });
  t.same(samples('tasks_created_total'), { '': 3 });
  t.same(samples('http_requests_total'), { 'code=201 route=create_task': 2 });
  t.same(samples('sluice_tasks_schedules_fired_total'), { 'result=skipped_overlap': 1 });
});

test('no tenant, task or worker is part of a name', async (scene, t) => {
  const process = await scene.process(t);
  process.deliveries.reply = () => OK;
  await scene.add(await scene.worker({ name: 'very-own-name' }), 3, {}, { heardBy: process });
  await scene.pass(100);
  const names = [
    ...process.stats.counterNames(),
    ...process.stats.timers().keys(),
    ...process.stats.gauges().keys(),
  ];
  t.notMatch(names.join(' '), /acme|very-own-name|tsk_|wrk_/);
});

test('lag and failures of each worker up to a bound, and of all others together', async (scene, t) => {
  const process = await scene.process(t, { workersWithStatistics: 1 });
  const first = await scene.worker();
  const second = await scene.worker({ name: 'second' });
  const third = await scene.worker({ name: 'third' });
  const retry = { ...first.body.retry, maxAttempts: 1 };
  const ids: string[] = [];
  for (const worker of [first, second, third])
    ids.push(...(await scene.add(worker, 1, { retry }, { heardBy: process })));
  await scene.turn();
  process.deliveries.answer(ids[0], answered(500));
  process.deliveries.answer(ids[1], answered(500));
  process.deliveries.answer(ids[2], OK);
  await scene.pass(10);
  const { samples } = scraped(process, scene.clock);
  const own = `tenant=${ACME} worker=${first.body.name}`;
  const others = 'tenant=_other worker=_other';
  t.same(samples('sluice_tasks_worker_failures_total'), { [own]: 1, [others]: 1 });
  const lag = 'sluice_tasks_worker_dispatch_lag_seconds';
  t.same(samples(lag, `${lag}_count`), { [own]: 1, [others]: 2 });
});

test('the oldest due task of a worker, also if nobody asks for it', async (scene, t) => {
  const process = await scene.process(t, { workersWithStatistics: 2 });
  const puller = await scene.worker({ mode: 'pull', url: null });
  const idle = await scene.worker({ name: 'idle', mode: 'pull', url: null });
  await scene.add(puller, 2, { runAt: scene.clock.nowMs() + 60_000 });
  await scene.add(idle, 1, { runAt: scene.clock.nowMs() + 3_600_000 });
  const oldest = () => scraped(process, scene.clock).samples('sluice_tasks_worker_oldest_due_seconds');
  await scene.pass(60_000, 1_000);
  const name = (worker: { readonly body: { readonly name: string } }) =>
    `tenant=${ACME} worker=${worker.body.name}`;
  await scene.pass(40_000, 1_000);
  t.match(oldest(), { [name(puller)]: 40, [name(idle)]: 0 });
  await scene.worker({ name: 'late', mode: 'pull', url: null });
  await scene.pass(60_000, 1_000);
  t.equal(Object.keys(oldest()).length, 2, 'a worker beyond the bound has none');
});
