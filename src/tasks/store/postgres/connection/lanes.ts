import { type Call, sizeOf } from './calls.ts';

/** Maximum number of items in one statement with several calls, and of characters in them. */
const MAX_ITEMS = 200;
const MAX_SIZE = 1024 * 1024;

/** A call from its beginning to its answer. */
interface Waiting {
  readonly call: Call;
  /** What calls must have in common to be sent as one statement; null for a call that is sent alone. */
  readonly shared: string | null;
}

/** The calls of one tenant. */
interface Lane<W extends Waiting> {
  readonly tenant: string;
  waiting: W[];
  running: number;
  /** What the calls of running statements share. There is one such statement at a time, so that it has many calls under load. */
  readonly shared: Set<string>;
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
      lane = { tenant, waiting: [], running: 0, shared: new Set() };
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
    const at = lane.waiting.findIndex(({ shared }) => shared === null || !lane.shared.has(shared));
    if (at < 0) return [];
    const { shared } = lane.waiting[at];
    if (shared === null) return lane.waiting.splice(at, 1);
    const taken: W[] = [];
    const left: W[] = [];
    let items = 0;
    let size = 0;
    for (const each of lane.waiting) {
      const isNext = items < MAX_ITEMS && size < MAX_SIZE && each.shared === shared;
      (isNext ? taken : left).push(each);
      if (!isNext) continue;
      items += each.call.items?.length ?? 0;
      size += sizeOf(each.call);
    }
    lane.waiting = left;
    return taken;
  }

  #begin(lane: Lane<W>, calls: readonly W[]): void {
    const [{ shared }] = calls;
    this.#running++;
    lane.running++;
    if (shared !== null) lane.shared.add(shared);
    // Its turn is over.
    this.#lanes.delete(lane.tenant);
    this.#lanes.set(lane.tenant, lane);
    void this.#run(calls).then(() => {
      this.#running--;
      lane.running--;
      if (shared !== null) lane.shared.delete(shared);
      this.#forget(lane);
      this.#serve();
    });
    this.#serve();
  }

  #forget(lane: Lane<W>): void {
    if (lane.running === 0 && lane.waiting.length === 0) this.#lanes.delete(lane.tenant);
  }
}
