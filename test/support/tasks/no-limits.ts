import type { LimitAsker } from '../../../src/tasks/scheduler/attempts/start-limits.ts';

/** For tests without workers that name a limit. */
export const NO_LIMITS: LimitAsker = {
  ask: () => Promise.reject(new Error('limits are not part of this test')),
  giveBack: () => {},
};
