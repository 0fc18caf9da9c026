import { HotKeyObserver } from '../../src/decision/hot-keys/hot-key-observer.ts';
import { HotKeys } from '../../src/decision/hot-keys/hot-keys.ts';
import { LastRefusals } from '../../src/decision/hot-keys/last-refusals.ts';
import { Seats } from '../../src/decision/hot-keys/seats.ts';
import { type DecisionSetup, Decisions } from './decisions.ts';
import { SeededRandom } from './seeded-random.ts';
import { TEST_FINGERPRINT_KEY } from './stores.ts';

/** Decisions whose hot keys and refusals are recorded, and their readers. */
export class WatchedDecisions {
  readonly decisions: Decisions;
  readonly hotKeys: HotKeys;
  readonly refusals: LastRefusals;
  readonly seats: Seats;

  constructor(setup: Omit<DecisionSetup, 'observers'>, seats = Seats.create(1)) {
    const identity = {
      fingerprintKey: TEST_FINGERPRINT_KEY,
      cacheKeyPrefix: setup.options?.cacheKeyPrefix ?? '',
    };
    const random = new SeededRandom(1);
    const observer = new HotKeyObserver({ ...identity, seats, threadId: 0, random: () => random.next() });
    const decisions = new Decisions({ ...setup, observers: [observer] });
    const rules = () => decisions.rules;
    this.seats = seats;
    this.decisions = decisions;
    this.hotKeys = new HotKeys({ ...identity, seats, rules, clock: decisions.clock });
    this.refusals = new LastRefusals({ ...identity, seats, rules, clock: decisions.clock });
  }

  /** Number of the limit with a path, as the readers use it. */
  limit(path: string): number {
    const { rules } = this.decisions;
    for (let limit = 0; limit < (rules?.limitCount ?? 0); limit++) {
      if (rules!.path(limit) === path) return limit;
    }
    throw new Error(`no limit has the path ${path}`);
  }
}
