import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadWindow } from '../../support/load-window.ts';
import type { Progress } from '../../support/progress.ts';
import type { QuotaTotals } from '../../support/quota-load/load.ts';
import type { Durations } from '../decisions/measure.ts';
import { ALLOWED, DOMAIN, type QuotaCase } from './cases.ts';
import { quotaFault } from './check.ts';
import type { QuotaField } from './field.ts';

/** What was measured in one time. A report is that of one bucket by one proxy. */
export interface QuotaFigures {
  readonly reportsPerSecond: number;
  /** From the message with the reports of all buckets of a proxy to the answer to the last one of them. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the service for each report. */
  readonly cpuMicros: number;
  /** Shares of one core that were used: by the service, its store, and the proxies. */
  readonly busy: number;
  readonly storeBusy: number;
  readonly generatorBusy: number;
}

/** A round: as many reports as are answered, and half of that. */
export interface QuotaRound {
  readonly peak: QuotaFigures;
  readonly half: QuotaFigures;
}

export interface QuotaResult {
  readonly case: QuotaCase;
  /** The time until all proxies had an answer. */
  readonly startMs: number;
  /** The part of the reports after the warm-up that were not answered, because a round was late, and had to be sent again. */
  readonly unanswered: number;
  /** Memory of the service for each bucket of a proxy, in bytes, without that of connections. */
  readonly bytesPerBucket: number;
  readonly rounds: readonly QuotaRound[];
}

/** Reports of each proxy before the measurements. */
const LEAST_REPORTS = 3;

/** If a service is too slow for that, it is measured all the same. */
const MOST_WARM_UPS = 5;

export interface QuotaTimes {
  readonly rounds: number;
  readonly firstWarmUpMs: number;
  readonly peak: Durations;
  readonly half: Durations;
}

/** Measures a case. Fails if a report is not answered with a token bucket, or if the counts are not those of the reports. */
export async function measureCase(
  field: QuotaField,
  measured: QuotaCase,
  { rounds, firstWarmUpMs, peak, half }: QuotaTimes,
  progress: Progress,
): Promise<QuotaResult> {
  const { generator, memory } = field;
  const { store, unit, proxies } = measured;
  const title = `${store}, a limit of a ${unit}, ${proxies.count} proxies with ${proxies.buckets} buckets`;
  await generator.ask('open', {
    port: field.service.ports.grpc,
    proxies: proxies.count,
    template: { domain: DOMAIN, key: unit, buckets: proxies.buckets, allowed: ALLOWED },
    watched: field.watched,
  });
  const before = await memory.sample();
  progress.step(`${title}: warm-up`);
  const warm = await warmUp(field, firstWarmUpMs);
  const after = await memory.sample();
  const bytes = after.heapBytes + after.externalBytes - before.heapBytes - before.externalBytes;
  const found: QuotaRound[] = [];
  for (let round = 1; round <= rounds; round++) {
    progress.step(`${title}: round ${round}`);
    const atPeak = await windowOf(field, null, peak);
    const messagesPerSecond = atPeak.latency.count / atPeak.seconds;
    const atHalf = await windowOf(field, messagesPerSecond / 2, half);
    found.push({ peak: figuresOf(atPeak, proxies.buckets), half: figuresOf(atHalf, proxies.buckets) });
  }
  const totals = await generator.ask('rest');
  const fault = await quotaFault(field, measured, { warm, totals });
  if (fault !== '') throw new Error(`${title}: ${fault}`);
  await generator.ask('close');
  return {
    case: measured,
    startMs: warm.startMs,
    unanswered: (totals.unanswered - warm.unanswered) / (totals.reports - warm.reports),
    bytesPerBucket: bytes / (proxies.count * proxies.buckets),
    rounds: found,
  };
}

/** Every proxy reports several times, so that its demand is known, and that of all others. */
async function warmUp({ generator }: QuotaField, warmUpMs: number): Promise<QuotaTotals> {
  for (let i = 1; ; i++) {
    await generator.ask('drive', null);
    await sleep(warmUpMs);
    const warm = await generator.ask('rest');
    if (warm.fewestOfProxy >= LEAST_REPORTS || i === MOST_WARM_UPS) return warm;
  }
}

async function windowOf(
  { generator }: QuotaField,
  messagesPerSecond: number | null,
  { warmUpMs, measuredMs }: Durations,
): Promise<LoadWindow> {
  await generator.ask('drive', messagesPerSecond);
  await sleep(warmUpMs);
  await generator.ask('mark');
  await sleep(measuredMs);
  const window = await generator.ask('mark');
  await generator.ask('rest');
  return window;
}

function figuresOf({ latency, seconds, cpuMs, generatorBusy }: LoadWindow, buckets: number): QuotaFigures {
  const reports = latency.count * buckets;
  const service = cpuMs['service'] ?? Number.NaN;
  return {
    reportsPerSecond: reports / seconds,
    p50Ms: latency.p50Ms,
    p99Ms: latency.p99Ms,
    cpuMicros: (service * 1_000) / reports,
    busy: service / 1_000 / seconds,
    storeBusy: (cpuMs['store'] ?? Number.NaN) / 1_000 / seconds,
    generatorBusy,
  };
}
