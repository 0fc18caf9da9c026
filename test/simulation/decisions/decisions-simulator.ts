import type { Simulator } from '../simulator.ts';
import { Coverage } from './coverage.ts';
import { play } from './play.ts';
import { randomHistory } from './steps/random-history.ts';
import type { History } from './steps/step.ts';

export const DECISIONS_SIMULATOR: Simulator<History> = {
  name: 'decisions',
  randomHistory,
  play,
  simpler: [
    { delayMs: 0 },
    { hasLocalCache: false },
    { holdsBack: false },
    { modes: { shadow: false, quota: false } },
    { aheadMs: [] },
    { failureMode: 'error' },
    { instances: 1 },
    { instances: 2 },
    { start: '2026-03-01T12:00:00Z' },
  ],
  isLarger: (history, than) => history.instances > than.instances,
  newCoverage: () => new Coverage(),
};
