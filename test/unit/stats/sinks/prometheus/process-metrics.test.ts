import { closeSync, openSync } from 'node:fs';
import t from 'tap';
import { StatsRegistry } from '../../../../../src/stats/registry.ts';
import { entriesOf, ProcessMetrics } from '../../../../../src/stats/sinks/prometheus/process-metrics.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { readPrometheusText } from '../../../../support/prometheus-text.ts';

const ELSEWHERE = process.platform === 'linux' ? false : 'only on Linux';

function opened() {
  const stats = new StatsRegistry();
  const metrics = new ProcessMetrics('1.2.3', stats, new ManualClock(1_700_000_000_000));
  const samples = (name: string) => readPrometheusText(metrics.lines('')).get(name)?.samples.get(name);
  const value = (name: string): number => Number(samples(name)?.[0].value);
  return { metrics, stats, samples, value };
}

t.test('the versions of the program and of Node.js', async t => {
  t.same(opened().samples('sluice_build_info'), [
    { labels: { node: process.versions.node, version: '1.2.3' }, value: 1 },
  ]);
});

t.test('open file descriptors, and how many there may be', { skip: ELSEWHERE }, async t => {
  const { metrics, value } = opened();
  await metrics.collect();
  const before = value('process_open_fds');
  t.ok(before > 0);
  t.ok(value('process_max_fds') > before);
  const files = Array.from({ length: 100 }, () => openSync('/dev/null', 'r'));
  await metrics.collect();
  for (const file of files) closeSync(file);
  // Threads of the runtime may open and close others meanwhile.
  t.ok(value('process_open_fds') >= before + 90);
});

t.test('on a system that does not tell the number of files, the metric is left out', async t => {
  t.equal(opened().samples('process_open_fds'), undefined, 'before it was read');
  t.equal(await entriesOf('/proc/no-such-folder'), null);
});

t.test('a folder whose size says nothing is listed', { skip: ELSEWHERE }, async t => {
  t.ok(Number(await entriesOf('/proc/self/task')) > 1, 'its entries are the threads');
});

t.test('memory, and the share of the time that garbage collection takes', async t => {
  const { value, stats } = opened();
  if (process.platform === 'linux') {
    t.ok(value('process_virtual_memory_bytes') > value('process_resident_memory_bytes'));
  }
  t.equal(value('go_memstats_gc_cpu_fraction'), 0);
  stats.timer('ratelimit.gc.primary.minor.duration').record(3);
  stats.timer('ratelimit.gc.primary.major.duration').record(4);
  stats.timer('ratelimit.gc.serving.major.duration').record(500_000);
  const aroundMs = performance.now();
  const fraction = value('go_memstats_gc_cpu_fraction');
  t.ok(fraction <= 7 / aroundMs && fraction >= 7 / performance.now());
});
