import { inspect, isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';
import type { OperationName } from '../../../src/tasks/store/operations.ts';
import type { Overdue } from '../../../src/tasks/store/requests.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { ModelStore } from '../../support/tasks/model-store.ts';
import { differingPlaces } from './differing-places.ts';
import { violationsOf } from './invariants.ts';
import { call, randomSteps, type Step } from './random-steps.ts';
import { type Backend, START } from './scene.ts';
import { shortest } from './shortest.ts';
import { snapshotOf } from './snapshot.ts';

export interface RandomExamSize {
  readonly sequences?: number;
  /** Steps of each sequence; a few more begin and end it. */
  readonly steps?: number;
  /** Of the first sequence; those after it have the next ones. */
  readonly seed?: number;
}

/** How often everything that a store holds is compared, in steps. Each answer is compared in any case. */
const COMPARED_EVERY = 75;

/** How often a sequence that differs is tried anew, shortened. */
const MAX_TRIES = 300;

/**
 * Random sequences of operations: every answer, and at intervals everything that can be read, must equal that of the
 * model, which shares no code with the stores; in the end the invariants must hold. A sequence that differs is shortened
 * and told as code.
 */
export function randomExam(t: Test, backend: Backend, size: RandomExamSize = {}): void {
  const { sequences = 40, steps: count = 300, seed: first = 1 } = size;
  t.test(`${backend.name}: random operations are answered as by the model`, async t => {
    for (let seed = first; seed < first + sequences; seed++) {
      const steps = await randomSteps(seed, count);
      const difference = await differenceIn(backend, steps);
      if (difference === null) continue;
      t.fail(`sequence ${seed} differs: ${difference.text}`);
      t.comment(await explain(backend, steps, difference));
      return;
    }
    t.pass(`${sequences} sequences of ${count} steps`);
  });
}

/** Where a store first answered otherwise than the model. */
export interface Difference {
  /** The number of steps that led to it. */
  readonly steps: number;
  readonly text: string;
}

/** Takes the steps with a new store and the model; null when there is no difference. */
export async function differenceIn(backend: Backend, steps: readonly Step[]): Promise<Difference | null> {
  const clock = new ManualClock(START);
  const model = new ModelStore(clock);
  const { store, close } = await backend.open(clock);
  try {
    for (const [i, step] of steps.entries()) {
      const text =
        'advanceMs' in step ? pass(clock, step.advanceMs) : await compareAnswers(model, store, step);
      if (text !== null) return { steps: i + 1, text };
      if ((i + 1) % COMPARED_EVERY !== 0) continue;
      const state = await compareStates(model, store);
      if (state !== null) return { steps: i + 1, text: state };
    }
    const text = (await compareStates(model, store)) ?? (await violations(store));
    return text === null ? null : { steps: steps.length, text };
  } finally {
    await close();
  }
}

function pass(clock: ManualClock, ms: number): null {
  clock.advance(ms);
  return null;
}

/** Compares the answers to one step; null when they are equal. */
export async function compareAnswers(
  model: TaskStore,
  store: TaskStore,
  step: Exclude<Step, { advanceMs: number }>,
): Promise<string | null> {
  const expected = comparable(step.call, await call(model, step));
  const found = comparable(step.call, await call(store, step).catch(error => ({ rejected: error })));
  if (isDeepStrictEqual(found, expected)) return null;
  return `${step.call} answered otherwise than the model\n${differingPlaces(found, expected)}`;
}

/** What of an answer counts: hints do not, nor the order of what has none. */
export function comparable(name: OperationName, answer: unknown): unknown {
  if (name === 'wakeups') return null;
  if (name === 'overdue') {
    if (!Array.isArray(answer)) return answer;
    const found: readonly Overdue[] = answer;
    const leases = found.flatMap(({ tenant, leases }) => leases.map(lease => ({ tenant, ...lease })));
    const expired = found.flatMap(({ tenant, expired }) => expired.map(task => ({ tenant, task })));
    return { leases: sorted(leases), expired: sorted(expired) };
  }
  return name === 'dueDocuments' && Array.isArray(answer) ? sorted(answer) : answer;
}

function sorted(items: readonly unknown[]): unknown[] {
  return items
    .map(item => ({ item, text: JSON.stringify(item, (_key, value) => ordered(value)) }))
    .sort((a, b) => (a.text < b.text ? -1 : 1))
    .map(({ item }) => item);
}

/** The same fields in the order of their names. */
function ordered(value: unknown): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Compares everything that can be read; null when it is equal. */
export async function compareStates(model: TaskStore, store: TaskStore): Promise<string | null> {
  const [expected, found] = [await snapshotOf(model), await snapshotOf(store)];
  if (isDeepStrictEqual(found, expected)) return null;
  return `it holds something else than the model\n${differingPlaces(found, expected)}`;
}

async function violations(store: TaskStore): Promise<string | null> {
  const found = await violationsOf(store);
  return found.length === 0 ? null : `invariants do not hold\n${found.slice(0, 10).join('\n')}`;
}

/** The shortest sequence found that still differs, as code, and in what it does. */
async function explain(backend: Backend, steps: readonly Step[], difference: Difference): Promise<string> {
  const differs = async (part: readonly Step[]) => (await differenceIn(backend, part)) !== null;
  const found = await shortest(steps.slice(0, difference.steps), differs, MAX_TRIES);
  const last = await differenceIn(backend, found);
  return `${found.map(codeOf).join('\n')}\n// ${(last ?? difference).text.replaceAll('\n', '\n// ')}\n`;
}

export function codeOf(step: Step): string {
  if ('advanceMs' in step) return `clock.advance(${step.advanceMs});`;
  const args = step.args.map(arg => inspect(arg, { depth: null, compact: 20, breakLength: 110 }));
  return `await store.${step.call}(${args.join(', ')});`;
}
