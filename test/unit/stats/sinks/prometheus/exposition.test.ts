import t from 'tap';
import { PAUSE, StatsRegistry } from '../../../../../src/stats/registry.ts';
import type { Tag } from '../../../../../src/stats/sinks/line-formats.ts';
import { Exposition } from '../../../../../src/stats/sinks/prometheus/exposition.ts';
import {
  type Mapping,
  type Mappings,
  PLAIN_MAPPING,
} from '../../../../../src/stats/sinks/prometheus/mapping.ts';
import { defaultMappings } from '../../../../../src/stats/sinks/prometheus/mappings/default-mappings.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { readPrometheusText, type Sample } from '../../../../support/prometheus-text.ts';
import { promtoolSays, WITHOUT_PROMTOOL } from '../../../../support/promtool.ts';

const RULE = 'ratelimit.service.rate_limit';

function exposed(
  stats: StatsRegistry,
  mappings: Mappings = defaultMappings('seconds'),
  tags: readonly Tag[] = [],
) {
  const clock = new ManualClock(1_700_000_000_000);
  const logger = new KeepingLogger();
  const exposition = new Exposition({ stats, mappings, tags, version: '1.2.3', clock, logger });
  const text = () => [...exposition.lines()].join('');
  /** The samples of a metric, as `a=1 b=2` to the value. */
  const samples = (metric: string, name = metric) =>
    Object.fromEntries((readPrometheusText(text()).get(metric)?.samples.get(name) ?? []).map(shown));
  return { text, samples, clock, logger, exposition };
}

function shown({ labels, value }: Sample): [string, number] {
  return [
    Object.entries(labels)
      .map(pair => pair.join('='))
      .join(' '),
    value,
  ];
}

function counting(totals: Readonly<Record<string, number>>): StatsRegistry {
  const stats = new StatsRegistry();
  for (const [name, total] of Object.entries(totals)) stats.counter(name).add(total);
  return stats;
}

function mapped(mapping: Pick<Mapping, 'match' | 'name'> & Partial<Mapping>): Mappings {
  return { list: [{ ...PLAIN_MAPPING, ...mapping }], globOrder: 'first' };
}

/** A group's number or name, in the braces that text behind it makes necessary. */
const braced = (group: string | number) => `$\{${group}}`;

const glob = (text: string) => ({ glob: text.split('.') });

t.test('statistics of rules of one and of two levels, by domain and keys', async t => {
  const stats = ['total_hits', 'within_limit', 'near_limit', 'over_limit', 'shadow_mode'];
  for (const [at, stat] of stats.entries()) {
    const { samples } = exposed(
      counting({ [`${RULE}.shop.user.${stat}`]: at + 1, [`${RULE}.shop.path_/a.method_GET.${stat}`]: 10 }),
    );
    t.same(samples(`ratelimit_service_rate_limit_${stat}`), {
      'domain=shop key1=user': at + 1,
      'domain=shop key1=path_/a key2=method_GET': 10,
    });
  }
});

t.test('they are counters', async t => {
  const page = readPrometheusText(exposed(counting({ [`${RULE}.shop.user.total_hits`]: 1 })).text());
  t.match(page.get('ratelimit_service_rate_limit_total_hits'), { type: 'counter', help: /^\S/ });
});

t.test('a rule with more levels is summed into its first two', async t => {
  const { samples } = exposed(
    counting({
      [`${RULE}.d.a.b.over_limit`]: 1,
      [`${RULE}.d.a.b.c.over_limit`]: 10,
      [`${RULE}.d.a.b.c.d.e.over_limit`]: 100,
      [`${RULE}.d.a.x.over_limit`]: 1_000,
    }),
  );
  t.same(samples('ratelimit_service_rate_limit_over_limit'), {
    'domain=d key1=a key2=b': 111,
    'domain=d key1=a key2=x': 1_000,
  });
});

