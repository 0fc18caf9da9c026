import { SECOND_MS } from '../../base/clock.ts';
import { REFUSED } from '../admission/admission.ts';
import { type CounterBatch, NEVER_FULL } from '../batch.ts';
import { LEASE, LEASE_MODE, LeaseStep, type LeaseTerms, STEP } from '../leases/lease.ts';
import type { LiveLease, SlotLeases } from '../store.ts';
import type { CellPrint } from './cell.ts';
import type { CounterTable } from './counter-table.ts';
import type { LeaseBook } from './lease-book.ts';
import { SpentCells } from './spent-cells.ts';

/**
 * Looks at limits with leases without changing anything. Leases whose time is over stay in the book until the next decision
 * ends and counts them; here, they have ended.
 *
 * {@link load} reads the level of a slot; the other methods are about that slot. Its region and the book must be locked.
 */
export class LeaseLooks {
  readonly #spent: SpentCells;
  readonly #book: LeaseBook;
  readonly #step = new LeaseStep();
  #terms!: LeaseTerms;
  #nowMs = 0;
  #account = -1;
  #held = 0;
  /** The hits that an op would spend. */
  #more = 0;

  constructor(table: CounterTable) {
    this.#spent = new SpentCells(table);
    this.#book = table.leases;
  }

  /** Reads the level of a slot into the batch. */
  load(batch: CounterBatch, slot: number, print: CellPrint): void {
    const { leases, nowMs } = batch;
    const book = this.#book;
    this.#terms = leases.of(slot);
    this.#nowMs = nowMs;
    this.#account = book.account(print);
    const leasesEndS = this.#account < 0 ? 0 : book.windowEndS(this.#account);
    this.#spent.load(batch, slot, print, leasesEndS);
    this.#more = 0;
    this.#held = this.#account < 0 ? 0 : this.#heldNow();
    const first = this.#firstLive();
    leases.slotHeld[slot] = this.#held;
    leases.slotEndsMs[slot] = first < 0 ? 0 : this.#leftMs(first);
    batch.counts[slot] = this.#level;
  }

  /**
   * Sets what the ops of a request on the slot would do, and what the slot would be like after them. As in a decision, those
   * come first that cannot be refused.
   */
  preview(batch: CounterBatch, ops: readonly number[]): void {
    const { leases } = batch;
    for (const op of ops) {
      const lease = this.#choose(batch, op);
      if (!leases.isRefusable(op)) this.#pretend(batch, op, lease);
    }
    const levelBefore = this.#level;
    for (const op of ops) {
      if (!leases.isRefusable(op)) continue;
      const lease = this.#choose(batch, op);
      const room = batch.admissions.capacities[batch.opSlots[op]] - this.#level;
      if (Math.max(leases.hits[op], 1) <= room) this.#pretend(batch, op, lease);
      else {
        batch.opRefused[op] = REFUSED.full;
        batch.opAfters[op] = batch.opLimits[op] === NEVER_FULL ? this.#level : levelBefore;
      }
    }
    batch.counts[batch.opSlots[ops[0]]] = this.#level;
  }

