import { shortest } from '../../exam/task-store/shortest.ts';
import type { Promised, Violation } from '../checks/violations.ts';
import { play } from '../play.ts';
import type { History } from '../steps/step.ts';

/** How often a history is played to make it shorter, and for how long. */
const MOST_TRIES = 400;
const LONGEST_MS = 60_000;

/** A history that breaks a promise, as short as it could be made. */
export interface Shrunk {
  readonly history: History;
  readonly violation: Violation;
}

/** Leaves out what is not needed for a history to break the same promise. */
export async function shrink(history: History, violation: Violation): Promise<Shrunk> {
  const { promise } = violation;
  const endMs = performance.now() + LONGEST_MS;
  const steps = await shortest(
    history.steps,
    async part =>
      performance.now() < endMs && (await violationIn({ ...history, steps: part }, promise)) !== null,
    MOST_TRIES,
  );
  let found: Shrunk = { history: { ...history, steps }, violation };
  for (const simpler of [
    { delayMs: 0 },
    { processes: 1 },
    { processes: 2 },
    { start: '2026-03-01T12:00:00Z' },
    { slots: 16 },
  ]) {
    const tried = { ...found.history, ...simpler };
    const broken = tried.processes > found.history.processes ? null : await violationIn(tried, promise);
    if (broken !== null) found = { history: tried, violation: broken };
  }
  return { ...found, violation: (await violationIn(found.history, promise)) ?? violation };
}

async function violationIn(history: History, promise: Promised): Promise<Violation | null> {
  const { violations } = await play(history);
  return violations.find(violation => violation.promise === promise) ?? null;
}
