import { float } from './kinds.ts';
import { setting } from './setting.ts';

/** What is counted (spec 2.7 and 6). */
export const statistics = {
  title: 'Statistics',
  settings: {
    // The reference implementation holds this in 32 bits; whoever computes a threshold rounds both operands.
    nearLimitRatio: setting({
      names: ['NEAR_LIMIT_RATIO'],
      kind: float({ min: 0, max: 1 }),
      default: 0.8,
      help: 'Share of a limit above which hits count as near it.',
    }),
  },
} as const;
