import { setTimeout as sleep } from 'node:timers/promises';
import type { Progress } from '../../support/progress.ts';
import { CONTESTANTS, type Store, serviceOn } from './contestants.ts';
import type { Field } from './field.ts';
import { type Figures, figuresOf } from './figures.ts';
import { type Durations, measure } from './measure.ts';
import { CODE, PATTERNS, templateOf } from './patterns.ts';
import { CONNECTIONS, type Scenario } from './scenario.ts';

/** An everyday rate. It is far below the capacity of the service, so nearly every decision wakes the service up. */
export const EVERYDAY_CALLS_PER_SECOND = 10_000;

/** How the calls are spaced: one at a time, or ten every millisecond, spread over the connections. */
export const ARRIVALS = ['one by one', 'every millisecond'] as const;
export type Arrivals = (typeof ARRIVALS)[number];

/** `relay` is the cost of the same reads and writes in Node.js without the service; see `relay.ts`. */
export interface EverydayResult {
  readonly contestant: Store | 'relay';
  readonly arrivals: Arrivals;
  readonly rounds: Figures[];
}

export interface Everyday {
  readonly field: Field;
  readonly stores: readonly Store[];
  readonly rounds: number;
  readonly durations: Durations;
  readonly folder: string;
  readonly progress: Progress;
}

/** What is measured at that rate in addition to the stores. The relay needs the Redis of the service. */
export function everydayContestants(stores: readonly Store[]): EverydayResult['contestant'][] {
  return stores.includes('redis') ? [...stores, 'relay'] : [...stores];
}

/** Measures a steady rate over eight connections. */
export async function measureEveryday(everyday: Everyday): Promise<EverydayResult[]> {
  const results = everydayContestants(everyday.stores).flatMap(contestant =>
    ARRIVALS.map((arrivals): EverydayResult => ({ contestant, arrivals, rounds: [] })),
  );
  for (const store of everyday.stores) await warmUp(everyday, store);
  for (let round = 0; round < everyday.rounds; round++) {
    for (const { contestant, arrivals, rounds } of results) {
      everyday.progress.step(`everyday rate, ${contestant}, ${arrivals}`);
      const apart = arrivals === 'one by one';
      rounds.push(
        await (contestant === 'relay'
          ? measureRelay(everyday, apart)
          : measureService(everyday, contestant, apart)),
      );
    }
  }
  return results;
}

/** Runs a load before the measurement. At a steady rate it takes many seconds until V8 has compiled everything. */
async function warmUp({ field, folder, durations }: Everyday, store: Store): Promise<void> {
  const contestant = serviceOn(store, 'few');
  const scenario: Scenario = {
    front: 'grpc',
    pattern: 'keys',
    connections: '8x32',
    contestants: [contestant],
  };
  await measure({ field, folder, durations, scenario, contestant, callsPerSecond: null });
}

function measureService(
  { field, folder, durations }: Everyday,
  store: Store,
  apart: boolean,
): Promise<Figures> {
  const contestant = serviceOn(store, 'few');
  const scenario: Scenario = {
    front: 'grpc',
    pattern: 'keys',
    connections: '8x32',
    contestants: [contestant],
  };
  const callsPerSecond = EVERYDAY_CALLS_PER_SECOND;
  return measure({ field, folder, durations, scenario, contestant, callsPerSecond, apart });
}

async function measureRelay({ field, durations }: Everyday, apart: boolean): Promise<Figures> {
  const { pid, port } = await field.relay();
  const { store } = field.of(serviceOn('redis', 'few')).watched;
  const generator = field.grpcGenerator;
  await generator.ask('start', {
    port,
    ...CONNECTIONS['8x32'],
    watched: { service: pid, ...(store === undefined ? {} : { store }) },
    template: templateOf(PATTERNS.keys),
    expectedCode: CODE.ok,
    callsPerSecond: EVERYDAY_CALLS_PER_SECOND,
    apart,
  });
  await sleep(durations.warmUpMs);
  await generator.ask('mark');
  await sleep(durations.measuredMs);
  const figures = figuresOf(await generator.ask('mark'));
  await generator.ask('finish');
  return figures;
}

export function titleOfEveryday({ contestant, arrivals }: EverydayResult): string {
  return `${contestant === 'relay' ? 'bare relay to Redis' : CONTESTANTS[contestant].title}, ${arrivals}`;
}
