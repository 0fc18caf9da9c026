import { SECOND_MS } from '../../base/clock.ts';
import { REFUSED } from '../admission/admission.ts';
import type { CounterBatch } from '../batch.ts';
import { ACTION, LEASE, LEASE_MODE, LeaseStep, type LeaseTerms, SETTLED_S, STEP } from '../leases/lease.ts';
import type { CellPrint } from './cell.ts';
import type { CounterTable } from './counter-table.ts';
import type { LeaseBook } from './lease-book.ts';
import { freeHits, LeaseRoom } from './lease-room.ts';
import { SpentCells } from './spent-cells.ts';

/** Marks the fingerprints of holders without a name. */
const UNNAMED = 0x2545_f491;

/** The most leases of a key that end with a call, unless their hits are needed. Other threads wait meanwhile. */
const MOST_ENDED = 4_096;
/** How many times as many end if their hits are needed. Requests are refused that need even more. */
const MOST_ROUNDS = 16;

/**
 * Limits with leases: what is spent is in cells of the table, what is held in its book of leases.
 *
 * {@link load} reads the level of a slot, {@link choose} decides what an op does, and {@link apply} does it, if it fits. The
 * region of the slot and the book must be locked from one to the other.
 */
export class LeasedCells {
  readonly #spent: SpentCells;
  readonly #book: LeaseBook;
  readonly #room: LeaseRoom;
  readonly #step = new LeaseStep();
  readonly #record = { state: 0, hits: 0 };
  readonly #call = { action: 0, hits: 0, isRefund: false, isNamed: false };
  #terms!: LeaseTerms;
  #print: CellPrint = { a: 0, b: 0, c: 0 };
  /** -1 if the key has no leases. */
  #account = -1;
  /** The lease of the op that was chosen last, if nothing has changed since; see {@link #find}. */
  #lease = -1;
  #leaseOf = -1;
  /** The hits that leases of the window hold. */
  #held = 0;
  /** Whether the key has further leases whose time is over. */
  #hasMore = false;
  /** Whether no op of the present request may take a lease. */
  #isCrowded = false;

  constructor(table: CounterTable) {
    this.#spent = new SpentCells(table);
    this.#book = table.leases;
    this.#room = new LeaseRoom(table.leases);
  }

  /**
   * Begins a request. If there is no room for a lease of each of its ops, it takes none: it must not take some of them.
   * @param ops number of its ops
   */
  begin(nowMs: number, ops: number): void {
    this.#isCrowded = ops > 1 && !this.#room.make(nowMs, ops);
  }

  /** Reads the level of a slot into the batch, after ending the leases whose time is over. */
  load(batch: CounterBatch, slot: number, print: CellPrint): void {
    const { leases, nowMs } = batch;
    this.#terms = leases.of(slot);
    this.#print = print;
    const book = this.#book;
    this.#leaseOf = -1;
    this.#account = book.account(print);
    const leasesEndS = this.#account < 0 ? 0 : book.windowEndS(this.#account);
    this.#spent.load(batch, slot, print, leasesEndS);
    this.#held = 0;
    this.#hasMore = false;
    if (this.#account >= 0) {
      this.#returnToWindow();
      this.#cutLongLeases(nowMs);
      this.#endLeases(batch, slot);
    }
    this.#write(batch, slot);
  }

  /** Sets the step of an op of the slot that was loaded last. */
  choose(batch: CounterBatch, op: number): void {
    const { leases } = batch;
    const lease = this.#find(batch, op);
    this.#lease = lease;
    this.#leaseOf = op;
    const record = this.#record;
    record.state = lease < 0 ? LEASE.none : this.#book.state(lease);
    record.hits = lease < 0 ? 0 : this.#book.hits(lease);
    const call = this.#call;
    call.action = leases.actions[op];
    call.hits = batch.opHits[op];
    call.isRefund = batch.opRefunds[op] === 1;
    call.isNamed = leases.isNamed(op);
    this.#step.choose(this.#terms, call, record);
    leases.steps[op] = this.#step.kind;
    leases.hits[op] = this.#step.hits;
  }

