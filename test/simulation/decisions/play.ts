import { EndlessHistory } from '../world/simulated-time.ts';
import { Judge } from './checks/judge.ts';
import type { Violation } from './checks/violations.ts';
import type { History } from './steps/step.ts';
import { World } from './world/world.ts';

/** What became of a history. */
export interface Played {
  readonly violations: readonly Violation[];
  /** How many events there were: messages that arrived, and timers. */
  readonly events: number;
  /** How often everything happened that can happen. */
  readonly coverage: ReadonlyMap<string, number>;
  /** All that callers were told: two runs of one history have the same. */
  readonly digest: string;
}

/** How long after the last step everything has its answer. */
const AFTERMATH_MS = 30_000;

/** Lets a history happen, and looks whether all promises were kept. */
export async function play(history: History): Promise<Played> {
  const judge = new Judge(history);
  const world = new World(history, judge);
  const startMs = world.time.nowMs();
  world.plan();
  try {
    await world.time.runUntil(startMs + (history.steps.at(-1)?.at ?? 0) + AFTERMATH_MS);
    judge.finish(world);
  } catch (failure) {
    if (!(failure instanceof EndlessHistory)) throw failure;
    judge.report('one answer for each request', `the history has no end: ${failure.message}`);
  } finally {
    world.close();
  }
  const coverage = new Map<string, number>();
  for (const [what, times] of judge.seen) coverage.set(`answer ${what}`, times);
  for (const [what, times] of world.troubles.seen) coverage.set(`trouble ${what}`, times);
  let digest = 0;
  for (const letter of JSON.stringify(world.calls.map(({ answers }) => answers)))
    digest = (Math.imul(digest, 31) + letter.charCodeAt(0)) | 0;
  return {
    violations: judge.violations,
    events: world.time.happened,
    coverage,
    digest: `${digest} ${world.time.happened}`,
  };
}
