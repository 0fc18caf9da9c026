import type { PushSlots } from './push-slots.ts';

/** The result of a worker's turn. */
export interface TurnOutcome {
  /** How many tasks were started. */
  readonly started: number;
  /** There is more to start at once. */
  readonly more: boolean;
}

/** Maximum number of tasks that one turn starts while no other tenant waits. */
export const MAX_TURN = 64;

export const NOTHING_STARTED: TurnOutcome = { started: 0, more: false };

/** A worker's turn to start up to `max` tasks. Slots for that number are reserved until the turn is over. */
export interface Turn {
  readonly tenant: string;
  readonly workerId: string;
  readonly max: number;
}

interface FairQueueOptions {
  /** Says how many attempts each tenant may start. */
  readonly slots: PushSlots;
  /** How many tasks a tenant may start before it is the next one's turn. */
  readonly quantum: number;
  /** How many tasks one turn may start where no other tenant waits. */
  readonly maxTurn: number;
}

interface Tenant {
  readonly name: string;
  /** Workers that wait for a turn, in the order in which they have it. */
  readonly workers: Set<string>;
  /** Workers that have a turn; true where they were added again meanwhile. */
  readonly turns: Map<string, boolean>;
  /** How many tasks it may still start in this round. */
  deficit: number;
}

/**
 * Selects what is served next (specification 3.8): deficit round robin between tenants, then round robin between the
 * workers of a tenant. How much a tenant may have is decided by {@link PushSlots}.
 *
 * A tenant _contends_ while one of its workers waits or has a turn. A tenant that contends alone is not held back; a
 * worker has one turn at a time.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  /** Tenants that contend: the round, from the one whose turn it is. */
  readonly #round = new Map<string, Tenant>();

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  /** Lets a worker wait for a turn; one that has a turn waits again after it. */
  add(tenantName: string, workerId: string): void {
    let tenant = this.#round.get(tenantName);
    if (tenant === undefined) {
      tenant = { name: tenantName, workers: new Set(), turns: new Map(), deficit: this.#options.quantum };
      this.#round.set(tenantName, tenant);
    }
    if (tenant.turns.has(workerId)) tenant.turns.set(workerId, true);
    else tenant.workers.add(workerId);
  }

  /**
   * The next turn, of at most `free` tasks; to be ended with {@link done}. Null if no waiting worker may have a slot.
   */
  next(free: number): Turn | null {
    if (free < 1) return null;
    for (const tenant of this.#round.values()) {
      // A tenant that is passed over keeps its place: its tasks are being claimed, or it has its share.
      if (tenant.workers.size === 0) continue;
      const room = Math.min(free, this.#roomOf(tenant));
      if (room >= 1) return this.#turn(tenant, room);
    }
    return null;
  }

  /** Tenants of which workers wait for a turn that they cannot have because the tenant has its share. */
  heldBack(): string[] {
    const names: string[] = [];
    for (const { name, workers } of this.#round.values()) {
      if (workers.size > 0 && this.#options.slots.hasShare(name)) names.push(name);
    }
    return names;
  }

  /** Ends a turn in which `started` tasks were started; their slots stay in use. With `more` the worker waits again. */
  done(turn: Turn, started: number, more: boolean): void {
    const { quantum, slots } = this.#options;
    const unused = turn.max - started;
    slots.free(turn.tenant, unused);
    const tenant = this.#round.get(turn.tenant);
    if (tenant === undefined) return;
    const again = more || tenant.turns.get(turn.workerId) === true;
    tenant.turns.delete(turn.workerId);
    // The unused part goes to the next worker of the same tenant.
    tenant.deficit = Math.min(tenant.deficit + unused, quantum);
    if (again) tenant.workers.add(turn.workerId);
    // A tenant with nothing to do saves nothing up for later.
    if (tenant.workers.size === 0 && tenant.turns.size === 0) this.#round.delete(tenant.name);
    else if (tenant.deficit < 1) {
      tenant.deficit = quantum;
      this.#toTheEnd(tenant);
    }
  }

  #turn(tenant: Tenant, room: number): Turn {
    const max = Math.min(room, this.#options.maxTurn);
    tenant.deficit = Math.max(0, tenant.deficit - max);
    this.#options.slots.keep(tenant.name, max);
    const [workerId] = tenant.workers;
    tenant.workers.delete(workerId);
    tenant.turns.set(workerId, false);
    return { tenant: tenant.name, workerId, max };
  }

  #roomOf(tenant: Tenant): number {
    const room = this.#options.slots.roomFor(tenant.name, this.#round.size);
    return this.#round.size > 1 ? Math.min(tenant.deficit, room) : room;
  }

  #toTheEnd(tenant: Tenant): void {
    this.#round.delete(tenant.name);
    this.#round.set(tenant.name, tenant);
  }
}
