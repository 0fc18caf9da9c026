/** Whose turn it is to start tasks, and how many at most. The slots for so many are taken until the turn is over. */
export interface Turn {
  readonly tenant: string;
  readonly workerId: string;
  readonly max: number;
}

export interface FairQueueOptions {
  /** Attempts that this process makes at once. */
  readonly slots: number;
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
  /** Slots that it uses, those of its turns included. */
  slots: number;
}

/**
 * Who is served next (specification 3.8): deficit round robin between tenants, and the workers of a tenant in turn.
 * While another tenant waits, none has more than half of the slots.
 *
 * A tenant _contends_ while one of its workers waits or has a turn. One that contends alone is not held back; a worker
 * has one turn at a time.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  readonly #tenants = new Map<string, Tenant>();
  /** Tenants that contend: the round, from the one whose turn it is. */
  readonly #round = new Set<Tenant>();

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  /** Lets a worker wait for a turn; one that has a turn waits again after it. */
  add(tenantName: string, workerId: string): void {
    const tenant = this.#tenant(tenantName);
    if (tenant.turns.has(workerId)) tenant.turns.set(workerId, true);
    else {
      tenant.workers.add(workerId);
      this.#round.add(tenant);
    }
  }

  /**
   * The next turn, of at most `free` tasks; to be ended with {@link done}. Null when nobody waits who may have a slot.
   */
  next(free: number): Turn | null {
    if (free < 1) return null;
    for (const tenant of this.#round) {
      // Whoever is passed over keeps the place: what it may start is being claimed, or it has half of the slots.
      const room = Math.min(free, this.#roomOf(tenant));
      if (tenant.workers.size > 0 && room >= 1) return this.#turn(tenant, room);
    }
    return null;
  }

  /** Ends a turn in which so many tasks were started. With `more` the worker waits for another. */
  done(turn: Turn, started: number, more: boolean): void {
    const tenant = this.#tenant(turn.tenant);
    const again = more || tenant.turns.get(turn.workerId) === true;
    tenant.turns.delete(turn.workerId);
    const unused = turn.max - started;
    tenant.slots -= unused;
    // What one worker left is for the next of the same tenant, whose turn goes on.
    tenant.deficit = Math.min(tenant.deficit + unused, this.#options.quantum);
    if (again) tenant.workers.add(turn.workerId);
    if (!contends(tenant)) {
      this.#round.delete(tenant);
      // Who has nothing to do saves nothing up for later.
      tenant.deficit = this.#options.quantum;
      this.#forgetIdle(tenant);
    } else if (tenant.deficit < 1) {
      tenant.deficit = this.#options.quantum;
      this.#toTheEnd(tenant);
    }
  }

  /** A slot of the tenant is free again. */
  release(tenantName: string): void {
    const tenant = this.#tenant(tenantName);
    tenant.slots--;
    this.#forgetIdle(tenant);
  }

  #turn(tenant: Tenant, room: number): Turn {
    const max = Math.min(room, this.#options.maxTurn);
    tenant.deficit = Math.max(0, tenant.deficit - max);
    tenant.slots += max;
    const [workerId] = tenant.workers;
    tenant.workers.delete(workerId);
    tenant.turns.set(workerId, false);
    return { tenant: tenant.name, workerId, max };
  }

  #roomOf(tenant: Tenant): number {
    if (this.#round.size < 2) return this.#options.slots;
    return Math.min(tenant.deficit, Math.max(1, Math.floor(this.#options.slots / 2)) - tenant.slots);
  }

  #toTheEnd(tenant: Tenant): void {
    this.#round.delete(tenant);
    this.#round.add(tenant);
  }

  #tenant(name: string): Tenant {
    let tenant = this.#tenants.get(name);
    if (tenant === undefined) {
      tenant = { name, workers: new Set(), turns: new Map(), deficit: this.#options.quantum, slots: 0 };
      this.#tenants.set(name, tenant);
    }
    return tenant;
  }

  #forgetIdle(tenant: Tenant): void {
    if (tenant.slots === 0 && !contends(tenant)) this.#tenants.delete(tenant.name);
  }
}

function contends({ workers, turns }: Tenant): boolean {
  return workers.size > 0 || turns.size > 0;
}
