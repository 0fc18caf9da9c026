import { setTimeout as sleep } from 'node:timers/promises';
import { writeRules } from '../../../test/support/rule-files.ts';
import type { LoadWindow } from '../../support/load-window.ts';
import type { Progress } from '../../support/progress.ts';
import { median } from '../../support/statistics.ts';
import { CONTESTANTS, type Store, serviceOn } from './contestants.ts';
import type { Field, Running } from './field.ts';
import { type Measurement, measure, startGrpcLoad } from './measure.ts';
import { benchRules, ruleFile } from './rules.ts';
import type { Scenario } from './scenario.ts';

/** A second of a load during which all rules are reloaded. */
export interface Second {
  readonly phase: 'before' | 'reload' | 'after';
  readonly requestsPerSecond: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface ReloadResult {
  readonly store: Store;
  /** Calls a second of the paced load. */
  readonly callsPerSecond: number;
  /** Time from the replacement of the file until its rules were active. */
  readonly reloadMs: number;
  readonly seconds: readonly Second[];
  /** The worst second of the reload against the median of those before: 99th percentiles. */
  readonly beforeP99Ms: number;
  readonly reloadP99Ms: number;
  readonly liftMs: number;
}

export interface Reload {
  readonly field: Field;
  readonly stores: readonly Store[];
  /** The highest rate that a store was measured at; undefined when it was not. */
  readonly peakOf: (store: Store) => number | undefined;
  readonly secondsBefore: number;
  readonly folder: string;
  readonly progress: Progress;
}

/** Half of the peak, as for the latencies there: at the peak itself any other work must show. */
const SHARE_OF_PEAK = 0.5;
const WARM_UP_MS = 1_000;
const SECOND_MS = 1_000;
const SECONDS_AFTER = 2;
const LONGEST_RELOAD_MS = 30_000;
const PEAK_DURATIONS = { warmUpMs: 500, measuredMs: 1_000 };

export async function measureReload(reload: Reload): Promise<ReloadResult[]> {
  const { field, folder, progress } = reload;
  const results: ReloadResult[] = [];
  for (const store of reload.stores) {
    const contestant = serviceOn(store, 'many');
    progress.step(`reload under load, ${CONTESTANTS[contestant].title}`);
    const scenario: Scenario = {
      front: 'grpc',
      pattern: 'rules',
      connections: '8x32',
      contestants: [contestant],
    };
    const measurement: Measurement = {
      field,
      scenario,
      contestant,
      durations: PEAK_DURATIONS,
      callsPerSecond: null,
      folder,
    };
    const peak = reload.peakOf(store) ?? (await measure(measurement)).requestsPerSecond;
    const callsPerSecond = peak * SHARE_OF_PEAK;
    const { reloadMs, seconds } = await reloadUnderLoad(
      { ...measurement, callsPerSecond },
      reload.secondsBefore,
    );
    results.push({ store, callsPerSecond, reloadMs, seconds, ...liftOf(seconds) });
  }
  return results;
}

async function reloadUnderLoad(
  measurement: Measurement,
  secondsBefore: number,
): Promise<{ readonly reloadMs: number; readonly seconds: readonly Second[] }> {
  const { field, contestant } = measurement;
  const running = field.of(contestant);
  // One more than before, so that what is loaded is not what there was. Made beforehand: it takes its time.
  const text = ruleFile(benchRules(CONTESTANTS[contestant].routes + 1));
  const generator = await startGrpcLoad(measurement);
  await sleep(WARM_UP_MS);
  await generator.ask('mark');
  const windows: LoadWindow[] = [];
  const second = async (): Promise<void> => {
    await sleep(SECOND_MS);
    windows.push(await generator.ask('mark'));
  };
  for (let i = 0; i < secondsBefore; i++) await second();
  const wroteAtMs = Date.now();
  let loadedAtMs = Number.POSITIVE_INFINITY;
  const loading = loadRules(running, text).then(() => {
    loadedAtMs = Date.now();
  });
  // The failure is handled later, by the code that waits for it after the windows.
  loading.catch(() => {});
  while (loadedAtMs === Number.POSITIVE_INFINITY) {
    await second();
    if (Date.now() - wroteAtMs > LONGEST_RELOAD_MS) await loading;
  }
  for (let i = 0; i < SECONDS_AFTER; i++) await second();
  await generator.ask('finish');
  return {
    reloadMs: loadedAtMs - wroteAtMs,
    seconds: windows.map(window => secondOf(window, wroteAtMs, loadedAtMs)),
  };
}

async function loadRules({ service, rulesFolder }: Running, text: string): Promise<void> {
  if (service === null) throw new Error('what has no rule files cannot reload them');
  const loaded = service.logged('Rules loaded');
  writeRules(rulesFolder, { 'config/bench.yaml': text });
  await loaded;
}

function secondOf(
  { endedAtMs, seconds, latency }: LoadWindow,
  wroteAtMs: number,
  loadedAtMs: number,
): Second {
  const beganAtMs = endedAtMs - seconds * 1_000;
  const phase = endedAtMs <= wroteAtMs ? 'before' : beganAtMs > loadedAtMs ? 'after' : 'reload';
  return {
    phase,
    requestsPerSecond: latency.count / seconds,
    p99Ms: latency.p99Ms,
    maxMs: latency.maxMs,
  };
}

/** How much higher the 99th percentile was in the worst second of the reload than it is else. */
export function liftOf(
  seconds: readonly Second[],
): Pick<ReloadResult, 'beforeP99Ms' | 'reloadP99Ms' | 'liftMs'> {
  const of = (phase: Second['phase']): number[] =>
    seconds.filter(second => second.phase === phase).map(({ p99Ms }) => p99Ms);
  const beforeP99Ms = median(of('before'));
  const reloadP99Ms = Math.max(...of('reload'));
  return { beforeP99Ms, reloadP99Ms, liftMs: reloadP99Ms - beforeP99Ms };
}
