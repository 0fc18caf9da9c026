import type { Clock, Timer } from '../../../base/clock.ts';
import { FairShares } from '../../../base/turns/fair-shares.ts';

interface PushSlotsOptions {
  /** Maximum number of short attempts at the same time, for all tenants together (`TASKS_PUSH_CONCURRENCY`). */
  readonly slots: number;
  readonly after: Clock['after'];
}

/** The place of one attempt. The attempt uses a slot while it is short. */
export interface PushSlot {
  readonly tenant: string;
  /** Number of characters in its payload. */
  readonly size: number;
  /** The step, of `STEP_MS` each, in which the attempt began. */
  readonly step: number;
}

/**
 * Maximum number of attempts in progress for each slot, long ones included. It must be above the part of `FairShares`
 * that is guaranteed.
 */
const ATTEMPTS_PER_SLOT = 8;
/** An attempt becomes long between one and two of these steps after it began: after half a second at most. */
const STEP_MS = 250;
/** One slot in 16 is reserved for tenants with no attempts in progress. */
const RESERVED_PART = 16;
/** Limits on the payloads of attempts in progress, in characters. While few tenants have attempts, each may have `base`. */
const PAYLOADS = { capacity: 256 * 1024 * 1024, base: 16 * 1024 * 1024 };

/** Maximum number of attempts in progress at the same time in a process with this number of slots. */
export function attemptsFor(slots: number): number {
  return ATTEMPTS_PER_SLOT * slots;
}

/**
 * Decides how many attempts each tenant may start.
 *
 * An attempt is short for up to half a second, and uses a slot. If it takes longer, it becomes long: it continues without
 * a slot. Receivers that hang therefore cannot occupy the slots, and every slot is free again within half a second.
 *
 * The number of attempts of a tenant, short and long together, is limited by its share ({@link FairShares}): the slots
 * divided by the number of tenants with attempts in progress, and more while there is room to spare.
 */
export class PushSlots {
  readonly #options: PushSlotsOptions;
  readonly #reserved: number;
  /** Attempts in progress, and those that turns in progress may start. */
  readonly #attempts: FairShares;
  readonly #payloads = new FairShares(PAYLOADS);
  /** Short attempts, oldest first. */
  readonly #short = new Set<PushSlot>();
  /** Number of slots in use, including those that are kept for turns. */
  #used = 0;
  readonly #usedBy = new Map<string, number>();
  #step = 0;
  #timer: Timer | null = null;
  #onRoom: () => void = () => {};

  constructor(options: PushSlotsOptions) {
    this.#options = options;
    this.#reserved = Math.floor(options.slots / RESERVED_PART);
    this.#attempts = new FairShares({ capacity: attemptsFor(options.slots), base: options.slots });
  }

  /** Sets what is called when attempts have left their slots, because they ended or because they take long. */
  onRoom(run: () => void): void {
    this.#onRoom = run;
  }

  /** Number of slots. */
  get count(): number {
    return this.#options.slots;
  }

  /** Number of slots in use, including those that are kept for turns. */
  get used(): number {
    return this.#used;
  }

  /**
   * How many more attempts the tenant may start now.
   *
   * @param contenders number of tenants that want to start attempts, this one included
   */
  roomFor(tenant: string, contenders: number): number {
    const { slots } = this.#options;
    const free = slots - this.#used;
    if (free < 1 || this.#payloads.roomFor(tenant) < 1) return 0;
    const isNew = this.#attempts.heldBy(tenant) === 0;
    const inSlots = isNew ? Math.max(1, free - this.#reserved) : free - this.#reserved;
    const ofSlots = this.#most(contenders) - (this.#usedBy.get(tenant) ?? 0);
    return Math.max(0, Math.min(inSlots, ofSlots, this.#attempts.roomFor(tenant)));
  }

  /** Whether the tenant has used its share of the attempts, or of the payloads. It can start none then, even in free slots. */
  hasShare(tenant: string): boolean {
    return this.#attempts.roomFor(tenant) < 1 || this.#payloads.roomFor(tenant) < 1;
  }

  /** Keeps slots for a turn that begins. */
  keep(tenant: string, count: number): void {
    this.#attempts.take(tenant, count);
    this.#use(tenant, count);
  }

  /** Frees the slots that a turn did not need. */
  free(tenant: string, count: number): void {
    this.#attempts.give(tenant, count);
    this.#use(tenant, -count);
  }

  /** An attempt begins, in a slot that was kept. */
  begin(tenant: string, size: number): PushSlot {
    const slot = { tenant, size, step: this.#step };
    this.#short.add(slot);
    this.#payloads.take(tenant, size);
    this.#timer ??= this.#options.after(STEP_MS, this.#age);
    return slot;
  }

  /** The attempt has ended. */
  end(slot: PushSlot): void {
    const { tenant, size } = slot;
    if (this.#short.delete(slot)) this.#use(tenant, -1);
    this.#attempts.give(tenant, 1);
    this.#payloads.give(tenant, size);
    this.#onRoom();
  }

  /** Stops the timer: attempts no longer become long. */
  stop(): void {
    this.#timer?.cancel();
  }

  readonly #age = (): void => {
    this.#step++;
    const before = this.#used;
    for (const slot of this.#short) {
      if (slot.step > this.#step - 2) break;
      this.#short.delete(slot);
      this.#use(slot.tenant, -1);
    }
    this.#timer = this.#short.size > 0 ? this.#options.after(STEP_MS, this.#age) : null;
    if (this.#used < before) this.#onRoom();
  };

  /**
   * Maximum number of slots for one tenant; all of them for a tenant that is alone. Without long attempts it is half of
   * the slots, because large turns need fewer claims. With long attempts, further ones may follow and keep their slots for
   * half a second; each tenant then gets a smaller part, so that all of them have had slots before the slots are free for
   * the second time.
   */
  #most(contenders: number): number {
    const { slots } = this.#options;
    if (contenders < 2) return slots;
    const hasLong = this.#attempts.taken > this.#used;
    return Math.max(1, Math.floor(slots / (hasLong ? Math.max(2, contenders / 2) : 2)));
  }

  #use(tenant: string, count: number): void {
    this.#used += count;
    const used = (this.#usedBy.get(tenant) ?? 0) + count;
    if (used === 0) this.#usedBy.delete(tenant);
    else this.#usedBy.set(tenant, used);
  }
}
