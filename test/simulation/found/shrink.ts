import { shortest } from '../../exam/task-store/shortest.ts';
import type { AnyHistory, AnyViolation, Simulator } from '../simulator.ts';

/** How often a history is played to make it shorter, and for how long. */
const MOST_TRIES = 400;
const LONGEST_MS = 60_000;

/** A history that breaks a promise, as short as it could be made. */
export interface Shrunk<H extends AnyHistory> {
  readonly history: H;
  readonly violation: AnyViolation;
}

/** Leaves out what is not needed for a history to break the same promise. */
export async function shrink<H extends AnyHistory>(
  simulator: Simulator<H>,
  history: H,
  violation: AnyViolation,
): Promise<Shrunk<H>> {
  const { promise } = violation;
  const endMs = performance.now() + LONGEST_MS;
  const violationIn = async (tried: H) => {
    const { violations } = await simulator.play(tried);
    return violations.find(each => each.promise === promise) ?? null;
  };
  const steps = await shortest(
    history.steps,
    async part => performance.now() < endMs && (await violationIn({ ...history, steps: part })) !== null,
    MOST_TRIES,
  );
  let found: Shrunk<H> = { history: { ...history, steps }, violation };
  for (const simpler of simulator.simpler) {
    const tried = { ...found.history, ...simpler };
    const broken = simulator.isLarger(tried, found.history) ? null : await violationIn(tried);
    if (broken !== null) found = { history: tried, violation: broken };
  }
  return { ...found, violation: (await violationIn(found.history)) ?? violation };
}