t.test('hits of leases have metrics of their own, and are no further hits of the rule', async t => {
  const { samples } = exposed(
    counting({
      [`${RULE}.d.a.total_hits`]: 5,
      [`${RULE}.d.a.held.total_hits`]: 4,
      [`${RULE}.d.a.expired.total_hits`]: 3,
      [`${RULE}.d.a.b.total_hits`]: 7,
      [`${RULE}.d.a.b.held.total_hits`]: 6,
      [`${RULE}.d.a.b.c.held.total_hits`]: 60,
      [`${RULE}.d.a.b.overdrawn.total_hits`]: 2,
      [`${RULE}.d.a.b.settled.total_hits`]: 8,
      [`${RULE}.d.held.total_hits`]: 9,
    }),
  );
  t.same(samples('ratelimit_service_rate_limit_total_hits'), {
    'domain=d key1=a': 5,
    'domain=d key1=a key2=b': 7,
    'domain=d key1=held': 9,
  });
  t.same(samples('sluice_lease_held_hits_total'), { 'domain=d key1=a': 4, 'domain=d key1=a key2=b': 66 });
  t.same(samples('sluice_lease_settled_hits_total'), { 'domain=d key1=a key2=b': 8 });
  t.same(samples('sluice_lease_expired_hits_total'), { 'domain=d key1=a': 3 });
  t.same(samples('sluice_lease_overdrawn_hits_total'), { 'domain=d key1=a key2=b': 2 });
});

t.test('hits that the local cache refuses have metrics of their own, and are counted once', async t => {
  const { samples } = exposed(
    counting({
      [`${RULE}.d.a.over_limit_with_local_cache`]: 1,
      [`${RULE}.d.a.b.over_limit`]: 7,
      [`${RULE}.d.a.b.over_limit_with_local_cache`]: 2,
    }),
  );
  t.same(samples('ratelimit_service_rate_limit_over_limit'), { 'domain=d key1=a key2=b': 7 });
  t.same(samples('ratelimit_service_rate_limit_d_a_over_limit_with_local_cache'), { '': 1 });
  t.same(samples('ratelimit_service_rate_limit_d_a_b_over_limit_with_local_cache'), { '': 2 });
});

t.test('statistics of the service', async t => {
  const { samples } = exposed(
    counting({
      'ratelimit.service.call.should_rate_limit.redis_error': 3,
      'ratelimit_server.ShouldRateLimit.total_requests': 4,
      'ratelimit.service.config_load_success': 5,
      'ratelimit.service.config_load_error': 0,
      'ratelimit.service.global_shadow_mode': 6,
    }),
  );
  t.same(samples('ratelimit_service_should_rate_limit_error'), { 'err_type=redis_error': 3 });
  t.same(samples('ratelimit_service_total_requests'), { 'grpc_method=ShouldRateLimit': 4 });
  t.same(samples('ratelimit_service_config_load_success'), { '': 5 });
  t.same(samples('ratelimit_service_config_load_error'), { '': 0 }, 'also before the first');
  t.same(samples('ratelimit_service_global_shadow_mode'), { '': 6 }, 'unmapped');
});

t.test('figures of serving threads, by thread', async t => {
  const stats = counting({ 'ratelimit.service.serving_threads_lost': 1 });
  for (const thread of [0, 1]) {
    const name = `ratelimit.service.serving_thread.${thread}`;
    stats.gauge(`${name}.connections`, () => 10 + thread);
    stats.gauge(`${name}.decisions`, () => 20 + thread);
    stats.gauge(`${name}.busy_percent`, () => 30 + thread);
  }
  const { samples, text } = exposed(stats);
  const metric = 'sluice_serving_thread';
  t.same(samples(`${metric}_connections`), { 'thread=0': 10, 'thread=1': 11 });
  t.same(samples(`${metric}_decisions_total`), { 'thread=0': 20, 'thread=1': 21 });
  t.same(samples(`${metric}_busy_ratio`), { 'thread=0': 0.3, 'thread=1': 0.31 });
  t.same(samples(`${metric}s_lost_total`), { '': 1 });
  t.equal(readPrometheusText(text()).get(`${metric}_decisions_total`)?.type, 'counter');
  t.match(readPrometheusText(text()).get(`${metric}_connections`), { type: 'gauge', help: /^\S/ });
});

