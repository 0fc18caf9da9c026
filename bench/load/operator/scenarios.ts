import type { ContestantName, Store } from '../decisions/contestants.ts';
import type { Scenario } from '../decisions/scenario.ts';

/** All requests are refused, by services that differ in nothing but whether their refusals explain themselves. */
export function answersScenarios(stores: readonly Store[]): Scenario[] {
  return stores.map(store => ({
    front: 'grpc',
    pattern: 'over',
    connections: '8x32',
    contestants: [store, `${store}-explained`],
  }));
}

/**
 * Services with and without hot keys and last refusals, while nobody reads them. Two services are the same, which shows how
 * much one process differs from another.
 */
export function hotKeysScenarios(stores: readonly Store[]): Scenario[] {
  return stores.flatMap(store =>
    (['keys', 'over'] as const).map(
      (pattern): Scenario => ({
        front: 'grpc',
        pattern,
        connections: '8x32',
        contestants: [`${store}-unrecorded`, `${store}-unrecorded-too`, store] satisfies ContestantName[],
      }),
    ),
  );
}
