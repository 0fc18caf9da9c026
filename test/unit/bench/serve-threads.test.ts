import t from 'tap';
import { busiestShare, threadsOnPage, workBetween } from '../../../bench/load/serve-threads/balance.ts';
import { threadsTable, threadTargets } from '../../../bench/load/serve-threads/report.ts';
import type { ThreadsResult, ThreadsRound } from '../../../bench/load/serve-threads/results.ts';

const BEFORE = `ratelimit.service.serving_thread.0.connections: 9
ratelimit.service.serving_thread.0.decisions: 1000
ratelimit.service.rate_limit.bench.user.total_hits: 3000`;

const AFTER = `ratelimit.service.serving_thread.10.connections: 1
ratelimit.service.serving_thread.10.decisions: 50
ratelimit.service.serving_thread.0.connections: 3
ratelimit.service.serving_thread.0.decisions: 1150`;

function round(requestsPerSecond: number, cpuMicros: number): ThreadsRound {
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
    threads: [
      { thread: 0, connections: 3, decisions: 60 },
      { thread: 1, connections: 5, decisions: 40 },
    ],
  };
}

/** In the second round the machine was ten times slower. */
const RESULT: ThreadsResult = {
  store: 'embedded',
  scenario: { front: 'grpc', pattern: 'hot', connections: '8x32', contestants: ['embedded'] },
  callsPerSecond: 100_000,
  counts: [1, 2],
  rounds: [
    [round(100_000, 4), round(10_000, 40), round(100_000, 4)],
    [round(100_000, 4.2), round(10_000, 42), round(100_000, 4.8)],
  ],
};

t.test('the balance is the connections at the end, and the decisions between two pages', async t => {
  const threads = workBetween(threadsOnPage(BEFORE), threadsOnPage(AFTER));
  t.same(threads, [
    { thread: 0, connections: 3, decisions: 150 },
    { thread: 10, connections: 1, decisions: 50 },
  ]);
  t.equal(busiestShare(threads, 'connections'), 0.75);
  t.equal(busiestShare(threads, 'decisions'), 0.75);
});

t.test('a service without serving threads has no balance', async t => {
  t.same(threadsOnPage('ratelimit.service.response_time_ms: 3'), []);
  t.ok(Number.isNaN(busiestShare([], 'decisions')));
});

t.test('the table has medians, ratios within the rounds, and the shares of the busiest threads', async t => {
  const text = threadsTable([{ ...RESULT, callsPerSecond: null }]).join('\n');
  t.match(text, /^embedded, grpc, one hot key, 8 × 32$/m);
  t.match(text, /^ {2}2 +100 000 +1\.00 +1\.000 +2\.000 +4\.80 +1\.05 +100 +- +25 +63 +60$/m);
});

t.test('two threads may use a tenth more processor time than one at the same rate', async t => {
  t.match(threadTargets([RESULT]), [{ wanted: 'at most 1.10×', measured: '1.05×', isMet: true }]);
  const costly = { ...RESULT, rounds: [[round(100_000, 4)], [round(98_000, 4.5)]] };
  t.match(threadTargets([costly]), [{ measured: '1.13×', isMet: false }]);
});

t.test('processor times are not compared if the steady rate was not reached', async t => {
  const slow = { ...RESULT, rounds: [[round(100_000, 4)], [round(80_000, 4)]] };
  t.match(threadTargets([slow]), [{ measured: 'different rates', isMet: null }]);
});

t.test('loads at different rates, and other numbers of threads, have no target', async t => {
  t.same(threadTargets([{ ...RESULT, callsPerSecond: null }]), []);
  t.same(threadTargets([{ ...RESULT, counts: [1, 4] }]), []);
});
