// How connections spread over threads that share a port, and how closing some of them improves the balance.
// Run: node build/bench/part/connection-balance.js
import { SeededRandom } from '../../test/support/seeded-random.ts';
import { median, percentile } from '../support/statistics.ts';
import { formatNumber, formatTable } from '../support/table.ts';

const THREADS = [2, 4, 8];
const CONNECTIONS = [4, 8, 16, 64];
const RUNS = 10_000;
/** One connection of the busiest thread is told to reconnect (GOAWAY) every ten seconds. */
const INTERVAL_S = 10;
const LOOKS_S = [60, 300];
/** Beyond this, a run counts as never balanced. */
const LONGEST_S = 86_400;

const random = new SeededRandom(1);

/** The kernel chooses a listener by a hash of addresses and ports, so each connection comes to a random thread. */
function spread(connections: number, threads: number): number[] {
  const counts = new Array<number>(threads).fill(0);
  for (let i = 0; i < connections; i++) counts[random.below(threads)]++;
  return counts;
}

/** Connections are equal, so the balance cannot improve if the busiest thread has at most one more than another. */
function isBalanced(counts: readonly number[]): boolean {
  return Math.max(...counts) - Math.min(...counts) <= 1;
}

interface Run {
  readonly share: number;
  readonly shareAt: readonly number[];
  readonly balancedAfterS: number;
}

/** @param avoid whether the busiest thread takes no new connections while the one that it closes reconnects */
function simulate(connections: number, threads: number, avoid: boolean): Run {
  const counts = spread(connections, threads);
  const share = (): number => Math.max(...counts) / connections;
  const first = share();
  const shareAt: number[] = [];
  let nowS = 0;
  for (; nowS < LONGEST_S && !isBalanced(counts); nowS += INTERVAL_S) {
    while (shareAt.length < LOOKS_S.length && nowS >= LOOKS_S[shareAt.length]) shareAt.push(share());
    const busiest = counts.indexOf(Math.max(...counts));
    counts[busiest]--;
    const target = avoid ? random.below(threads - 1) : random.below(threads);
    counts[avoid && target >= busiest ? target + 1 : target]++;
  }
  while (shareAt.length < LOOKS_S.length) shareAt.push(share());
  return { share: first, shareAt, balancedAfterS: nowS };
}

function rowOf(connections: number, threads: number): string[] {
  const runs = (avoid: boolean): Run[] =>
    Array.from({ length: RUNS }, () => simulate(connections, threads, avoid));
  const mean = (all: readonly Run[], of: (run: Run) => number): string =>
    formatNumber((all.reduce((sum, run) => sum + of(run), 0) / RUNS) * 100);
  const seconds = (all: readonly Run[]): string => {
    const sorted = all.map(run => run.balancedAfterS).sort((a, b) => a - b);
    return `${formatNumber(median(sorted))} · ${formatNumber(percentile(sorted, 99))}`;
  };
  const plain = runs(false);
  const avoiding = runs(true);
  return [
    `${connections} on ${threads}`,
    formatNumber((Math.ceil(connections / threads) / connections) * 100),
    mean(plain, run => run.share),
    ...LOOKS_S.map((_, i) => mean(plain, run => run.shareAt[i])),
    seconds(plain),
    ...LOOKS_S.map((_, i) => mean(avoiding, run => run.shareAt[i])),
    seconds(avoiding),
  ];
}

const rows = CONNECTIONS.flatMap(connections => THREADS.map(threads => rowOf(connections, threads)));
console.log(
  `Mean share of the connections that the busiest thread has, in %, over ${formatNumber(RUNS)} runs.
GOAWAY to one connection of the busiest thread every ${INTERVAL_S} s, until no thread has two more than another.
"elsewhere": the busiest thread takes no new connections meanwhile. Seconds until balanced: median · p99.
`,
);
const head = LOOKS_S.map(each => `${each} s`);
console.log(
  formatTable(
    [
      'connections',
      'best',
      'at first',
      ...head,
      'balanced',
      ...head.map(each => `elsewhere ${each}`),
      'balanced',
    ],
    rows,
  ).join('\n'),
);
