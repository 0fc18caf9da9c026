import { type Shrunk, shrink } from './found/shrink.ts';
import type { AnyHistory, SeenInAll, Simulator } from './simulator.ts';

export interface CampaignOptions<H extends AnyHistory> {
  readonly simulator: Simulator<H>;
  readonly firstSeed: number;
  /** How many histories at most. */
  readonly most: number;
  /** None begins later. */
  readonly forMs: number;
  /** Is told of the first history that breaks each promise, made short. */
  readonly found: (shrunk: Shrunk<H>, seed: number) => void;
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
  readonly broken: ReadonlyMap<string, number>;
  readonly coverage: SeenInAll;
}

/** Plays random histories, one seed after the other. */
export async function campaign<H extends AnyHistory>(options: CampaignOptions<H>): Promise<CampaignResult> {
  const { simulator } = options;
  const coverage = simulator.newCoverage();
  const broken = new Map<string, number>();
  const beginMs = performance.now();
  let [histories, events, steps] = [0, 0, 0];
  const elapsedMs = () => performance.now() - beginMs;
  while (histories < options.most && elapsedMs() < options.forMs) {
    const seed = options.firstSeed + histories;
    const history = simulator.randomHistory(seed);
    const played = await simulator.play(history);
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
      options.found(isShort ? { history, violation } : await shrink(simulator, history, violation), seed);
    }
    if (options.ending !== 'all' && broken.size > 0) break;
  }
  return { histories, events, steps, seconds: elapsedMs() / 1_000, broken, coverage };
}