  /**
   * Whether the step of an op fits into the slot that was loaded last.
   * @param besides hits that are going to be added before it
   */
  fits(batch: CounterBatch, op: number, besides = 0): boolean {
    const { leases, admissions, opSlots } = batch;
    const slot = opSlots[op];
    if (this.#isCrowded && leases.steps[op] === STEP.take) return false;
    if (!leases.isRefusable(op)) return true;
    const most = admissions.capacities[slot] - besides - Math.max(leases.hits[op], 1);
    for (let i = 0; i < MOST_ROUNDS && this.#level > most && this.#hasMore && this.#held > 0; i++)
      this.#endLeases(batch, slot);
    return this.#level <= most;
  }

  /**
   * Does what {@link choose} has decided for an op of the slot that was loaded last, if it fits. Returns the cell of the
   * slot, -1 for none.
   * @param kept see `CounterTable.claim`
   */
  apply(batch: CounterBatch, op: number, kept: number[]): number {
    const { leases, nowS } = batch;
    const step = leases.steps[op];
    const hits = leases.hits[op];
    const lease = this.#leaseOf === op ? this.#lease : this.#find(batch, op);
    this.#leaseOf = -1;
    if (!this.fits(batch, op)) batch.opRefused[op] = REFUSED.full;
    else if (step === STEP.take) this.#take(batch, op, { lease, kept });
    else if (step === STEP.settle) this.#settle(batch, op, { lease, kept });
    else if (step === STEP.spend) {
      leases.spent[op] = hits;
      this.#spent.add(nowS, hits, kept);
    } else if (step === STEP.giveBack) this.#spent.giveBack(hits);
    else if (lease >= 0) this.#change(batch, op, lease);
    this.#write(batch, batch.opSlots[op]);
    batch.opAfters[op] = this.#spent.isLost ? Number.NaN : this.#level;
    return this.#spent.cell;
  }

  /** The lease of the holder of an op; without holders, the one that ends first. -1 for none. */
  #find(batch: CounterBatch, op: number): number {
    if (this.#account < 0) return -1;
    if (batch.leases.isNamed(op)) return this.#book.find(this.#account, batch.holderPrint(op));
    return this.#terms.hasHolders ? -1 : this.#book.first(this.#account, LEASE.live);
  }

  /** Removes everything about a key. */
  remove(print: CellPrint, nowS: number): void {
    const book = this.#book;
    this.#spent.remove(print, nowS);
    const account = book.account(print);
    if (account < 0) return;
    for (const state of [LEASE.live, LEASE.settled, LEASE.expired]) {
      for (let lease = book.first(account, state); lease >= 0; lease = book.first(account, state)) {
        book.remove(lease);
      }
    }
    book.closeIfEmpty(account);
  }

  get #level(): number {
    return this.#spent.hits + this.#held;
  }

  /** If the clock was set back, leases of the window hold hits again that did not in a later one. */
  #returnToWindow(): void {
    const book = this.#book;
    const account = this.#account;
    if (book.windowEndS(account) <= this.#spent.endS) return;
    let held = 0;
    for (let lease = book.first(account, LEASE.live); lease >= 0; lease = book.after(lease)) {
      if (book.windowOf(lease) === this.#spent.endS) held += book.hits(lease);
    }
    book.setHeld(account, held, this.#spent.endS);
  }

  /** Ends leases of the account whose time is over, and forgets others, at most {@link MOST_ENDED}. */
  #endLeases(batch: CounterBatch, slot: number): void {
    const book = this.#book;
    const account = this.#account;
    let left = MOST_ENDED;
    for (let lease = book.first(account, LEASE.live); lease >= 0; lease = book.first(account, LEASE.live)) {
      if (book.endMs(lease) > batch.nowMs || left-- === 0) break;
      batch.leases.slotExpired[slot] += book.hits(lease);
      freeHits(book, lease, book.hits(lease));
      const keptMs = book.endMs(lease) + this.#terms.forS * SECOND_MS;
      if (!this.#terms.settles || !this.#terms.hasHolders || keptMs <= batch.nowMs) book.remove(lease);
      else {
        book.setEnd(lease, keptMs);
        book.moveTo(lease, LEASE.expired);
      }
    }
    for (const state of [LEASE.settled, LEASE.expired]) {
      for (let lease = book.first(account, state); lease >= 0; lease = book.first(account, state)) {
        if (book.endMs(lease) > batch.nowMs || left-- <= 0) break;
        book.remove(lease);
      }
    }
    this.#hasMore = left <= 0;
    this.#loadHeld();
  }

  /** If the clock was set back, or the rule allows shorter leases than before, those that last too long end earlier. */
  #cutLongLeases(nowMs: number): void {
    const book = this.#book;
    const latestMs = nowMs + this.#terms.forS * SECOND_MS;
    let lease = book.last(this.#account, LEASE.live);
    while (lease >= 0 && book.endMs(lease) > latestMs) {
      book.setEnd(lease, latestMs);
      lease = book.before(lease);
    }
  }

  #take(batch: CounterBatch, op: number, { lease: known, kept }: Target): void {
    const { leases, nowMs } = batch;
    const hits = leases.hits[op];
    const isOnce = this.#terms.mode === LEASE_MODE.once;
    const lease = this.#openLease(batch, op, known);
    if (lease < 0) {
      batch.opRefused[op] = REFUSED.full;
      return;
    }
    const book = this.#book;
    const isSameWindow = book.state(lease) === LEASE.live && book.windowOf(lease) === this.#spent.endS;
    const own = isOnce ? 0 : hits;
    const endMs = nowMs + this.#terms.forS * SECOND_MS;
    book.moveTo(lease, LEASE.live);
    book.set(lease, {
      hits: (isSameWindow ? book.hits(lease) : 0) + own,
      endMs,
      windowEndS: this.#spent.endS,
    });
    this.#held += own;
    book.setHeld(this.#account, this.#held, this.#spent.endS);
    if (isOnce) {
      leases.spent[op] = hits;
      this.#spent.add(batch.nowS, hits, kept);
    } else leases.held[op] = hits;
  }

  /** The lease of the holder of an op. Creates it if the holder has no lease. Returns -1 if there is no room. */
  #openLease(batch: CounterBatch, op: number, known: number): number {
    const book = this.#book;
    const { leases, nowMs } = batch;
    const hasName = batch.leases.isNamed(op);
    if (hasName && known >= 0) return known;
    this.#room.tidy(nowMs);
    const hasRoom = this.#room.make(nowMs, 1);
    // Leases of this key may have been forgotten.
    this.#account = book.account(this.#print);
    this.#loadHeld();
    if (!hasRoom || (this.#account >= 0 && !this.#room.makeOf(this.#account))) return -1;
    if (this.#account < 0) this.#account = book.openAccount(this.#print);
    const print = hasName ? batch.holderPrint(op) : unnamedPrint(book.nextNumber());
    const name = leases.holders.bytes.subarray(leases.holderStarts[op], leases.holderEnds[op]);
    return book.add(this.#account, print, name);
  }

  /** Spends hits in the window of the lease. A window that has ended does not matter any more. */
  #settle(batch: CounterBatch, op: number, { lease, kept }: Target): void {
    const { leases } = batch;
    const book = this.#book;
    const hits = leases.hits[op];
    leases.spent[op] = hits;
    leases.held[op] = lease < 0 ? hits : book.hits(lease);
    const isOfWindow = lease < 0 || book.windowOf(lease) === this.#spent.endS;
    if (lease >= 0 && book.state(lease) === LEASE.live) freeHits(book, lease, book.hits(lease));
    this.#remember(batch, op, lease);
    this.#loadHeld();
    if (!isOfWindow) return;
    this.#spent.add(batch.nowS, hits, kept);
    if (this.#terms.allowsOverdraft) this.#spent.overdraw(batch.nowS, hits - leases.held[op], kept);
  }

  /** Keeps that a lease is settled, for calls that come twice. An unknown holder has none until then. */
  #remember(batch: CounterBatch, op: number, known: number): void {
    const book = this.#book;
    const { settles, hasHolders, forS } = this.#terms;
    if (!settles || !hasHolders) {
      if (known >= 0) book.remove(known);
      return;
    }
    if (known < 0 && !batch.leases.isNamed(op)) return;
    const windowEndS = known < 0 ? this.#spent.endS : book.windowOf(known);
    const lease = known >= 0 ? known : this.#openLease(batch, op, known);
    if (lease < 0) return;
    if (batch.leases.actions[op] === ACTION.revoke) {
      book.setEnd(lease, batch.nowMs + forS * SECOND_MS);
      book.moveTo(lease, LEASE.expired);
      return;
    }
    const hits = batch.opRefunds[op] === 1 ? -1 : batch.opHits[op];
    book.set(lease, { hits, endMs: batch.nowMs + Math.min(SETTLED_S, forS) * SECOND_MS, windowEndS });
    book.moveTo(lease, LEASE.settled);
  }

  /** The steps that only change the lease: `free`, `extend` and `repeat`. */
  #change({ nowMs, leases }: CounterBatch, op: number, lease: number): void {
    const book = this.#book;
    const step = leases.steps[op];
    if (step === STEP.free) {
      const hits = leases.hits[op];
      book.setHits(lease, book.hits(lease) - hits);
      freeHits(book, lease, hits);
      this.#loadHeld();
    } else if (step === STEP.extend) {
      book.setEnd(lease, nowMs + this.#terms.forS * SECOND_MS);
      book.moveTo(lease, LEASE.live);
    } else if (step === STEP.repeat) book.setHits(lease, -1);
  }

  #loadHeld(): void {
    const book = this.#book;
    const account = this.#account;
    if (account < 0) {
      this.#held = 0;
      return;
    }
    this.#held = book.windowEndS(account) === this.#spent.endS ? book.held(account) : 0;
    if (book.closeIfEmpty(account)) this.#account = -1;
  }

  /** Writes what the batch says about the slot. */
  #write({ leases, counts, nowMs }: CounterBatch, slot: number): void {
    leases.slotHeld[slot] = this.#held;
    counts[slot] = this.#level;
    const first = this.#account < 0 ? -1 : this.#book.first(this.#account, LEASE.live);
    // Some leases may have to end that are over.
    leases.slotEndsMs[slot] = first < 0 ? 0 : Math.max(this.#book.endMs(first) - nowMs, 1);
  }
}

function unnamedPrint(number: number): CellPrint {
  return { a: Math.imul(number, 0x9e37_79b1), b: number, c: UNNAMED };
}

/** What a step changes. */
interface Target {
  /** The lease of the holder; -1 for none. */
  readonly lease: number;
  /** See `CounterTable.claim`. */
  readonly kept: number[];
}
