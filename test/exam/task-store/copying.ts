import { isDeepStrictEqual } from 'node:util';
import type { Test } from 'tap';
import { type Copy, type CopyPlace, FIRST_PLACE } from '../../../src/tasks/store/copies.ts';
import { SERVICE } from '../../../src/tasks/store/documents.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { violationsOf } from './invariants.ts';
import { compareAnswers, compareStates } from './random.ts';
import { call, randomSteps, type Step } from './random-steps.ts';
import { type Backend, type OpenStore, START } from './scene.ts';

/** Two stores with the same clock. The second one is empty at first. */
export interface Pair {
  readonly clock: ManualClock;
  readonly from: TaskStore;
  readonly to: TaskStore;
}

/** Opens a pair of stores. */
export async function openPair(t: Test, from: Backend, to: Backend): Promise<Pair> {
  const clock = new ManualClock(START);
  const open = async (backend: Backend): Promise<OpenStore> => {
    const opened = await backend.open(clock);
    t.teardown(() => opened.close());
    return opened;
  };
  return { clock, from: (await open(from)).store, to: (await open(to)).store };
}

/** Copies everything. It is for stores of a test; the command does it with progress, and checks it. */
export async function copyAll({ from, to }: Pick<Pair, 'from' | 'to'>): Promise<void> {
  for (const tenant of [SERVICE, ...(await from.tenants(null, 1_000))]) {
    for await (const copies of pagesOf(from, tenant)) await to.copyIn(tenant, copies);
  }
  for (let place: string | null = null; ; ) {
    const { answers, next } = await from.recallAll(place);
    for (const { tenant, answer } of answers) await to.copyIn(tenant, [answer]);
    if (next === null) return;
    place = next;
  }
}

export async function* pagesOf(store: TaskStore, tenant: string): AsyncGenerator<readonly Copy[]> {
  for (let place: CopyPlace | null = FIRST_PLACE; place !== null; ) {
    const { copies, next }: { copies: readonly Copy[]; next: CopyPlace | null } = await store.copyOut(
      tenant,
      place,
    );
    yield copies;
    place = next;
  }
}

/** All copies of a store as texts, in an order that is the same for every store. */
export async function copiesOf(store: TaskStore): Promise<readonly string[]> {
  const now = await store.now();
  const found: string[] = [];
  const add = (tenant: string, copy: Copy) =>
    found.push(`${tenant} ${JSON.stringify(ordered(withoutFreeKey(copy, now)))}`);
  for (const tenant of [SERVICE, ...(await store.tenants(null, 1_000))]) {
    for await (const copies of pagesOf(store, tenant)) for (const copy of copies) add(tenant, copy);
  }
  for (let place: string | null = null; ; ) {
    const { answers, next } = await store.recallAll(place);
    for (const { tenant, answer } of answers) add(tenant, answer);
    if (next === null) return found.sort();
    place = next;
  }
}

/** A key that has become free is held by nobody, whether or not the store has removed it. */
function withoutFreeKey(copy: Copy, now: number): Copy {
  const isFree = copy.kind === 'task' && copy.holdsKey !== null && (copy.holdsKey.freeAt ?? now + 1) <= now;
  return isFree ? { ...copy, holdsKey: null } : copy;
}

/** The same with the fields in the order of their names. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (value === null || typeof value !== 'object') return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, ordered(field)]));
}

export interface CopyExamSize {
  readonly sequences?: number;
  /** Steps before the copy, and after it. */
  readonly steps?: number;
  readonly seed?: number;
}

/** After a random history, a copy has all that the store had, and both go on in the same way. */
export function randomCopyExam(t: Test, from: Backend, to: Backend, size: CopyExamSize = {}): void {
  const { sequences = 4, steps: count = 150, seed: first = 501 } = size;
  t.test(`${from.name} to ${to.name}: a copy goes on as the original`, async t => {
    for (let seed = first; seed < first + sequences; seed++) {
      const steps = await randomSteps(seed, 2 * count);
      const difference = await differenceAfterCopy(await openPair(t, from, to), steps, count);
      if (difference !== null) return void t.fail(`sequence ${seed}: ${difference}`);
    }
    t.pass(`${sequences} sequences of ${2 * count} steps`);
  });
}

/** @param count number of steps before the copy */
async function differenceAfterCopy(
  pair: Pair,
  steps: readonly Step[],
  count: number,
): Promise<string | null> {
  const { clock, from, to } = pair;
  for (const [i, step] of steps.entries()) {
    if (i === count) {
      await copyAll(pair);
      const difference = (await compareStates(from, to)) ?? (await compareCopies(pair));
      if (difference !== null) return `after the copy: ${difference}`;
    }
    if ('advanceMs' in step) clock.advance(step.advanceMs);
    else if (i < count) await call(from, step);
    else {
      const difference = await compareAnswers(from, to, step);
      if (difference !== null) return `step ${i}: ${difference}`;
    }
  }
  const violations = await violationsOf(to);
  if (violations.length > 0) return violations.slice(0, 5).join('\n');
  return (await compareStates(from, to)) ?? compareCopies(pair);
}

async function compareCopies({ from, to }: Pair): Promise<string | null> {
  const [expected, found] = [await copiesOf(from), await copiesOf(to)];
  if (isDeepStrictEqual(found, expected)) return null;
  const missing = expected.filter(text => !found.includes(text));
  const added = found.filter(text => !expected.includes(text));
  return `copies differ\n- ${missing.slice(0, 2).join('\n- ')}\n+ ${added.slice(0, 2).join('\n+ ')}`;
}
