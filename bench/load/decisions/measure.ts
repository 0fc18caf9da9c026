import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { encodeRateLimitRequest, SHOULD_RATE_LIMIT_PATH } from '../../../src/messages/client-codec.ts';
import type { Load, LoadTotals } from '../../support/generator.ts';
import { framed } from '../../support/grpc-framing.ts';
import { runH2load } from '../../support/h2load.ts';
import type { LoadWindow } from '../../support/load-window.ts';
import { processUsage } from '../../support/process-usage.ts';
import { checkAnswers, countFault, kindOf, readCounts } from './check.ts';
import { CONTESTANTS, type ContestantName } from './contestants.ts';
import type { Field, Running } from './field.ts';
import { type Figures, figuresOf } from './figures.ts';
import { CODE, type Pattern, requestOf, templateOf } from './patterns.ts';
import { CONNECTIONS, patternOf, type Scenario, titleOfScenario } from './scenario.ts';

export interface Durations {
  /** Load before what is measured. */
  readonly warmUpMs: number;
  readonly measuredMs: number;
}

export interface Measurement {
  readonly field: Field;
  readonly scenario: Scenario;
  readonly contestant: ContestantName;
  readonly durations: Durations;
  /** Calls a second of a paced load; null for calls that follow on answers. */
  readonly callsPerSecond: number | null;
  /**
   * For a paced load: calls are sent one at a time. Otherwise, all calls that are due are sent once per millisecond.
   */
  readonly apart?: boolean;
  readonly folder: string;
  /** Over gRPC: called just before the measured time and just after it, while the load goes on. */
  readonly beside?: () => Promise<void>;
}

/** A load and what it finds on its way. */
interface Loaded {
  readonly figures: Figures;
  readonly totals: LoadTotals;
}

/** Measures one contestant once. Fails when an answer is not what it has to be, or the hits were not counted exactly. */
export async function measure(measurement: Measurement): Promise<Figures> {
  const { field, scenario, contestant } = measurement;
  const running = field.of(contestant);
  const pattern = patternOf(scenario, contestant);
  try {
    if (contestant === 'hello') return (await load(measurement, running, pattern)).figures;
    await checkAnswers(running, pattern);
    const before = await readCounts(field, running);
    const { figures, totals } = await load(measurement, running, pattern);
    const counts = { before, after: await readCounts(field, running) };
    const fault = countFault(pattern, totals, counts, kindOf(running));
    if (fault !== '') throw new Error(fault);
    return figures;
  } catch (failure) {
    const wrote = running.service === null ? '' : `\nThe service wrote:\n${running.service.output}`;
    throw new Error(
      `${CONTESTANTS[contestant].title}, ${titleOfScenario(scenario)}: ${(failure as Error).message}${wrote}`,
      { cause: failure },
    );
  }
}

/** Begins the load of a measurement over gRPC, and gives its generator. */
export async function startGrpcLoad({
  field,
  scenario,
  contestant,
  callsPerSecond,
  apart,
}: Measurement): Promise<Field['grpcGenerator']> {
  const running = field.of(contestant);
  const pattern = patternOf(scenario, contestant);
  const generator = field.grpcGenerator;
  await generator.ask('start', {
    ...commonLoad(scenario, running, running.grpcPort),
    template: templateOf(pattern),
    expectedCode: pattern.code,
    callsPerSecond,
    apart: apart ?? false,
  });
  return generator;
}

function load(measurement: Measurement, running: Running, pattern: Pattern): Promise<Loaded> {
  switch (measurement.scenario.front) {
    case 'grpc':
      return grpcLoad(measurement);
    case 'json':
    case 'check':
      return httpLoad(measurement, running, pattern, measurement.scenario.front);
    case 'h2load':
      return h2loadLoad(measurement, running, pattern);
  }
}

async function grpcLoad(measurement: Measurement): Promise<Loaded> {
  const generator = await startGrpcLoad(measurement);
  const mark = (): Promise<LoadWindow> => generator.ask('mark');
  const window = await measuredWindow(measurement.durations, mark, measurement.beside);
  return { figures: figuresOf(window), totals: await generator.ask('finish') };
}

async function httpLoad(
  { field, scenario, durations }: Measurement,
  running: Running,
  pattern: Pattern,
  front: 'json' | 'check',
): Promise<Loaded> {
  const generator = field.jsonGenerator;
  await generator.ask('start', {
    ...commonLoad(scenario, running, running.httpPort),
    pattern,
    front,
    expectedStatus: pattern.code === CODE.ok ? 200 : 429,
  });
  const window = await measuredWindow(durations, () => generator.ask('mark'));
  return { figures: figuresOf(window), totals: await generator.ask('finish') };
}

async function measuredWindow(
  { warmUpMs, measuredMs }: Durations,
  mark: () => Promise<LoadWindow>,
  beside?: () => Promise<void>,
): Promise<LoadWindow> {
  await sleep(warmUpMs);
  await beside?.();
  await mark();
  await sleep(measuredMs);
  const window = await mark();
  await beside?.();
  return window;
}

/** h2load sends one message and no other, and says little; it is here to be believed. */
async function h2loadLoad(
  { scenario, durations, folder }: Measurement,
  running: Running,
  pattern: Pattern,
): Promise<Loaded> {
  const bodyFile = join(folder, 'request');
  writeFileSync(bodyFile, framed(encodeRateLimitRequest(requestOf(pattern, 0))));
  const samples: { readonly atMs: number; readonly service: number; readonly store: number }[] = [];
  const { service, store } = running.watched;
  const sample = (): void => {
    samples.push({
      atMs: performance.now(),
      service: processUsage(service).cpuMs,
      store: store === undefined ? Number.NaN : processUsage(store).cpuMs,
    });
  };
  const { requestsPerSecond, meanLatencyMs, succeeded } = await runH2load({
    url: `http://127.0.0.1:${running.grpcPort}${SHOULD_RATE_LIMIT_PATH}`,
    ...CONNECTIONS[scenario.connections],
    ...durations,
    bodyFile,
    headers: [
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
    ],
    onMeasuring: sample,
    onMeasured: sample,
  });
  const [begin, end] = samples;
  if (end === undefined) throw new Error('h2load did not say when it began and ended to measure');
  const elapsedMs = end.atMs - begin.atMs;
  const figures: Figures = {
    requestsPerSecond,
    meanMs: meanLatencyMs,
    p50Ms: Number.NaN,
    p99Ms: Number.NaN,
    p999Ms: Number.NaN,
    cpuMicros: ((end.service - begin.service) * 1_000) / ((requestsPerSecond * elapsedMs) / 1_000),
    busy: (end.service - begin.service) / elapsedMs,
    storeBusy: (end.store - begin.store) / elapsedMs,
    generatorBusy: Number.NaN,
  };
  // How many it sent in its warm-up it does not say.
  return { figures, totals: { answered: succeeded, begun: Number.POSITIVE_INFINITY } };
}

function commonLoad(scenario: Scenario, { watched }: Running, port: number): Load {
  return { port, ...CONNECTIONS[scenario.connections], watched };
}
