import type { Call } from './load.ts';
import { passedInOrder, type Tally } from './tally.ts';

/** Calls by number: which must come before which. */
class Precedence {
  readonly #after: number[][];
  readonly #before: Uint32Array;

  constructor(calls: number) {
    this.#after = Array.from({ length: calls }, () => []);
    this.#before = new Uint32Array(calls);
  }

  /** A call may hit one counter twice, and does not come before itself. */
  put(first: number, then: number): void {
    if (first === then) return;
    this.#after[first].push(then);
    this.#before[then]++;
  }

  /** True when all calls can be put in one order: takes those before which nothing is left, until none is. */
  hasOrder(): boolean {
    const left = this.#before.slice();
    const free = this.#after.flatMap((_, call) => (left[call] === 0 ? [call] : []));
    let taken = 0;
    for (let call = free.pop(); call !== undefined; call = free.pop()) {
      taken++;
      for (const next of this.#after[call]) if (--left[next] === 0) free.push(next);
    }
    return taken === this.#after.length;
  }
}

/** Whether one order of whole calls fits what every counter has seen and the order in which each caller asked. */
export function haveOneOrder(calls: readonly Call[], tallies: readonly Tally[]): boolean {
  const precedence = new Precedence(calls.length);
  const lastOf = new Map<number, number>();
  calls.forEach(({ caller }, number) => {
    const last = lastOf.get(caller);
    if (last !== undefined) precedence.put(last, number);
    lastOf.set(caller, number);
  });
  for (const tally of tallies) orderOfCounter(precedence, tally);
  return precedence.hasOrder();
}

function orderOfCounter(precedence: Precedence, tally: Tally): void {
  /** The last that added hits, and since then those that only asked, which have no order among themselves. */
  let latest: number[] = [];
  let adding: number[] = [];
  for (const { call, hits } of passedInOrder(tally)) {
    if (hits === 0) {
      for (const before of adding) precedence.put(before, call);
      latest.push(call);
    } else {
      for (const before of latest) precedence.put(before, call);
      latest = [call];
      adding = latest.slice();
    }
  }
  for (const { call, after } of tally.ops) {
    if (after === null) for (const before of latest) precedence.put(before, call);
  }
}
