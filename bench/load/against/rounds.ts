import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { treeRssBytes } from '../../support/comparison/process-tree.ts';
import { inTurns } from '../../support/comparison/turns.ts';
import type { Progress } from '../../support/progress.ts';
import { CONTESTANTS, type ContestantName } from '../decisions/contestants.ts';
import { Field } from '../decisions/field.ts';
import type { Figures } from '../decisions/figures.ts';
import type { Generators } from '../decisions/generators.ts';
import { type Durations, measure } from '../decisions/measure.ts';
import type { BuildLoad } from './loads.ts';

/** The two builds, in the order of the first round. */
export const SIDES = ['present', 'other'] as const;
export type Side = (typeof SIDES)[number];
export type BothSides<T> = Readonly<Record<Side, T>>;

export interface LoadResult {
  readonly load: BuildLoad;
  readonly rounds: BothSides<Figures[]>;
}

/** Resident memory of a service, in bytes, in each round. */
export interface MemoryResult {
  readonly contestant: ContestantName;
  /** Before its first call. */
  readonly atRest: BothSides<number[]>;
  /** After its last call of the round. */
  readonly afterLoad: BothSides<number[]>;
}

export interface BuildsResult {
  readonly loads: readonly LoadResult[];
  readonly memory: readonly MemoryResult[];
}

export interface BuildRounds {
  readonly loads: readonly BuildLoad[];
  /** The folders of the builds. */
  readonly roots: BothSides<string>;
  readonly count: number;
  /** Of loads whose calls follow on answers, and of those with a steady rate. */
  readonly durations: Durations;
  readonly pacedDurations: Durations;
  /** Of the load with which each service begins: code is slow until it is compiled. */
  readonly firstWarmUpMs: number;
  readonly workers: number | null;
  readonly generators: Generators;
  readonly folder: string;
  readonly progress: Progress;
}

/** The time from when the services accept calls until their memory is read. */
export const REST_MS = 2_000;

/** Steps that a round reports as progress. */
export function stepsOfRound(loads: readonly BuildLoad[]): number {
  return (servicesOf(loads).length + loads.length) * SIDES.length;
}

/** The services that the loads need from each build. */
export function servicesOf(loads: readonly BuildLoad[]): ContestantName[] {
  return [...new Set(loads.map(({ contestant }) => contestant))];
}

/**
 * Measures both builds with each load, in turns. Every round has new processes and empty stores: which code V8 compiles,
 * and where objects are in memory, differs from process to process of the same build, and the ratios have to show how
 * much.
 */
export async function runBuildRounds(rounds: BuildRounds): Promise<BuildsResult> {
  const result: BuildsResult = {
    loads: rounds.loads.map(load => ({ load, rounds: { present: [], other: [] } })),
    memory: servicesOf(rounds.loads).map(contestant => ({
      contestant,
      atRest: { present: [], other: [] },
      afterLoad: { present: [], other: [] },
    })),
  };
  const peaks = new Map<BuildLoad, number>();
  for (let round = 1; round <= rounds.count; round++) await runRound(rounds, round, result, peaks);
  return result;
}

async function runRound(
  rounds: BuildRounds,
  round: number,
  result: BuildsResult,
  peaks: Map<BuildLoad, number>,
): Promise<void> {
  const fields = new Map<Side, Field>();
  const order = inTurns(SIDES, round);
  try {
    for (const side of order) fields.set(side, await startField(rounds, side, round));
    await sleep(REST_MS);
    readMemory(fields, result.memory, 'atRest');
    for (const contestant of servicesOf(rounds.loads)) {
      for (const side of order) {
        rounds.progress.step(`round ${round}, warm-up: ${CONTESTANTS[contestant].title}, ${side} build`);
        await warmUp(rounds, fieldOf(fields, side), contestant);
      }
    }
    for (const { load, rounds: done } of result.loads) {
      const callsPerSecond = await rateOf(rounds, load, fieldOf(fields, 'other'), peaks);
      for (const side of order) {
        rounds.progress.step(`round ${round}, ${load.title}: ${side} build`);
        done[side].push(await measureLoad(rounds, fieldOf(fields, side), load, callsPerSecond));
      }
    }
    readMemory(fields, result.memory, 'afterLoad');
  } finally {
    for (const field of fields.values()) await field.stop();
  }
}

async function startField(rounds: BuildRounds, side: Side, round: number): Promise<Field> {
  const { loads, roots, workers, generators } = rounds;
  const folder = join(rounds.folder, `${side}-${round}`);
  mkdirSync(folder);
  return await Field.start({
    contestants: servicesOf(loads),
    workers,
    generators,
    root: roots[side],
    folder,
  });
}

function fieldOf(fields: ReadonlyMap<Side, Field>, side: Side): Field {
  return fields.get(side) as Field;
}

function readMemory(
  fields: ReadonlyMap<Side, Field>,
  memory: readonly MemoryResult[],
  when: 'atRest' | 'afterLoad',
): void {
  for (const result of memory) {
    for (const [side, field] of fields)
      result[when][side].push(treeRssBytes(field.of(result.contestant).watched['service']));
  }
}

async function warmUp(
  { firstWarmUpMs, folder }: BuildRounds,
  field: Field,
  contestant: ContestantName,
): Promise<void> {
  await measure({
    field,
    scenario: { front: 'grpc', pattern: 'keys', connections: '8x32', contestants: [contestant] },
    contestant,
    durations: { warmUpMs: firstWarmUpMs, measuredMs: 1 },
    callsPerSecond: null,
    folder,
  });
}

/** Both builds get the same rate in all rounds: latencies and processor time can be compared only at the same rate. */
async function rateOf(
  rounds: BuildRounds,
  load: BuildLoad,
  other: Field,
  peaks: Map<BuildLoad, number>,
): Promise<number | null> {
  if (load.rate !== 'half of the peak') return load.rate;
  const peak = peaks.get(load) ?? (await measureLoad(rounds, other, load, null)).requestsPerSecond;
  peaks.set(load, peak);
  return peak / 2;
}

function measureLoad(
  { durations, pacedDurations, folder }: BuildRounds,
  field: Field,
  { scenario, contestant, apart }: BuildLoad,
  callsPerSecond: number | null,
): Promise<Figures> {
  return measure({
    field,
    scenario,
    contestant,
    durations: callsPerSecond === null ? durations : pacedDurations,
    callsPerSecond,
    apart,
    folder,
  });
}
