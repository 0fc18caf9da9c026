import { type Call, isCalledTogether, sizeOf } from './calls.ts';

/** Maximum number of calls in one statement, and of characters in them. */
const MAX_TOGETHER = 100;
const MAX_SIZE_TOGETHER = 1024 * 1024;

/**
 * Statements of a tenant with several calls of the same function, in progress. While there are this many, calls wait for each
 * other, so that under load a statement has many of them.
 */
const MAX_STATEMENTS_TOGETHER = 2;

/** A call from its beginning to its answer. */
interface Waiting {
  readonly call: Call;
  /** It must have a statement of its own. */
  readonly isAlone: boolean;
}

/** The calls of one tenant. */
interface Lane<W extends Waiting> {
  readonly tenant: string;
  waiting: W[];
  running: number;
  /** Number of running statements by the name of a function that is called together. */
  readonly together: Map<string, number>;
}

/**
 * Decides which calls use the connections. Tenants take turns. One connection is left to the others, so that calls that wait
 * for a lock of one tenant do not stop those of all tenants.
 */
export class Lanes<W extends Waiting> {
  readonly #size: number;
  readonly #run: (calls: readonly W[]) => Promise<void>;
  /** In the order of their turns. */
  readonly #lanes = new Map<string, Lane<W>>();
  #running = 0;

  /**
   * @param size number of connections
   * @param run sends calls as one statement; never rejects
   */
  constructor(size: number, run: (calls: readonly W[]) => Promise<void>) {
    this.#size = size;
    this.#run = run;
  }

  enter(waiting: W): void {
    const { tenant } = waiting.call;
    let lane = this.#lanes.get(tenant);
    if (lane === undefined) {
      lane = { tenant, waiting: [], running: 0, together: new Map() };
      this.#lanes.set(tenant, lane);
    }
    lane.waiting.push(waiting);
    this.#serve();
  }

  /** Removes a call that waits. Returns false if it has begun. */
  leave(waiting: W): boolean {
    const lane = this.#lanes.get(waiting.call.tenant);
    const at = lane?.waiting.indexOf(waiting) ?? -1;
    if (lane === undefined || at < 0) return false;
    lane.waiting.splice(at, 1);
    this.#forget(lane);
    return true;
  }

  #serve(): void {
    for (const lane of [...this.#lanes.values()]) {
      if (this.#running >= this.#size) return;
      if (lane.running >= Math.max(1, this.#size - 1)) continue;
      const calls = this.#take(lane);
      if (calls.length > 0) this.#begin(lane, calls);
    }
  }

  /** The next calls of a tenant that can be sent as one statement. */
  #take(lane: Lane<W>): readonly W[] {
    const first = lane.waiting.findIndex(
      waiting => !mayShare(waiting) || (lane.together.get(waiting.call.name) ?? 0) < MAX_STATEMENTS_TOGETHER,
    );
    if (first < 0) return [];
    if (!mayShare(lane.waiting[first])) return lane.waiting.splice(first, 1);
    const { name } = lane.waiting[first].call;
    const taken: W[] = [];
    const left: W[] = [];
    let size = 0;
    for (const each of lane.waiting) {
      const fits =
        mayShare(each) && each.call.name === name && taken.length < MAX_TOGETHER && size < MAX_SIZE_TOGETHER;
      if (fits) size += sizeOf(each.call);
      (fits ? taken : left).push(each);
    }
    lane.waiting = left;
    return taken;
  }

  #begin(lane: Lane<W>, calls: readonly W[]): void {
    const [first] = calls;
    const { name } = first.call;
    const change = (by: number): void => {
      this.#running += by;
      lane.running += by;
      if (mayShare(first)) lane.together.set(name, (lane.together.get(name) ?? 0) + by);
    };
    change(1);
    // Its turn is over.
    this.#lanes.delete(lane.tenant);
    this.#lanes.set(lane.tenant, lane);
    void this.#run(calls).then(() => {
      change(-1);
      this.#forget(lane);
      this.#serve();
    });
    this.#serve();
  }

  #forget(lane: Lane<W>): void {
    if (lane.running === 0 && lane.waiting.length === 0) this.#lanes.delete(lane.tenant);
  }
}

function mayShare({ call, isAlone }: Waiting): boolean {
  return !isAlone && isCalledTogether(call);
}
