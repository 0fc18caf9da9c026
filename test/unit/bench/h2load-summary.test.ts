import t from 'tap';
import { parseH2loadSummary } from '../../../bench/support/h2load-summary.ts';

interface Printed {
  readonly requests?: string;
  readonly statusCodes?: string;
  readonly requestTime?: string;
}

/** What h2load 1.52 prints. */
function printed({
  requests = '1335008 total, 1335008 started, 1335008 done, 1335008 succeeded, 0 failed, 0 errored, 0 timeout',
  statusCodes = '1334900 2xx, 0 3xx, 0 4xx, 0 5xx',
  requestTime = '      68us      3.00ms       205us        79us    96.05%',
}: Printed = {}): string {
  return `starting benchmark...
Main benchmark duration is over for thread #0. Stopping all clients.

finished in 3.00s, 667504.00 req/s, 49.02MB/s
requests: ${requests}
status codes: ${statusCodes}
traffic: 98.03MB (102795720) total, 27.71MB (29059200) headers (space savings 60.53%), 42.49MB (44557440) data
                     min         max         mean         sd        +/- sd
time for request: ${requestTime}
time for connect:        0us         0us         0us         0us     0.00%
req/s           :   83302.07    83542.74    83429.20       76.79    75.00%
`;
}

t.test('reads rate, number and mean latency', async t => {
  t.same(parseH2loadSummary(printed()), {
    requestsPerSecond: 667_504,
    succeeded: 1_335_008,
    failed: 0,
    meanLatencyMs: 0.205,
  });
});

t.test('reads latencies in each unit that h2load uses', async t => {
  const mean = (text: string): number =>
    parseH2loadSummary(printed({ requestTime: `  4us  9us  ${text}  7us  60.00%` })).meanLatencyMs;
  t.equal(mean('250us'), 0.25);
  t.equal(mean('12.34ms'), 12.34);
  t.equal(mean('1.50s'), 1_500);
});

t.test('requests that failed, broke off or took too long are failures, each counted once', async t => {
  const failed = (requests: string): number => parseH2loadSummary(printed({ requests })).failed;
  t.equal(failed('10 total, 10 started, 10 done, 8 succeeded, 2 failed, 2 errored, 0 timeout'), 2);
  t.equal(failed('10 total, 10 started, 7 done, 7 succeeded, 0 failed, 0 errored, 3 timeout'), 3);
  t.equal(failed('10 total, 10 started, 10 done, 9 succeeded, 0 failed, 0 errored, 0 timeout'), 1);
});

t.test('answers with another status than those of the 200s are failures', async t => {
  t.equal(parseH2loadSummary(printed({ statusCodes: '90 2xx, 1 3xx, 2 4xx, 4 5xx' })).failed, 7);
});

t.test('output without a summary is quoted', async t => {
  t.throws(() => parseH2loadSummary('[ERROR] could not connect\n'), {
    message: 'h2load printed no summary that can be read; it printed:\n[ERROR] could not connect\n',
  });
});
