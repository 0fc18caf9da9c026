import t from 'tap';
import { countFault } from '../../../bench/load/decisions/check.ts';
import { checkScenarios, checksTable } from '../../../bench/load/decisions/checks.ts';
import { type Figures, figuresOf, type ScenarioResult } from '../../../bench/load/decisions/figures.ts';
import { peakOf } from '../../../bench/load/decisions/half-peak.ts';
import { engineScenarios, enginesTable } from '../../../bench/load/decisions/http-engines.ts';
import { LIMIT_KINDS } from '../../../bench/load/decisions/limit-kinds.ts';
import { limitScenarios, limitsTable } from '../../../bench/load/decisions/limits.ts';
import { PATTERNS } from '../../../bench/load/decisions/patterns.ts';
import { liftOf } from '../../../bench/load/decisions/reload.ts';
import { loadTable, targetTable } from '../../../bench/load/decisions/report.ts';
import { targetsOf } from '../../../bench/load/decisions/targets.ts';

function figures(requestsPerSecond: number, cpuMicros: number): Figures {
  return {
    requestsPerSecond,
    meanMs: 1,
    p50Ms: 1,
    p99Ms: 2,
    p999Ms: 3,
    cpuMicros,
    busy: 1,
    storeBusy: Number.NaN,
    generatorBusy: 0.25,
  };
}

/** In the second round the machine was ten times slower. */
const HOT: ScenarioResult = {
  scenario: {
    front: 'grpc',
    pattern: 'hot',
    connections: '8x32',
    contestants: ['embedded', 'redis', 'baseline'],
  },
  rounds: [
    { embedded: figures(260_000, 3), redis: figures(100_000, 5), baseline: figures(10_000, 100) },
    { embedded: figures(26_000, 30), redis: figures(10_000, 50), baseline: figures(1_000, 1_000) },
    { embedded: figures(280_000, 3), redis: figures(100_000, 5), baseline: figures(10_000, 100) },
  ],
};
const NOTHING = {
  scenarios: [],
  limits: [],
  engines: [],
  checks: [],
  halfPeak: [],
  everyday: [],
  reloads: [],
};
const RESULTS = { ...NOTHING, scenarios: [HOT] };

t.test('a target is met or missed by medians, and by ratios within the rounds', async t => {
  const of = (title: string) => targetsOf(RESULTS).find(target => target.title.startsWith(title));
  t.match(of('embedded, one hot key, 8 × 32: requests'), {
    wanted: 'at least 12.0×',
    measured: '26.0×',
    isMet: true,
  });
  t.match(of('Redis, one hot key, 8 × 32: requests'), { measured: '10.0×', isMet: false });
  t.match(of('embedded, one hot key, 8 × 32: CPU'), { measured: '3.00 µs', isMet: true });
  t.match(of('Redis, one hot key, 8 × 32: CPU'), { wanted: 'at most 4.00 µs', isMet: false });
});

t.test('what was not measured is neither', async t => {
  t.ok(targetsOf(NOTHING).every(({ isMet }) => isMet === null));
  t.match(targetTable(targetsOf(RESULTS)).join('\n'), /100 000 rules to those with ten .* - +not measured$/m);
});

t.test('p99 at half of the peak, everyday rates and the lift of a reload have targets', async t => {
  const halfPeak = [{ store: 'redis', pattern: 'keys', peakPerSecond: 1, rounds: [figures(1, 1)] }] as const;
  const reload = { callsPerSecond: 1, reloadMs: 1, seconds: [], beforeP99Ms: 1, reloadP99Ms: 12.5 };
  const targets = targetsOf({
    ...NOTHING,
    halfPeak,
    everyday: [{ contestant: 'redis', arrivals: 'one by one', rounds: [figures(10_000, 44)] }],
    reloads: [{ store: 'redis', ...reload, liftMs: 11.5 }],
  });
  t.same(
    targets.filter(({ isMet }) => isMet !== null).map(({ measured, isMet }) => [measured, isMet]),
    [
      ['2.00 ms', true],
      ['44.0 µs', true],
      ['11.5 ms', false],
    ],
  );
});

t.test('HTTP engines are compared within the rounds, by rate and by CPU', async t => {
  const [scenario] = engineScenarios();
  const rounds = [
    { embedded: figures(60_000, 10), 'embedded-node': figures(30_000, 25), hello: figures(90_000, 6) },
    { embedded: figures(6_000, 100), 'embedded-node': figures(3_000, 250), hello: figures(9_000, 60) },
  ];
  const [, title, uws, node, hello] = enginesTable([{ scenario, rounds }]);
  t.match(title, /^json, one hot key, 1 × 1/);
  t.match(uws, /^ {2}uws +33 000 +1\.000 +2\.000 +55\.00/);
  t.match(node, /^ {2}node +16 500 +0\.50 +1\.000 +2\.000 +137\.50 +2\.50$/);
  t.match(hello, /^ {2}hello world +49 500 +1\.50 +1\.000 +2\.000 +33\.00 +0\.60$/);
});

