import t from 'tap';
import { ANSWER } from '../../../bench/load/grpc/call.ts';
import { type Figures, medianFigures, type Rounds, ratiosToOwn } from '../../../bench/load/grpc/figures.ts';
import { loadTables } from '../../../bench/load/grpc/report.ts';
import { decodeRateLimitResponse } from '../../../src/messages/client-codec.ts';

function figures(requestsPerSecond: number, p50LatencyMs: number, cpuMicrosPerRequest: number): Figures {
  return {
    requestsPerSecond,
    meanLatencyMs: p50LatencyMs,
    p50LatencyMs,
    p99LatencyMs: p50LatencyMs * 2,
    cpuMicrosPerRequest,
    busy: 1,
    rssBytes: 50e6,
  };
}

/** In the second round the machine was ten times slower. */
const ROUNDS: Rounds = [
  { own: figures(600, 1, 1), 'grpc-js': figures(50, 12, 24), http2: figures(100, 6, 12) },
  { own: figures(60, 10, 10), 'grpc-js': figures(5, 120, 240), http2: figures(10, 60, 120) },
  { own: figures(660, 1, 1), 'grpc-js': figures(50, 12, 24), http2: figures(100, 6, 12) },
];

t.test('a figure is the median over the rounds', async t => {
  t.equal(medianFigures(ROUNDS, 'own').requestsPerSecond, 600);
  t.equal(medianFigures(ROUNDS, 'http2').p99LatencyMs, 12);
});

t.test('ratios are above 1 if the own server is better, and do not move with the machine', async t => {
  t.same(ratiosToOwn(ROUNDS, 'grpc-js'), { requestsPerSecond: 12, p50Latency: 12, cpu: 24 });
  t.same(ratiosToOwn(ROUNDS, 'http2'), { requestsPerSecond: 6, p50Latency: 6, cpu: 12 });
});

t.test('the tables name every server and scenario', async t => {
  const scenario = { connections: 8, streamsPerConnection: 32 };
  const text = loadTables([{ scenario, rounds: ROUNDS }]).join('\n');
  t.match(text, /^8 × 32 +own +600 +1\.000 +1\.000 +2\.000 +1\.00 +100 +50$/m);
  t.match(text, /^8 × 32 +@grpc\/grpc-js +50 /m);
  t.match(text, /^node:http2 +8 × 32 +6\.0× +6\.0× +12\.0×$/m);
});

t.test('the answer that all servers give is a response to a rate limit request', async t => {
  t.match(decodeRateLimitResponse(ANSWER), {
    overallCode: 1,
    statuses: [
      {
        code: 1,
        currentLimit: { requestsPerUnit: 100, unit: 2 },
        limitRemaining: 41,
        durationUntilReset: 17,
      },
    ],
  });
});
