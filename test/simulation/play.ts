import { Judge } from './checks/judge.ts';
import type { Violation } from './checks/violations.ts';
import type { History } from './steps/step.ts';
import { Ending } from './world/ending.ts';
import { EndlessHistory } from './world/simulated-time.ts';
import { World } from './world/world.ts';

/** What became of a history. */
export interface Played {
  readonly violations: readonly Violation[];
  /** How many events there were: messages that arrived, and timers. */
  readonly events: number;
  /** How many milliseconds it lasted in its own time. */
  readonly lastedMs: number;
  /** How often everything happened that can happen. */
  readonly coverage: ReadonlyMap<string, number>;
  /** All that the store was asked, one after the other: two runs of one history have the same. */
  readonly digest: string;
}

/**
 * Lets a history happen, and looks whether all promises were kept.
 *
 * @param watch is called with those that can tell what happens
 */
export async function play(
  history: History,
  watch: (judge: Judge, world: World) => void = () => {},
): Promise<Played> {
  const world = new World(history);
  const judge = new Judge(world);
  watch(judge, world);
  const coverage = new Map<string, number>();
  const count = (what: string, by = 1) => coverage.set(what, (coverage.get(what) ?? 0) + by);
  let digest = 0;
  world.store.listen(({ operation, at }) => {
    count(`operation ${operation.name}`);
    for (const letter of `${operation.name}${at}`)
      digest = (Math.imul(digest, 31) + letter.charCodeAt(0)) | 0;
  });
  const startMs = world.time.nowMs();
  world.plan();
  try {
    await world.time.runUntil(startMs + (history.steps.at(-1)?.at ?? 0));
    await new Ending(world, judge).run();
    await judge.finish();
  } catch (failure) {
    if (!(failure instanceof EndlessHistory)) throw failure;
    judge.report('no one waits for ever', `the history has no end: ${failure.message}`);
  }
  for (const [what, times] of judge.transitions) count(`change ${what}`, times);
  for (const [what, times] of world.troubles.seen) count(`trouble ${what}`, times);
  for (const [what, times] of world.callers.answers) count(`call ${what}`, times);
  return {
    violations: judge.violations,
    events: world.time.happened,
    lastedMs: world.time.nowMs() - startMs,
    coverage,
    digest: `${digest} ${world.time.happened}`,
  };
}