t.test('/check is compared with /json in each round, and has a target', async t => {
  const [json, check] = checkScenarios(['redis']);
  t.same([json.front, check.front], ['json', 'check']);
  const [contestant] = check.contestants;
  const rounds = (...micros: number[]) =>
    micros.map(each => ({ [contestant]: figures(1_000_000 / each, each) }));
  const checks = [
    { scenario: json, rounds: rounds(20, 200) },
    { scenario: check, rounds: rounds(26, 260) },
  ];
  const lines = checksTable(checks);
  t.match(lines[2], /^ {2}Redis +27 500 +1\.000 +2\.000 +110\.00$/);
  t.match(lines[4], /^ {2}Redis +21 154 +0\.77 +1\.000 +2\.000 +143\.00 +1\.30$/);
  t.match(
    targetsOf({ ...NOTHING, checks }).find(({ isMet }) => isMet !== null),
    {
      title: /^check, one hot key.*CPU for a request/,
      wanted: 'at most 1.25×',
      measured: '1.30×',
      isMet: false,
    },
  );
});

t.test('kinds of limits are compared with plain ones in each round; the slowest has a target', async t => {
  const [scenario] = limitScenarios(['redis'], ['plain', 'sliding', 'bucket']);
  t.same(scenario.contestants, ['redis-limits-plain', 'redis-limits-sliding', 'redis-limits-bucket']);
  const [plain, sliding, bucket] = scenario.contestants;
  const rounds = [
    { [plain]: figures(100_000, 4), [sliding]: figures(88_000, 5), [bucket]: figures(95_000, 4) },
    { [plain]: figures(10_000, 40), [sliding]: figures(8_800, 50), [bucket]: figures(9_500, 40) },
  ];
  const limits = [{ scenario, rounds }];
  const [, title, ...lines] = limitsTable(limits);
  t.match(title, /^grpc, one hot key, 8 × 32/);
  t.match(lines[0], /^ {2}Redis, plain +55 000 +1\.000 /);
  t.match(lines[1], /^ {2}Redis, sliding window +48 400 +0\.88 +1\.000 +2\.000 +27\.50 +1\.25 /);
  t.match(
    targetsOf({ ...NOTHING, limits }).find(({ isMet }) => isMet !== null),
    {
      title:
        'grpc, one hot key, 8 × 32: requests/s of the slowest kind of limits (Redis, sliding window) to plain ones',
      wanted: 'at least 90 %',
      measured: '88 %',
      isMet: false,
    },
  );
});

t.test('the table has a line for each contestant, below its scenario', async t => {
  const text = loadTable([HOT]).join('\n');
  t.match(
    text,
    /^grpc, one hot key, 8 × 32\n {2}embedded +260 000 +26\.0 +1\.000 +1\.000 +2\.000 +3\.000 +3\.00/m,
  );
  t.match(text, /^ {2}baseline +10 000 +1\.000 /m);
});

t.test('figures come from what happened between two marks', async t => {
  const latency = { count: 50_000, meanMs: 1, p50Ms: 1, p99Ms: 2, p999Ms: 3, maxMs: 4 };
  t.match(
    figuresOf({
      endedAtMs: 0,
      seconds: 0.5,
      latency,
      cpuMs: { service: 200, store: 100 },
      rssBytes: {},
      generatorBusy: 0.3,
    }),
    { requestsPerSecond: 100_000, cpuMicros: 4, busy: 0.4, storeBusy: 0.2, p999Ms: 3 },
  );
});

t.test('the peak of a store is its highest median over gRPC', async t => {
  t.equal(peakOf([HOT], 'embedded', 'hot'), 260_000);
  t.equal(peakOf([HOT], 'embedded', 'keys'), undefined);
  t.equal(peakOf([{ ...HOT, scenario: { ...HOT.scenario, front: 'json' } }], 'redis', 'hot'), undefined);
});

t.test('a reload is judged by its worst second, against the median of those before', async t => {
  const second = (phase: 'before' | 'reload' | 'after', p99Ms: number) => ({
    phase,
    requestsPerSecond: 1,
    p99Ms,
    maxMs: p99Ms,
  });
  t.same(
    liftOf([
      second('before', 2),
      second('before', 9),
      second('before', 1),
      second('reload', 5),
      second('reload', 12),
      second('after', 40),
    ]),
    { beforeP99Ms: 2, reloadP99Ms: 12, liftMs: 10 },
  );
});

t.test('hits that are lost or counted twice are a fault, in the store and in the statistics', async t => {
  const totals = { answered: 100, begun: 100 };
  const counts = (hot: number, statistics: number) => ({
    before: { hot: 1_000, statistics: 5_000 },
    after: { hot: 1_000 + hot, statistics: 5_000 + statistics },
  });
  t.equal(countFault(PATTERNS.hot, totals, counts(100, 100)), '');
  t.match(
    countFault(PATTERNS.hot, totals, counts(99, 100)),
    /^the count of the hot key has grown by 99, for 100/,
  );
  t.match(countFault(PATTERNS.hot, totals, counts(100, 101)), /^total_hits of all rules has grown by 101/);
  t.equal(countFault(PATTERNS.four, totals, counts(0, 400)), '');
  t.equal(countFault(PATTERNS.none, totals, counts(0, 0)), '');
  t.equal(countFault(PATTERNS.hot, totals, counts(100, 200), LIMIT_KINDS.several), '');
  t.equal(countFault(PATTERNS.hot, totals, counts(99, 100), LIMIT_KINDS.bucket), '', 'a token flowed in');
  t.match(countFault(PATTERNS.none, totals, counts(0, 1)), /^total_hits/);
});

t.test('a generator that leaves before its last answers may have been counted for them', async t => {
  const counts = { before: { hot: 0, statistics: null }, after: { hot: 105, statistics: null } };
  t.equal(countFault(PATTERNS.hot, { answered: 100, begun: 108 }, counts), '');
  t.not(countFault(PATTERNS.hot, { answered: 100, begun: 104 }, counts), '');
});
