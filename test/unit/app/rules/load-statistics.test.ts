import t from 'tap';
import { CountedFileReads, LoadStatistics } from '../../../../src/app/rules/load-statistics.ts';
import type { RuleFile, RuleSetLoader } from '../../../../src/rules/rule-set.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const NAME = 'ratelimit.service.config_';
const DIGEST = '0123456789ab'.padEnd(64, 'c');

function loadsAt(clock: ManualClock) {
  const stats = new StatsRegistry();
  const loads = new LoadStatistics(stats, clock);
  const shown = () => {
    const gauges = stats.gauges();
    return ['last_load_successful', 'last_load_time', 'last_success_time'].map(name =>
      gauges.get(`${NAME}${name}`),
    );
  };
  return { stats, loads, shown };
}

t.test('before the first load, there is no success and no time', async t => {
  t.same(loadsAt(new ManualClock(5_000)).shown(), [0, 0, 0]);
});

t.test(
  'the digest of the active rules is a number, as far as all systems for statistics store it exactly',
  async t => {
    const { stats, loads } = loadsAt(new ManualClock(0));
    const shown = () => stats.gauges().get(`${NAME}digest`);
    t.equal(shown(), 0);
    loads.succeeded(DIGEST);
    loads.failed();
    t.equal(shown(), 0x0123456789ab);
    loads.succeeded('f'.repeat(64));
    t.equal(shown(), 2 ** 48 - 1);
  },
);

t.test('whether the last load succeeded, its time, and the time of the last success', async t => {
  const clock = new ManualClock(5_500);
  const { loads, shown, stats } = loadsAt(clock);
  loads.succeeded(DIGEST);
  t.same(shown(), [1, 5.5, 5.5]);
  clock.advance(1_000);
  loads.failed();
  t.same(shown(), [0, 6.5, 5.5]);
  clock.advance(1_000);
  loads.succeeded(DIGEST);
  t.same(shown(), [1, 7.5, 7.5]);
  t.same(
    new Map(stats.counters()),
    new Map([
      [`${NAME}load_error`, 1],
      [`${NAME}load_success`, 2],
    ]),
  );
});

t.test('reads are counted whatever becomes of the rules, and the files of the last one', async t => {
  const stats = new StatsRegistry();
  const loader: RuleSetLoader = { load: async () => ({ kind: 'dropped' }), refuse: () => {} };
  const reads = new CountedFileReads(loader, stats);
  const file = (name: string): RuleFile => ({ name, content: Buffer.from('domain: d\n') });
  const fileCount = () => stats.gauges().get('runtime.num_values');
  t.equal(fileCount(), 0);
  await reads.load([file('a.yaml'), file('b.yaml')]);
  t.equal(fileCount(), 2);
  reads.refuse(['not readable']);
  t.equal(fileCount(), 2, 'those stay active');
  await reads.load([file('a.yaml')]);
  t.equal(fileCount(), 1);
  t.same(
    new Map(stats.counters()),
    new Map([
      ['runtime.load_attempts', 3],
      ['runtime.load_failures', 1],
    ]),
  );
});