t.test('a metric with a new name is also shown under its old name, with its old type', async t => {
  const stats = counting({ 'tasks.attempts.timed_out': 3, 'ratelimit.stats.statsd.lost_lines': 4 });
  stats.gauge('ratelimit.memory_store.evicted', () => 5);
  stats.timer('tasks.dispatch_lag').record(2_000);
  const { samples, text } = exposed(stats);
  const page = readPrometheusText(text());
  for (const metric of ['sluice_tasks_attempts_total', 'attempts_total'])
    t.same(samples(metric), { 'outcome=timed_out': 3 }, metric);
  t.same(samples('sluice_stats_lost_lines_total'), { 'sink=statsd': 4 });
  t.match(samples('ratelimit_stats_statsd_lost_lines'), { 'sink=statsd': 4 });
  t.match(page.get('sluice_embedded_store_evicted_total'), { type: 'counter' });
  t.match(page.get('ratelimit_memory_store_evicted'), {
    type: 'gauge',
    help: 'Deprecated: use sluice_embedded_store_evicted_total.',
  });
  for (const metric of ['sluice_tasks_dispatch_lag_seconds', 'dispatch_lag_seconds'])
    t.same(samples(metric, `${metric}_sum`), { '': 2 }, metric);
});

t.test('the response time is a histogram in seconds, exact at its bounds', async t => {
  const stats = new StatsRegistry();
  const timer = stats.timer('ratelimit_server.ShouldRateLimit.response_time');
  for (const ms of [0.1, 5, 5.1, 25, 10_000, 20_000]) timer.record(ms);
  const { samples, text } = exposed(stats);
  const metric = 'ratelimit_service_response_time_seconds';
  const method = 'grpc_method=ShouldRateLimit';
  t.equal(readPrometheusText(text()).get(metric)?.type, 'histogram');
  const buckets = samples(metric, `${metric}_bucket`);
  const bounds = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
  ];
  const counts = [1, 1, 1, 1, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5];
  t.same(buckets, {
    ...Object.fromEntries(bounds.map((bound, at) => [`${method} le=${bound}`, counts[at]])),
    [`${method} le=+Inf`]: 6,
  });
  t.same(samples(metric, `${metric}_sum`), { [method]: 30.0352 });
  t.same(samples(metric, `${metric}_count`), { [method]: 6 });
});

t.test('in milliseconds the same buckets are a thousand times as large', async t => {
  const stats = new StatsRegistry();
  for (const ms of [5, 300]) stats.timer('ratelimit_server.Check.response_time').record(ms);
  const { samples } = exposed(stats, defaultMappings('milliseconds'));
  const metric = 'ratelimit_service_response_time_seconds';
  const buckets = samples(metric, `${metric}_bucket`);
  t.match(buckets, {
    'grpc_method=Check le=0.1': 0,
    'grpc_method=Check le=5': 1,
    'grpc_method=Check le=500': 2,
  });
  t.same(samples(metric, `${metric}_sum`), { 'grpc_method=Check': 305 });
});

t.test('what is not mapped has its name, and timers quantiles', async t => {
  const stats = new StatsRegistry();
  stats.gauge('ratelimit.redis_pool.cx-active', () => 3);
  stats.gauge('9.lives', () => 9);
  for (let i = 0; i < 100; i++) stats.timer('some.timer').record(1);
  stats.timer('idle.timer');
  const { samples, text } = exposed(stats);
  t.same(samples('ratelimit_redis_pool_cx_active'), { '': 3 });
  t.same(samples('_9_lives'), { '': 9 });
  t.match(readPrometheusText(text()).get('_9_lives')?.help, /^\S/);
  t.same(samples('some_timer'), { 'quantile=0.5': 1, 'quantile=0.9': 1, 'quantile=0.99': 1 });
  t.same(samples('some_timer', 'some_timer_count'), { '': 100 });
  t.same(samples('idle_timer')['quantile=0.5'], Number.NaN);
});

