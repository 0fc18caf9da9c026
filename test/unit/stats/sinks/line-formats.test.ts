import t from 'tap';
import {
  dogStatsdLines,
  jsonLines,
  plainNumber,
  sampleRate,
  statsdLines,
  tagsInName,
} from '../../../../src/stats/sinks/line-formats.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const NO_DOG_TAGS = { globalTags: [], tags: [], mogrifiers: [] };

/** The rule of the behaviour reference's example. */
const RULES = {
  pattern: /rate_limit\.([^.]+)\.(.+)\.(\w+)$/,
  name: 'rl.$3',
  tags: [
    ['dom', '$1'],
    ['rule', '$2'],
  ],
} as const;

t.test('statsd: counters, gauges and timers, a line each', async t => {
  const lines = statsdLines([]);
  t.equal(lines.counter('a.b', 5), 'a.b:5|c\n');
  t.equal(lines.gauge('g', 0), 'g:0|g\n');
  t.equal(lines.gauge('g', 0.5), 'g:0.500000|g\n');
  t.equal(lines.timer('t', { count: 1, meanMs: 12 }), 't:12|ms\n');
  t.equal(lines.timer('t', { count: 4, meanMs: 0.25 }), 't:0.250000|ms|@0.25\n');
});

t.test('numbers have no exponent, however large or small', async t => {
  t.equal(plainNumber(2 ** 70), '1180591620717411303424');
  t.equal(plainNumber(1e-9), '0.000000');
  t.equal(plainNumber(-3), '-3');
});

t.test(
  'a line that stands for many durations says so in a share that receivers turn back into their number',
  async t => {
    for (const count of [
      1, 2, 3, 7, 10, 49, 99, 100, 999, 4_097, 99_991, 1_000_000, 4_000_003, 123_456_789,
    ]) {
      const share = /^\|@(0\.\d+)$/.exec(sampleRate(count))?.[1] ?? '1';
      t.equal(Math.floor(1 / Number(share)), count, share);
    }
  },
);

t.test('where a protocol knows no tags they end the name, in the order of their names', async t => {
  const tags = [
    ['zone', 'eu.1:a|b'],
    ['env', 'prod'],
    ['none', ''],
    ['', 'nameless'],
  ] as const;
  t.equal(tagsInName(tags), '.__env=prod.__zone=eu_1_a_b');
  t.equal(statsdLines(tags).counter('a', 1), 'a.__env=prod.__zone=eu_1_a_b:1|c\n');
});

t.test('DogStatsD: those of the process first, then the extra tags', async t => {
  const lines = dogStatsdLines({
    ...NO_DOG_TAGS,
    globalTags: [
      ['env', 'prod'],
      ['service', ''],
    ],
    tags: [['zone', 'a.b']],
  });
  t.equal(lines.counter('a', 5), 'a:5|c|#env:prod,zone:a_b\n');
  t.equal(lines.gauge('g', 5), 'g:5|g|#env:prod,zone:a_b\n');
  t.equal(lines.timer('t', { count: 1, meanMs: 12 }), 't:12.000000|ms|#env:prod,zone:a_b\n');
  t.equal(lines.timer('t', { count: 2, meanMs: 0.5 }), 't:0.500000|ms|@0.5|#env:prod,zone:a_b\n');
  t.equal(dogStatsdLines(NO_DOG_TAGS).counter('a', 5), 'a:5|c\n');
});

t.test('a mogrifier makes a name and tags of what its pattern finds', async t => {
  const lines = dogStatsdLines({ globalTags: [], tags: [['env', 'prod']], mogrifiers: [RULES] });
  t.equal(
    lines.counter('ratelimit.service.rate_limit.shop.region_eu.partner.within_limit', 1),
    'rl.within_limit:1|c|#env:prod,dom:shop,rule:region_eu.partner\n',
  );
  t.equal(lines.counter('other', 1), 'other:1|c|#env:prod\n');
});

t.test('the first mogrifier whose pattern is found applies, the others do not', async t => {
  const mogrifiers = [
    { pattern: /^nothing$/, name: 'no', tags: [] },
    { pattern: /b/, name: 'first', tags: [] },
    { pattern: /a/, name: 'second', tags: [] },
  ];
  t.equal(dogStatsdLines({ ...NO_DOG_TAGS, mogrifiers }).counter('ab', 1), 'first:1|c\n');
});

t.test('$0 is the whole match, and a number beyond the groups stays as written', async t => {
  const mogrifiers = [{ pattern: /b(x)?c/, name: '$0.$1.$2.$10', tags: [] }];
  t.equal(dogStatsdLines({ ...NO_DOG_TAGS, mogrifiers }).counter('abc', 1), 'bc..$2.$10:1|c\n');
});

t.test('what a request brought begins neither a tag nor a field of its own', async t => {
  const mogrifiers = [{ pattern: /^d\.(.*)$/, name: 'n', tags: [['key', '$1']] as const }];
  const lines = dogStatsdLines({ ...NO_DOG_TAGS, mogrifiers });
  t.equal(lines.counter('d.a,admin:yes|@0.1', 1), 'n:1|c|#key:a_admin:yes_@0.1\n');
});

t.test('standard output: the JSON lines of the reference implementation', async t => {
  const lines = jsonLines([['env', 'prod']], new ManualClock(1_700_000_000_123));
  const frame = { level: 'debug', ts: 1_700_000_000.123, logger: 'gostats.loggingsink' };
  const name = 'a.__env=prod';
  const timed = { name, value: '1.500000', count: 3, type: 'timer' };
  for (const [line, msg, json] of [
    [lines.counter('a', 5), 'flushing counter', { name, value: '5.000000', type: 'counter' }],
    [lines.gauge('a', 0), 'flushing gauge', { name, value: '0.000000', type: 'gauge' }],
    [lines.timer('a', { count: 3, meanMs: 1.5 }), 'flushing timer', timed],
    [lines.end(), 'flushing all stats', { value: '0.000000', type: 'all stats' }],
  ] as const) {
    t.same(JSON.parse(line), { ...frame, msg, json });
    t.ok(line.endsWith('\n'));
  }
  t.match(lines.end(), '"ts":1700000000.123000,');
});
