import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryStore } from '../../support/tasks/memory-store.ts';
import { RandomRequests } from './random-requests.ts';
import { START } from './scene.ts';

/** The operations that random sequences consist of. */
export type Operation = Exclude<keyof TaskStore, 'name' | 'start' | 'stop' | 'ping'>;

/** One step: time passes, or the store is asked for something. It holds all that it needs, so others can be left out. */
export type Step =
  | { readonly advanceMs: number }
  | { readonly [O in Operation]: { readonly call: O; readonly args: Parameters<TaskStore[O]> } }[Operation];

/** How often each kind of step is taken. */
const WEIGHTS: Readonly<Record<string, number>> = {
  pass: 14,
  create: 17,
  claim: 15,
  settle: 17,
  change: 18,
  extend: 4,
  remove: 2,
  endOverdue: 4,
  purge: 2,
  apply: 7,
  read: 8,
  remember: 2,
  setWakeup: 1,
};
const KINDS = Object.entries(WEIGHTS).flatMap(([kind, weight]) => Array<string>(weight).fill(kind));

/** A sequence of so many steps and some more, which follows from the seed alone. It is made by walking it with the model. */
export async function randomSteps(seed: number, count: number): Promise<Step[]> {
  const clock = new ManualClock(START);
  const model = new MemoryStore(clock);
  const requests = new RandomRequests(clock, model, seed);
  const steps: Step[] = [];
  const take = async (step: Step) => {
    steps.push(step);
    if ('advanceMs' in step) clock.advance(step.advanceMs);
    else requests.learn(await call(model, step));
  };
  for (const step of requests.beginning()) await take(step);
  while (steps.length < count) {
    const kind = requests.random.pick(KINDS);
    for (const step of await requests.next(kind)) await take(step);
  }
  for (const step of requests.end()) await take(step);
  return steps;
}

/** Asks a store for what the step says. */
export function call(store: TaskStore, step: Exclude<Step, { advanceMs: number }>): Promise<unknown> {
  const operation = store[step.call] as (...args: readonly unknown[]) => Promise<unknown>;
  return operation.apply(store, [...step.args]);
}
