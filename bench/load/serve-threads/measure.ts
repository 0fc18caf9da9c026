import { availableParallelism } from 'node:os';
import { inTurns } from '../../support/comparison/turns.ts';
import type { Progress } from '../../support/progress.ts';
import { type ContestantName, type Store, serviceOn } from '../decisions/contestants.ts';
import type { Field } from '../decisions/field.ts';
import { type Durations, measure } from '../decisions/measure.ts';
import type { PatternName } from '../decisions/patterns.ts';
import type { Scenario } from '../decisions/scenario.ts';
import { type ThreadWork, threadsOnPage, workBetween } from './balance.ts';
import { medianOf, type ThreadsResult, type ThreadsRound } from './results.ts';

/** The services with one number of threads, and what they need. */
export interface ThreadsField {
  readonly count: number;
  readonly field: Field;
}

export interface ThreadsMeasurement {
  readonly fields: readonly ThreadsField[];
  readonly stores: readonly Store[];
  readonly folder: string;
  readonly progress: Progress;
}

/** Loads in which each call follows on an answer. In every round, the stores and the numbers of threads take turns. */
export async function measureLoads(
  measurement: ThreadsMeasurement,
  scenarios: readonly Scenario[],
  { rounds, durations }: { readonly rounds: number; readonly durations: Durations },
): Promise<ThreadsResult[]> {
  const results = scenarios.flatMap(scenario =>
    measurement.stores.map(store => emptyResult(measurement, { store, scenario, callsPerSecond: null })),
  );
  await runRounds(measurement, results, { rounds, durations });
  return results;
}

/**
 * Half of the rate that the first number of threads reaches, for all numbers of threads: at the same rate, processor
 * times for a decision can be compared.
 *
 * @param loads what was measured before: the rate is taken from it, or measured where it is not in it
 */
export async function measureSameRate(
  measurement: ThreadsMeasurement,
  {
    patterns,
    loads,
  }: { readonly patterns: readonly PatternName[]; readonly loads: readonly ThreadsResult[] },
  { rounds, durations }: { readonly rounds: number; readonly durations: Durations },
): Promise<ThreadsResult[]> {
  const results: ThreadsResult[] = [];
  for (const store of measurement.stores) {
    for (const pattern of patterns) {
      const scenario = steadyScenario(pattern, store);
      const rate =
        rateIn(loads, scenario, store) ?? (await measureRate(measurement, { store, scenario, durations }));
      results.push(emptyResult(measurement, { store, scenario, callsPerSecond: Math.round(rate / 2) }));
    }
  }
  await runRounds(measurement, results, { rounds, durations });
  return results;
}

/**
 * Loads each service once with each pattern, without a result: code is slow until it is compiled, which each thread does
 * for itself.
 */
export async function warmUp(
  measurement: ThreadsMeasurement,
  patterns: readonly PatternName[],
  warmUpMs: number,
): Promise<void> {
  for (const store of measurement.stores) {
    for (const each of measurement.fields) {
      for (const pattern of patterns) {
        measurement.progress.step(`warm-up: ${store}, ${pattern}, ${each.count} threads`);
        const scenario = steadyScenario(pattern, store);
        const durations = {
          warmUpMs: warmUpMs * Math.min(each.count, availableParallelism()),
          measuredMs: 1,
        };
        await measureOnce(measurement, each, { store, scenario, callsPerSecond: null, durations });
      }
    }
  }
}

interface Load {
  readonly store: Store;
  readonly scenario: Scenario;
  readonly callsPerSecond: number | null;
}

function steadyScenario(pattern: PatternName, store: Store): Scenario {
  return { front: 'grpc', pattern, connections: '8x32', contestants: [contestantOf(store)] };
}

function contestantOf(store: Store): ContestantName {
  return serviceOn(store, 'few');
}

function emptyResult({ fields }: ThreadsMeasurement, load: Load): ThreadsResult {
  const counts = fields.map(({ count }) => count);
  return { ...load, counts, rounds: counts.map(() => []) };
}

async function runRounds(
  measurement: ThreadsMeasurement,
  results: readonly ThreadsResult[],
  { rounds, durations }: { readonly rounds: number; readonly durations: Durations },
): Promise<void> {
  const forwards = [...measurement.fields.entries()];
  for (let round = 1; round <= rounds; round++) {
    for (const result of results) {
      for (const [i, each] of inTurns(forwards, round)) {
        const { store, scenario } = result;
        measurement.progress.step(
          `round ${round}, ${store}, ${scenario.pattern}, ${scenario.connections}: ${each.count} threads`,
        );
        result.rounds[i].push(await measureOnce(measurement, each, { ...result, durations }));
      }
    }
  }
}

/** The rate of the first number of threads under a load, if it was measured. */
function rateIn(
  loads: readonly ThreadsResult[],
  { pattern, connections }: Scenario,
  store: Store,
): number | undefined {
  const found = loads.find(
    ({ scenario, ...load }) =>
      load.store === store && scenario.pattern === pattern && scenario.connections === connections,
  );
  return found === undefined ? undefined : medianOf(found, found.counts[0], round => round.requestsPerSecond);
}

async function measureRate(
  measurement: ThreadsMeasurement,
  load: Omit<Load, 'callsPerSecond'> & { readonly durations: Durations },
): Promise<number> {
  const [first] = measurement.fields;
  return (await measureOnce(measurement, first, { ...load, callsPerSecond: null })).requestsPerSecond;
}

async function measureOnce(
  { folder }: ThreadsMeasurement,
  { field }: ThreadsField,
  { store, scenario, callsPerSecond, durations }: Load & { readonly durations: Durations },
): Promise<ThreadsRound> {
  const contestant = contestantOf(store);
  const { service } = field.of(contestant);
  const pages: ThreadWork[][] = [];
  const figures = await measure({
    field,
    scenario,
    contestant,
    durations,
    callsPerSecond,
    folder,
    beside: async () => {
      pages.push(threadsOnPage((await service?.page('/stats')) ?? ''));
    },
  });
  const [before, after] = pages;
  return { ...figures, threads: workBetween(before, after) };
}