  /** The leases that end first. */
  list(most: number): SlotLeases {
    if (this.#account < 0) return { count: 0, listed: [] };
    const listed: LiveLease[] = [];
    const first = this.#firstLive();
    let count = this.#book.liveOf(this.#account);
    for (
      let over = this.#book.first(this.#account, LEASE.live);
      over !== first;
      over = this.#book.after(over)
    )
      count--;
    for (let lease = first; lease >= 0 && listed.length < most; lease = this.#book.after(lease)) {
      const holder = Buffer.from(this.#book.nameOf(lease)).toString();
      listed.push({ holder, hits: this.#roomOf(lease), endsMs: this.#leftMs(lease) });
    }
    return { count, listed };
  }

  get #level(): number {
    return this.#spent.hits + this.#more + this.#held;
  }

  /** As `LeasedCells` counts it, which also returns to the window if the clock was set back. */
  #heldNow(): number {
    const book = this.#book;
    const account = this.#account;
    const endS = book.windowEndS(account);
    if (endS < this.#spent.endS) return 0;
    let lease = book.first(account, LEASE.live);
    if (endS > this.#spent.endS) {
      let held = 0;
      for (lease = this.#firstLive(); lease >= 0; lease = book.after(lease)) held += this.#roomOf(lease);
      return held;
    }
    let held = book.held(account);
    for (; lease >= 0 && book.endMs(lease) <= this.#nowMs; lease = book.after(lease))
      held -= this.#roomOf(lease);
    return held;
  }

  #firstLive(): number {
    if (this.#account < 0) return -1;
    let lease = this.#book.first(this.#account, LEASE.live);
    while (lease >= 0 && this.#book.endMs(lease) <= this.#nowMs) lease = this.#book.after(lease);
    return lease;
  }

  /** The hits that a live lease holds in the present window. */
  #roomOf(lease: number): number {
    return this.#book.windowOf(lease) === this.#spent.endS ? this.#book.hits(lease) : 0;
  }

  /** A lease does not last for longer than one that begins now, whatever the clock said when it began. */
  #leftMs(lease: number): number {
    return Math.min(this.#book.endMs(lease) - this.#nowMs, this.#terms.forS * SECOND_MS);
  }

  #find(batch: CounterBatch, op: number): number {
    if (this.#account < 0) return -1;
    if (batch.leases.isNamed(op)) return this.#book.find(this.#account, batch.holderPrint(op));
    return this.#terms.hasHolders ? -1 : this.#firstLive();
  }

  #stateOf(lease: number): number {
    const state = this.#book.state(lease);
    const endMs = this.#book.endMs(lease);
    if (endMs > this.#nowMs) return state;
    if (state !== LEASE.live || !this.#terms.settles || !this.#terms.hasHolders) return LEASE.none;
    return endMs + this.#terms.forS * SECOND_MS > this.#nowMs ? LEASE.expired : LEASE.none;
  }

  /** Sets the step of an op. Returns the lease of its holder, -1 for none. */
  #choose(batch: CounterBatch, op: number): number {
    const { leases } = batch;
    const found = this.#find(batch, op);
    const state = found < 0 ? LEASE.none : this.#stateOf(found);
    const lease = state === LEASE.none ? -1 : found;
    const hits = lease < 0 ? 0 : this.#book.hits(lease);
    const call = {
      action: leases.actions[op],
      hits: batch.opHits[op],
      isRefund: batch.opRefunds[op] === 1,
      isNamed: leases.isNamed(op),
    };
    this.#step.choose(this.#terms, call, { state, hits });
    leases.steps[op] = this.#step.kind;
    leases.hits[op] = this.#step.hits;
    batch.opHeld[op] = 0;
    batch.opRefused[op] = REFUSED.no;
    return lease;
  }

  /** Sets what the slot would be like after the step that was chosen last. @param lease that of the holder, or -1 */
  #pretend(batch: CounterBatch, op: number, lease: number): void {
    const { leases } = batch;
    const slot = batch.opSlots[op];
    const step = this.#step;
    const state = lease < 0 ? LEASE.none : this.#stateOf(lease);
    this.#change(lease, state);
    const settled = lease < 0 ? step.hits : this.#book.hits(lease);
    leases.spent[op] = this.#spentBy(step);
    leases.held[op] = step.kind === STEP.settle ? settled : this.#heldBy(step);
    leases.slotHeld[slot] = this.#held;
    leases.slotEndsMs[slot] = this.#endsAfter(lease, state);
    batch.opAfters[op] = this.#level;
  }

  /** Changes the level as the step would. @param lease that of the holder, or -1, and its state */
  #change(lease: number, state: number): void {
    const step = this.#step;
    const { kind, hits } = step;
    const own = state === LEASE.live ? this.#roomOf(lease) : 0;
    this.#held += this.#heldBy(step);
    if (kind === STEP.free) this.#held -= Math.min(hits, own);
    if (kind === STEP.giveBack) this.#more -= Math.min(hits, this.#spent.hits);
    if (kind === STEP.settle) this.#held -= own;
    const isOfWindow = lease < 0 || this.#book.windowOf(lease) === this.#spent.endS;
    if (kind === STEP.settle && !isOfWindow) return;
    const beyond = lease < 0 ? 0 : Math.max(hits - this.#book.hits(lease), 0);
    const isFree = kind === STEP.settle && this.#terms.allowsOverdraft;
    this.#more += this.#spentBy(step) - (isFree ? beyond : 0);
  }

  #heldBy({ kind, hits }: LeaseStep): number {
    return kind === STEP.take && this.#terms.mode !== LEASE_MODE.once ? hits : 0;
  }

  #spentBy({ kind, hits }: LeaseStep): number {
    const isFirst = kind === STEP.take && this.#terms.mode === LEASE_MODE.once;
    return isFirst || kind === STEP.spend || kind === STEP.settle ? hits : 0;
  }

  /** Milliseconds until the first lease ends, after the step. */
  #endsAfter(lease: number, state: number): number {
    const { kind } = this.#step;
    const first = this.#firstLive();
    const isLonger = kind === STEP.take || kind === STEP.extend;
    const isMoved = state === LEASE.live && lease === first && (isLonger || kind === STEP.settle);
    const next = isMoved ? this.#book.after(first) : first;
    if (next >= 0) return this.#leftMs(next);
    return isLonger ? this.#terms.forS * SECOND_MS : 0;
  }
}