t.test('extra tags are labels of everything, and change no mapping', async t => {
  const stats = counting({ [`${RULE}.d.a.total_hits`]: 1, other: 2 });
  const tags = [
    ['my-zone', 'eu.1'],
    ['domain', 'taken'],
  ] as const;
  const { samples } = exposed(stats, defaultMappings('seconds'), tags);
  t.same(samples('ratelimit_service_rate_limit_total_hits'), { 'domain=d key1=a my_zone=eu.1': 1 });
  t.same(samples('other'), { 'domain=taken my_zone=eu.1': 2 });
  t.match(samples('process_resident_memory_bytes'), { 'domain=taken my_zone=eu.1': Number });
  t.same(samples('sluice_build_info'), {
    [`domain=taken my_zone=eu.1 node=${process.versions.node} version=1.2.3`]: 1,
  });
});

t.test('values of requests stay values', async t => {
  const { samples } = exposed(counting({ [`${RULE}.d.a_"x\\y{}é\u0001.total_hits`]: 1 }));
  t.same(samples('ratelimit_service_rate_limit_total_hits'), { 'domain=d key1=a_"x\\y{}é\u0001': 1 });
});

t.test('an own mapping: labels, scale, help, drop', async t => {
  const stats = counting({ 'a.x.hits': 2, 'b.y.hits': 3, dropped: 4 });
  const list = [
    {
      ...PLAIN_MAPPING,
      match: glob('a.*.hits'),
      name: `${braced(1)}_hits`,
      labels: [['l1', '$1-$2-$$']] as const,
      scale: 0.5,
    },
    {
      ...PLAIN_MAPPING,
      match: { pattern: /b\.(?<key>\w)/ },
      name: 'b_hits',
      labels: [['l1', braced('key')]] as const,
      help: 'a\nb',
    },
    { ...PLAIN_MAPPING, match: glob('dropped'), name: 'n', action: 'drop' as const },
  ];
  const { samples, text } = exposed(stats, { list, globOrder: 'first' });
  t.same(samples('x_hits'), { 'l1=x--$': 1 });
  t.same(samples('b_hits'), { 'l1=y': 3 });
  t.match(text(), '# HELP b_hits a\\nb\n');
  t.notMatch(text(), 'dropped');
});

t.test(
  'of several globs that match the first applies, or the one with text where others have a star',
  async t => {
    const list = [
      { ...PLAIN_MAPPING, match: { pattern: /./ }, name: 'pattern' },
      { ...PLAIN_MAPPING, match: glob('a.*.*'), name: 'first' },
      { ...PLAIN_MAPPING, match: glob('*.b.c'), name: 'second' },
      { ...PLAIN_MAPPING, match: glob('a.b.*'), name: 'third' },
    ];
    t.same(exposed(counting({ 'a.b.c': 1 }), { list, globOrder: 'first' }).samples('first'), { '': 1 });
    t.same(exposed(counting({ 'a.b.c': 1 }), { list, globOrder: 'most specific' }).samples('third'), {
      '': 1,
    });
    t.same(exposed(counting({ 'a.b.c.d': 1 }), { list, globOrder: 'first' }).samples('pattern'), { '': 1 });
  },
);

t.test('a mapping may be for one kind of statistic only', async t => {
  const stats = counting({ 'a.b': 1 });
  stats.gauge('a.c', () => 2);
  const { samples } = exposed(stats, mapped({ match: glob('a.*'), name: 'only', kind: 'gauge' }));
  t.same(samples('only'), { '': 2 });
  t.same(samples('a_b'), { '': 1 });
});

t.test('a tag wins over a label where the mapping honours labels', async t => {
  const mapping = { match: glob('a'), name: 'a', labels: [['zone', 'mapped']] as const };
  const tags = [['zone', 'tag']] as const;
  t.same(exposed(counting({ a: 1 }), mapped(mapping), tags).samples('a'), { 'zone=mapped': 1 });
  t.same(exposed(counting({ a: 1 }), mapped({ ...mapping, honorLabels: true }), tags).samples('a'), {
    'zone=tag': 1,
  });
});

