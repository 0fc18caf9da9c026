import { Coverage } from './coverage.ts';
import { play } from './play.ts';
import type { Simulator } from './simulator.ts';
import { randomHistory } from './steps/random-history.ts';
import type { History, StoreKind } from './steps/step.ts';

/** @param store in place of the store that the seed chooses */
export function tasksSimulator(store: StoreKind | null = null): Simulator<History> {
  return {
    name: 'tasks',
    randomHistory: seed => {
      const history = randomHistory(seed);
      return store === null ? history : { ...history, store };
    },
    play,
    simpler: [
      { delayMs: 0 },
      { processes: 1 },
      { processes: 2 },
      { start: '2026-03-01T12:00:00Z' },
      { slots: 16 },
    ],
    isLarger: (history, than) => history.processes > than.processes,
    newCoverage: () => new Coverage(),
  };
}
