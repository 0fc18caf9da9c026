import t from 'tap';
import { limitRounds } from '../../../bench/load/decisions/limits.ts';
import { isOperatorPart, PARTS, readPlan } from '../../../bench/load/decisions/plan.ts';
import { loadScenarios, type Scenario, titleOfScenario } from '../../../bench/load/decisions/scenario.ts';
import { BadArguments } from '../../../bench/support/options.ts';

function scenarios(...args: readonly string[]): Scenario[] {
  return loadScenarios(readPlan(args).selection);
}

/** Rough seconds of the load, with what starting and checking takes. */
function seconds(...args: readonly string[]): number {
  const { rounds, durations } = readPlan(args);
  const runs = scenarios(...args).reduce((sum, { contestants }) => sum + contestants.length, 0);
  return (runs * rounds * (durations.warmUpMs + durations.measuredMs + 500)) / 1_000;
}

t.test('without arguments every pattern, front, store and number of connections is measured', async t => {
  const all = scenarios();
  t.same(
    readPlan([]).parts,
    PARTS.filter(part => !isOperatorPart(part) && part !== 'quota' && part !== 'check'),
  );
  const of = <T>(each: (scenario: Scenario) => T): T[] => [...new Set(all.map(each))];
  t.same(of(({ front }) => front).sort(), ['grpc', 'h2load', 'json']);
  t.same(of(({ pattern }) => pattern).sort(), ['four', 'hot', 'keys', 'none', 'over']);
  t.same(of(({ connections }) => connections).sort(), ['1x1', '32x100', '8x32']);
  t.ok(all.every(({ contestants }) => contestants.at(-1) === 'baseline' && contestants.includes('redis')));
});

t.test('a run without arguments stays below ten minutes, and a quick one below ninety seconds', async t => {
  t.ok(seconds() < 520);
  t.ok(seconds('--quick') < 55);
});

t.test('options leave out what they do not name', async t => {
  const found = scenarios('--store', 'redis', '--front', 'grpc', '--pattern', 'keys', '--no-baseline');
  t.same(found.map(titleOfScenario), ['grpc, 100 000 keys, 8 × 32', 'grpc, 100 000 keys, 32 × 100']);
  t.ok(found.every(({ contestants }) => contestants.length === 1 && contestants[0] === 'redis'));
});

t.test('patterns and connections that are both named are all combined', async t => {
  const found = scenarios('--pattern', 'four,none', '--connections', '1x1,32x100');
  t.same(found.map(titleOfScenario), [
    'grpc, 4 descriptors, 1 × 1',
    'grpc, 4 descriptors, 32 × 100',
    'grpc, no match, 1 × 1',
    'grpc, no match, 32 × 100',
  ]);
});

t.test('the local cache takes part where all is over the limit', async t => {
  const [found] = scenarios('--pattern', 'over');
  t.same(found.contestants, ['embedded', 'redis', 'redis-cached', 'baseline']);
});

t.test('times, workers and the file are taken over', async t => {
  const plan = readPlan(['--seconds', '4', '--workers', '0', '--rounds', '2', '--json', 'out.json']);
  t.match(plan, { durations: { measuredMs: 4_000 }, workers: 0, rounds: 2, jsonFile: 'out.json' });
  t.equal(readPlan([]).workers, null);
});

t.test('a quick run leaves out the kinds of limits unless it names them', async t => {
  t.same(readPlan([]).limitKinds, [
    'plain',
    'window',
    'calendar',
    'several',
    'sliding',
    'bucket',
    'classes',
    'leases',
  ]);
  t.same(readPlan(['--limits', 'bucket,sliding']).limitKinds, ['plain', 'sliding', 'bucket']);
  t.notOk(readPlan(['--quick']).parts.includes('limits'));
  t.same(readPlan(['--quick', '--only', 'limits']).parts, ['limits']);
  t.equal(limitRounds(5, false), 2, 'few rounds when it is one of several parts');
  t.equal(limitRounds(5, true), 5);
});

t.test('parts that compare small differences are run only by name, and without the others', async t => {
  t.same(readPlan(['--only', 'answers,live-page']).parts, ['answers', 'live-page']);
  t.notOk(readPlan([]).parts.some(isOperatorPart));
  t.throws(
    () => readPlan(['--only', 'load,answers']),
    new BadArguments('answers, hot-keys, live-page cannot be run together with other parts'),
  );
});

t.test('quotas are measured only by name, alone, and with the proxies that are asked for', async t => {
  const usual = [
    { count: 10, buckets: 1_000 },
    { count: 1_000, buckets: 100 },
  ];
  t.match(readPlan(['--only', 'quota']), { parts: ['quota'], proxies: usual });
  t.same(readPlan(['--only', 'quota', '--proxies', '2x20000']).proxies, [{ count: 2, buckets: 20_000 }]);
  for (const [args, message] of [
    [['--only', 'quota,load'], 'quota cannot be run together with other parts'],
    [['--proxies', '10'], '--proxies 10 is not a number of proxies and one of buckets, such as 10x1000'],
    [['--proxies', '0x10'], '--proxies 0 is not a number from 1 to 10000'],
    [['--proxies', '1x20001'], '--proxies 20001 is not a number from 1 to 20000'],
  ] as const)
    t.throws(() => readPlan(args), new BadArguments(message));
});

t.test('numbers of serving threads are compared instead of the parts', async t => {
  t.equal(readPlan([]).serveThreads, null);
  t.same(readPlan(['--serve-threads', '1,2,4', '--quick']).serveThreads, [1, 2, 4]);
  t.throws(
    () => readPlan(['--serve-threads', '1,2', '--only', 'load']),
    new BadArguments('--serve-threads cannot be used with --only'),
  );
  t.throws(
    () => readPlan(['--serve-threads', '0']),
    new BadArguments('--serve-threads 0 is not a number from 1 to 64'),
  );
});

t.test('what cannot be followed is refused with what can', async t => {
  for (const [args, message] of [
    [['--store', 'memcached'], '--store memcached is not one of embedded, redis'],
    [
      ['--only', 'load,all'],
      '--only all is not one of load, rules, limits, http-engines, half-peak, everyday, reload, answers, hot-keys, live-page, check, quota',
    ],
    [['--pattern', ''], '--pattern  is not one of hot, keys, four, over, none'],
    [['--rounds', '0'], '--rounds 0 is not a number from 1 to 50'],
    [
      ['--front', 'json', '--pattern', 'none'],
      'no usual scenario has all of that; with both --pattern and --connections any combination is run',
    ],
  ] as const) {
    t.throws(() => readPlan(args), new BadArguments(message));
  }
});
