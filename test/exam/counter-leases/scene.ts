import type { Test } from 'tap';
import type { CounterStore } from '../../../src/counters/store.ts';
import { batchOf, type TestGroup, type TestOp } from '../../support/counting.ts';
import type { LeaseAnswer, LeaseLevel } from '../../support/lease-model.ts';
import { decidedOf, decideLeases, leaseTime, WINDOW_S } from '../../support/leases.ts';

/** An empty store, and the clock by which its leases end. */
export class LeaseScene {
  store: CounterStore;
  /** Whether requests of several limits are sent one after the other, and not in one batch. */
  readonly isOneByOne: boolean;
  /** The end of the window of all limits, in seconds. */
  windowEndS: number;
  nowMs: number;

  /** @param nowMs the time of all batches until it is moved, which is the start of a window */
  constructor(store: CounterStore, nowMs: number, isOneByOne = false) {
    this.store = store;
    this.isOneByOne = isOneByOne;
    this.nowMs = nowMs;
    this.windowEndS = Math.floor(nowMs / 1_000) + WINDOW_S;
  }

  get time() {
    return leaseTime(this.nowMs, this.windowEndS);
  }

  /** Moves the clock. */
  wait(ms: number): void {
    this.nowMs += ms;
  }

  /** Decides requests of one op each, in one batch. */
  each(...ops: readonly TestOp[]): Promise<LeaseAnswer[]> {
    return this.#batch(ops.map(op => ({ ops: [op] })));
  }

  /** Decides one request. */
  together(...ops: readonly TestOp[]): Promise<LeaseAnswer[]> {
    return this.requests({ ops });
  }

  /** Decides requests, one after the other. */
  async requests(...groups: readonly TestGroup[]): Promise<LeaseAnswer[]> {
    if (!this.isOneByOne) return this.#batch(groups);
    const answers: LeaseAnswer[] = [];
    for (const group of groups) answers.push(...(await this.#batch([group])));
    return answers;
  }

  async #batch(groups: readonly TestGroup[]): Promise<LeaseAnswer[]> {
    return (await decideLeases(this.store, groups, this.time)).answers;
  }

  /** Decides a request of one op; what its limit is like afterwards. */
  async levelAfter(op: TestOp): Promise<LeaseLevel> {
    return (await decideLeases(this.store, [{ ops: [op] }], this.time)).levels[0]!;
  }

  /** Reads a limit, or resets it. The time that is left is in whole seconds, because the clock of a server runs. */
  async look(op: TestOp, call: 'read' | 'reset' = 'read'): Promise<LeaseLevel & { readonly level: number }> {
    const batch = batchOf([{ ops: [op] }], this.time);
    await this.store[call]!(batch);
    const level = decidedOf(batch).levels[0]!;
    return { level: batch.counts[0], ...level, endsMs: Math.ceil(level.endsMs / 1_000) * 1_000 };
  }
}

/** A topic of the exam, as the tests of it. */
export type LeaseTopic = (
  test: (title: string, show: (scene: LeaseScene, t: Test) => Promise<unknown>) => void,
) => void;
