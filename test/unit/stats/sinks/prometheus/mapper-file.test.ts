import t from 'tap';
import { MapperFileRefused, parseMapperFile } from '../../../../../src/stats/sinks/prometheus/mapper-file.ts';
import type { Mapping } from '../../../../../src/stats/sinks/prometheus/mapping.ts';

/** Durations are read elsewhere. */
const parseDuration = (text: string): number | null => (text === '10m' ? 600_000 : null);

const read = (text: string) => parseMapperFile(text, parseDuration);
const only = (text: string): Mapping => read(`mappings:\n- ${text.trim().replace(/\n/g, '\n  ')}\n`).list[0];

function refusal(text: string): string {
  try {
    read(text);
  } catch (refused) {
    if (refused instanceof MapperFileRefused) return refused.message;
    throw refused;
  }
  return '';
}

t.test('a mapping with all that it need not say', async t => {
  t.same(only('match: "a.*.c"\nname: metric'), {
    match: { glob: ['a', '*', 'c'] },
    kind: null,
    action: 'map',
    name: 'metric',
    labels: [],
    observer: { type: 'summary', quantiles: [0.5, 0.9, 0.99] },
    scale: 1,
    ttlMs: 0,
    help: '',
    honorLabels: false,
    onlyGrows: false,
    formerly: '',
  });
});

t.test('a mapping with everything', async t => {
  const mapping = only(`
match: '^a\\.(\\w+)$'
match_type: regex
match_metric_type: timer
name: metric_$1
labels: {key: $1, port: 80}
action: drop
observer_type: histogram
histogram_options: {buckets: [1, 2.5]}
scale: 0.001
ttl: 10m
help: what it is
honor_labels: true`);
  t.match(mapping, {
    match: { pattern: /^a\.(\w+)$/ },
    kind: 'observer',
    action: 'drop',
    labels: [
      ['key', '$1'],
      ['port', '80'],
    ],
    observer: { type: 'histogram', buckets: [1, 2.5] },
    scale: 0.001,
    ttlMs: 600_000,
    help: 'what it is',
    honorLabels: true,
  });
});

t.test('the kinds of statistics that a mapping may be for', async t => {
  const kinds = ['counter', 'gauge', 'observer', 'timer'].map(
    kind => only(`match: a\nname: a\nmatch_metric_type: ${kind}`).kind,
  );
  t.same(kinds, ['counter', 'gauge', 'observer', 'observer']);
});

t.test('defaults are those of mappings that do not say otherwise', async t => {
  const { list, globOrder } = read(`
defaults:
  observer_type: histogram
  match_type: regex
  glob_disable_ordering: true
  ttl: 10m
  histogram_options: {buckets: [7]}
  summary_options: {quantiles: [{quantile: 0.75, error: 0.01}], max_age: 30s}
mappings:
- {match: a, name: a}
- {match: b, name: b, match_type: glob, timer_type: summary}
- {match: c, name: c, buckets: [8]}
`);
  t.equal(globOrder, 'most specific');
  t.match(list, [
    { match: { pattern: /a/ }, observer: { type: 'histogram', buckets: [7] }, ttlMs: 600_000 },
    { match: { glob: ['b'] }, observer: { type: 'summary', quantiles: [0.75] } },
    { observer: { type: 'histogram', buckets: [8] } },
  ]);
});

t.test('the newer name of the type of timers wins over the older', async t => {
  const text = 'match: a\nname: a\ntimer_type: summary\nobserver_type: histogram';
  t.equal(only(text).observer.type, 'histogram');
});

t.test('an empty file has no mappings', async t => {
  t.same(read(''), { list: [], globOrder: 'first' });
});

t.test('every fault is reported, with its place and what is accepted', async t => {
  const message = refusal(`
defaults: {ttl: soon}
mappings:
- {match: 'a.b*', name: 1metric, labels: {k: v}}
- {match: '(', match_type: regex, name: a, action: keep}
- {name: a, buckets: [2, 1], timer_type: histogram, mtach: x}
- {match: a, name: a, histogram_options: {buckets: [1]}}
- {match: a, name: a, timer_type: histogram, quantiles: [{quantile: 2}]}
- {match: a, name: a, scale: much, honor_labels: 1}
- nothing
`);
  for (const fault of [
    /defaults\.ttl is "soon"; accepted: a duration/,
    /mappings\[0\]\.match is "a\.b\*"; accepted: parts separated by dots/,
    /mappings\[0\]\.name is "1metric"; accepted: the name of a metric/,
    /mappings\[0\]\.labels\.k is "v"; accepted: the name of a label: two or more/,
    /mappings\[1\]\.match is "\("; accepted: a regular expression: .*[Uu]nterminated group/,
    /mappings\[1\]\.action is "keep"; accepted: map or drop/,
    /mappings\[2\]\.mtach is unknown; known fields: match, /,
    /mappings\[2\]\.match is missing; accepted: the pattern that names/,
    /mappings\[2\]\.buckets is \[2,1\]; accepted: bounds in increasing order/,
    /mappings\[3\]\.histogram_options is .*; accepted: nothing, because the observer type is summary/,
    /mappings\[4\]\.quantiles\[0\]\.quantile is 2; accepted: a number from 0 to 1/,
    /mappings\[4\]\.summary_options is missing; accepted: nothing, because the observer type is histogram/,
    /mappings\[5\]\.scale is "much"; accepted: a number/,
    /mappings\[5\]\.honor_labels is 1; accepted: true or false/,
    /mappings\[6\] is not a map/,
  ]) {
    t.match(message, fault);
  }
  t.equal(message.split('defaults.ttl').length, 2, 'a fault of the defaults is reported once');
});

t.test('a file that is not a map or not YAML is refused', async t => {
  t.equal(refusal('- a'), 'the file is not a map');
  t.match(refusal('mappings: {}'), 'mappings is {}; accepted: a list');
  t.match(refusal('a: [b\nc: d'), /line 2/);
});
