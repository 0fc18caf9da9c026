import { CounterTable } from '../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../src/counters/embedded/embedded-store.ts';
import { CODE_NAMES } from '../../src/messages/client-codec.ts';
import { Decisions } from '../../test/support/decisions.ts';

/** A load that begins and ends at certain seconds, with evenly spaced requests. */
interface LoadPhase {
  readonly fromS: number;
  readonly toS: number;
  readonly requestsPerS: number;
}

/** Requests per minute of all limits in the picture, and the burst of the token bucket. */
export const LIMIT = 60;
export const BURST = 20;
export const DURATION_S = 240;
const WINDOW_S = 60;

/** A client that calls more often around the end of the first minute, and from 02:00 a client that never waits. */
export const LOAD: readonly LoadPhase[] = [
  { fromS: 50, toS: 70, requestsPerS: 6 },
  { fromS: 120, toS: 240, requestsPerS: 3 },
];

/** What one limit admitted of the load. */
export interface Admitted {
  readonly title: string;
  /** The limit as the rule file says it. */
  readonly rule: string;
  /** Admitted requests in each second. */
  readonly perSecond: readonly number[];
  /** The most admitted requests within any 60 seconds. */
  readonly mostInWindow: number;
}

const LIMITS: readonly Pick<Admitted, 'title' | 'rule'>[] = [
  { title: 'fixed_window', rule: `unit: minute, requests_per_unit: ${LIMIT}` },
  {
    title: 'sliding_window',
    rule: `unit: minute, requests_per_unit: ${LIMIT}, algorithm: sliding_window`,
  },
  {
    title: 'token_bucket',
    rule: `unit: minute, requests_per_unit: ${LIMIT}, algorithm: token_bucket, burst: ${BURST}`,
  },
];

/** Asks the decision engine for every request of the load, with each limit, on the embedded store. */
export async function admittedByAlgorithm(): Promise<Admitted[]> {
  const all: Admitted[] = [];
  for (const limit of LIMITS) {
    const times = await admittedTimes(limit.rule);
    all.push({ ...limit, perSecond: perSecond(times), mostInWindow: mostWithin(times, WINDOW_S * 1_000) });
  }
  return all;
}

/** When requests of the load are admitted, in milliseconds after its beginning. */
async function admittedTimes(rule: string): Promise<number[]> {
  // A whole number of minutes, so that windows start at whole minutes of the picture.
  const beginMs = 28_000_000 * WINDOW_S * 1_000;
  const decisions = new Decisions({
    store: new EmbeddedCounterStore(CounterTable.create(16_384)),
    rules: `domain: picture\ndescriptors:\n  - key: client\n    rate_limit: {${rule}}\n`,
    nowMs: beginMs,
  });
  const descriptors = [{ entries: [{ key: 'client', value: 'a' }], limit: null, hitsAddend: null }];
  const admitted: number[] = [];
  for (const { fromS, toS, requestsPerS } of LOAD) {
    for (let number = 0; number < (toS - fromS) * requestsPerS; number++) {
      const ms = fromS * 1_000 + Math.round((number * 1_000) / requestsPerS);
      decisions.clock.moveTo(beginMs + ms);
      const { overallCode } = await decisions.ask({ domain: 'picture', descriptors, hitsAddend: 0 });
      if (CODE_NAMES[overallCode] === 'OK') admitted.push(ms);
    }
  }
  return admitted;
}

function perSecond(times: readonly number[]): number[] {
  const counts = new Array<number>(DURATION_S).fill(0);
  for (const ms of times) counts[Math.floor(ms / 1_000)]++;
  return counts;
}

/** The most of the times, which are in order, that are less than `lengthMs` apart. */
function mostWithin(times: readonly number[], lengthMs: number): number {
  let most = 0;
  let first = 0;
  for (const [index, ms] of times.entries()) {
    while (times[first] <= ms - lengthMs) first++;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
