import type { Promised } from './checks/violations.ts';
import { Coverage } from './coverage.ts';
import { type Shrunk, shrink } from './found/shrink.ts';
import { play } from './play.ts';
import { randomHistory } from './steps/random-history.ts';
import type { StoreKind } from './steps/step.ts';

export interface CampaignOptions {
  readonly firstSeed: number;
  /** In place of the store that the seed chooses. */
  readonly store?: StoreKind;
  /** How many histories at most. */
  readonly most: number;
  /** None begins later. */
  readonly forMs: number;
  /** Is told of the first history that breaks each promise, made short. */
  readonly found: (shrunk: Shrunk, seed: number) => void;
  /**
   * - `all`: goes on after a broken promise
   * - `first`: ends with the first broken promise, and makes its history short
   * - `unshrunk`: ends with it at once
   */
  readonly ending: 'all' | 'first' | 'unshrunk';
}

export interface CampaignResult {
  readonly histories: number;
  readonly events: number;
  readonly steps: number;
  readonly seconds: number;
  /** By promise, in how many histories it was broken. */
  readonly broken: ReadonlyMap<Promised, number>;
  readonly coverage: Coverage;
}

/** Plays random histories, one seed after the other. */
export async function campaign(options: CampaignOptions): Promise<CampaignResult> {
  const coverage = new Coverage();
  const broken = new Map<Promised, number>();
  const beginMs = performance.now();
  let [histories, events, steps] = [0, 0, 0];
  const elapsedMs = () => performance.now() - beginMs;
  while (histories < options.most && elapsedMs() < options.forMs) {
    const seed = options.firstSeed + histories;
    const random = randomHistory(seed);
    const history = { ...random, store: options.store ?? random.store };
    const played = await play(history);
    histories++;
    events += played.events;
    steps += history.steps.length;
    coverage.add(played.coverage);
    for (const promise of new Set(played.violations.map(violation => violation.promise))) {
      const times = (broken.get(promise) ?? 0) + 1;
      broken.set(promise, times);
      const violation = played.violations.find(each => each.promise === promise)!;
      if (times > 1) continue;
      const isShort = options.ending === 'unshrunk';
      options.found(isShort ? { history, violation } : await shrink(history, violation), seed);
    }
    if (options.ending !== 'all' && broken.size > 0) break;
  }
  return { histories, events, steps, seconds: elapsedMs() / 1_000, broken, coverage };
}
