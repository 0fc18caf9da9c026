import t from 'tap';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { ThreadsStats } from '../../../../src/stats/thread-stats.ts';
import { WorkerNames } from '../../../../src/tasks/model/worker-names.ts';

t.test('the first workers have names of their own, all others share one', async t => {
  const names = new WorkerNames(2);
  t.equal(names.prefixOf('acme', 'mail.v2'), 'tasks.worker.acme.mail.v2.');
  t.equal(names.prefixOf('acme', 'b'), 'tasks.worker.acme.b.');
  t.equal(names.prefixOf('other', 'other'), 'tasks.worker._other._other.');
  t.equal(names.prefixOf('acme', 'b'), 'tasks.worker.acme.b.', 'it keeps its place');
  t.notOk(names.has('globex', 'b'));
});

t.test('with a bound of 0 there are none', async t => {
  const names = new WorkerNames(0);
  t.notOk(names.isEnabled);
  t.notOk(names.has('acme', 'a'));
});

t.test('threads together have no more names than one', async t => {
  const stats = new StatsRegistry();
  const threads = new ThreadsStats(stats, new WorkerNames(1).nameHere);
  const change = (worker: string) => ({
    counters: [[`tasks.worker.acme.${worker}.failures`, 1]] as const,
    gauges: [[`tasks.worker.acme.${worker}.oldest_due`, 5]] as const,
    timers: [],
  });
  threads.add(1, change('a'));
  threads.add(2, change('b'));
  threads.add(2, change('c'));
  threads.add(1, { counters: [['tasks.worker._other._other.failures', 3]], gauges: [], timers: [] });
  threads.add(1, { counters: [['tasks.created', 1]], gauges: [], timers: [] });
  t.same(
    new Map(stats.counters()),
    new Map([
      ['tasks.created', 1],
      ['tasks.worker._other._other.failures', 5],
      ['tasks.worker.acme.a.failures', 1],
    ]),
  );
  t.same(stats.gauges(), new Map([['tasks.worker.acme.a.oldest_due', 5]]), 'ages are not added up');
});