t.test('statistics of two kinds under one metric: the first is shown, the conflict logged once', async t => {
  const stats = counting({ 'a.counter': 1 });
  stats.gauge('a.gauge', () => 2);
  const { samples, logger } = exposed(stats, mapped({ match: glob('a.*'), name: 'a' }));
  t.same(samples('a'), { '': 2 });
  t.same(samples('a'), { '': 2 });
  t.match(logger.lines, [{ level: 'warning', message: /different kinds/, fields: { metric: 'a' } }]);
  t.equal(logger.lines.length, 1);
});

t.test('timers of one metric and labels are one', async t => {
  const stats = new StatsRegistry();
  stats.timer('a.x').record(1);
  stats.timer('a.y').record(3);
  const observer = { type: 'histogram', buckets: [2] } as const;
  const { samples } = exposed(stats, mapped({ match: glob('a.*'), name: 'a', observer }));
  t.same(samples('a', 'a_bucket'), { 'le=2': 1, 'le=+Inf': 2 });
  t.same(samples('a', 'a_sum'), { '': 4 });
});

t.test('a series that has not changed for its time to live is left out until it does', async t => {
  const stats = counting({ 'a.x': 1, 'a.y': 1 });
  const { samples, clock } = exposed(
    stats,
    mapped({ match: glob('a.*'), name: 'a', labels: [['key', '$1']], ttlMs: 60_000 }),
  );
  t.same(samples('a'), { 'key=x': 1, 'key=y': 1 });
  clock.advance(60_000);
  t.same(samples('a'), { 'key=x': 1, 'key=y': 1 });
  stats.counter('a.x').add(1);
  clock.advance(1);
  t.same(samples('a'), { 'key=x': 2 });
  stats.counter('a.y').add(1);
  t.same(samples('a'), { 'key=x': 2, 'key=y': 2 });
});

t.test('names that come in any order are grouped by metric, and others may run while they are', async t => {
  const stats = new StatsRegistry();
  const rules = 3_000;
  stats.addSource({
    *totals() {
      for (let rule = 0; rule < rules; rule++) {
        if (rule % 512 === 0) yield PAUSE;
        for (const stat of ['total_hits', 'over_limit']) yield [`${RULE}.d.key_${rule}.${stat}`, rule + 1];
      }
    },
  });
  const { exposition } = exposed(stats);
  const pieces = [...exposition.lines()];
  t.ok(
    pieces.filter(piece => piece === '').length > (2 * 2 * rules) / 256,
    'pauses in both halves of the work',
  );
  const metrics = readPrometheusText(pieces.join(''));
  for (const stat of ['total_hits', 'over_limit']) {
    const metric = `ratelimit_service_rate_limit_${stat}`;
    const samples = metrics.get(metric)?.samples.get(metric) ?? [];
    t.equal(samples.length, rules);
    t.same(samples[rules - 1], { labels: { domain: 'd', key1: `key_${rules - 1}` }, value: rules });
  }
});

t.test('the parser of Prometheus agrees', { skip: WITHOUT_PROMTOOL }, async t => {
  const stats = counting({
    [`${RULE}.d.a_"x\\y{}é.total_hits`]: 1,
    [`${RULE}.d.a.b.c.over_limit`]: 2 ** 60,
    'odd name: 1': 1,
  });
  stats.gauge('g', () => 0.1);
  stats.timer('t').record(3);
  stats.timer('ratelimit_server.Check.response_time').record(3);
  const { text } = exposed(stats, defaultMappings('seconds'), [['zone', 'a']]);
  t.same(promtoolSays(text()), []);
});

t.test('an empty level of a rule is an empty label', async t => {
  const { samples } = exposed(
    counting({
      [`${RULE}.d.a_x..total_hits`]: 1,
      [`${RULE}.d..b.total_hits`]: 2,
      [`${RULE}.d.a..b.total_hits`]: 4,
      [`${RULE}.d..total_hits`]: 8,
    }),
  );
  t.same(samples('ratelimit_service_rate_limit_total_hits'), {
    'domain=d key1=a_x key2=': 1,
    'domain=d key1= key2=b': 2,
    'domain=d key1=a key2=': 4,
    'domain=d key1=': 8,
  });
});
