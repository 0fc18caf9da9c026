import type { ForkedChild } from '../../support/forked-child.ts';
import { type H2loadRun, runH2load, runLoggedH2load } from '../../support/h2load.ts';
import { percentile } from '../../support/statistics.ts';
import { CALL_HEADERS, METHOD_PATH } from './call.ts';
import type { ContestantAnswers, ServerSample } from './contestant.ts';
import type { Figures, Scenario } from './figures.ts';

/** How long each part of a measurement takes, in milliseconds. */
export interface Durations {
  readonly warmUpMs: number;
  readonly measuredMs: number;
  readonly loggedWarmUpMs: number;
  readonly loggedMs: number;
}

export interface Measurement {
  readonly child: ForkedChild<ContestantAnswers>;
  readonly port: number;
  readonly scenario: Scenario;
  readonly durations: Durations;
  /** The file with the request, and one that may be written. */
  readonly bodyFile: string;
  readonly logFile: string;
}

/**
 * Measures a server twice: without a log for what it can do, then shorter with one for the percentiles. Writing the
 * log slows h2load down by up to a fifth, which would be taken for the server.
 */
export async function measure(measurement: Measurement): Promise<Figures> {
  const { child, durations, logFile } = measurement;
  const samples: Promise<ServerSample>[] = [];
  const takeSample = (): void => {
    samples.push(child.ask('sample'));
  };
  const summary = await runH2load({
    ...runOf(measurement),
    onMeasuring: takeSample,
    onMeasured: takeSample,
  });
  const [before, after] = await Promise.all(samples);
  if (after === undefined) throw new Error('h2load did not say when it began and ended to measure');
  const latencies = await runLoggedH2load(
    { ...runOf(measurement), warmUpMs: durations.loggedWarmUpMs, measuredMs: durations.loggedMs },
    logFile,
  );
  return {
    requestsPerSecond: summary.requestsPerSecond,
    meanLatencyMs: summary.meanLatencyMs,
    p50LatencyMs: percentile(latencies, 50) / 1_000,
    p99LatencyMs: percentile(latencies, 99) / 1_000,
    cpuMicrosPerRequest: ((after.cpuMs - before.cpuMs) * 1_000) / (after.calls - before.calls),
    busy: (after.cpuMs - before.cpuMs) / (after.atMs - before.atMs),
    rssBytes: after.rssBytes,
  };
}

/** Load that is not measured: a server's first calls are slow until its code is compiled. */
export async function warmUp(measurement: Measurement): Promise<void> {
  await runH2load(runOf(measurement));
}

function runOf({ port, scenario, durations, bodyFile }: Measurement): H2loadRun {
  return {
    url: `http://127.0.0.1:${port}${METHOD_PATH}`,
    ...scenario,
    warmUpMs: durations.warmUpMs,
    measuredMs: durations.measuredMs,
    bodyFile,
    headers: CALL_HEADERS,
  };
}
