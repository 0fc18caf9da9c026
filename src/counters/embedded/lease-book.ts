import { LEASE } from '../leases/lease.ts';
import { LONGEST_NAME } from '../leases/op-leases.ts';
import type { CellPrint } from './cell.ts';
import { ACCOUNT, type Chained, HEADER, RECORD, unlink } from './lease-layout.ts';
import { Locks } from './locks.ts';

/**
 * The leases of limits, in shared memory that belongs to a `CounterTable`. One lock protects all of them; a thread that has
 * locked regions of the table takes it after them.
 *
 * The leases of a key belong to an *account*, which exists as long as the key has leases. It has a list of leases for each
 * state, in the order in which they end: a lease that begins, or is extended, ends after all others. The names of holders
 * are kept for operators; leases are found by the fingerprints of key and name.
 */
export class LeaseBook {
  readonly #locks: Locks;
  readonly #header: Int32Array;
  readonly #accountBuckets: Int32Array;
  readonly #leaseBuckets: Int32Array;
  readonly #accounts: Int32Array;
  readonly #leases: Int32Array;
  readonly #accountNumbers: Float64Array;
  readonly #leaseNumbers: Float64Array;
  readonly #names: Uint8Array;
  readonly #mask: number;

  /** @param size maximum number of leases, a power of two */
  constructor(buffer: SharedArrayBuffer, offset: number, size: number) {
    let at = offset;
    const ints = (count: number): Int32Array => {
      at += count * 4;
      return new Int32Array(buffer, at - count * 4, count);
    };
    this.#header = ints(HEADER.words);
    this.#locks = new Locks(this.#header.subarray(HEADER.lock, HEADER.lock + 1));
    this.#accountBuckets = ints(size);
    this.#leaseBuckets = ints(size);
    this.#accounts = ints(size * ACCOUNT.words);
    this.#leases = ints(size * RECORD.words);
    this.#accountNumbers = new Float64Array(buffer, at, size * 2);
    this.#leaseNumbers = new Float64Array(buffer, at + size * 16, size * 3);
    this.#names = new Uint8Array(buffer, at + size * 40, size * LONGEST_NAME);
    this.#mask = size - 1;
  }

  /** Bytes of a book. */
  static bytes(size: number): number {
    return HEADER.words * 4 + size * (8 + ACCOUNT.words * 4 + RECORD.words * 4 + 40 + LONGEST_NAME);
  }

  /** Number of leases, of any state. */
  get count(): number {
    return this.#header[HEADER.count];
  }

  /** Maximum number of leases. */
  get size(): number {
    return this.#mask + 1;
  }

  /** Number of leases that can be added. */
  get room(): number {
    return this.size - this.count;
  }

  /** Number of leases of an account, of any state. */
  countOf(account: number): number {
    return this.#accounts[account * ACCOUNT.words + ACCOUNT.count];
  }

  /** Number of live leases of an account. */
  liveOf(account: number): number {
    return this.#accounts[account * ACCOUNT.words + ACCOUNT.live];
  }

  lock(): void {
    this.#locks.lock(0);
  }

  unlock(): void {
    this.#locks.unlock(0);
  }

  /** Releases the lock if a thread held it when it was terminated. */
  releaseLocksOf(thread: number): void {
    this.#locks.releaseLocksOf(thread);
  }

  /** The account of a key; -1 if it has no leases. */
  account({ a, b, c }: CellPrint): number {
    const accounts = this.#accounts;
    let account = this.#accountBuckets[b & this.#mask] - 1;
    while (account >= 0) {
      const at = account * ACCOUNT.words;
      if (accounts[at] === a && accounts[at + 1] === b && accounts[at + 2] === c) return account;
      account = accounts[at + ACCOUNT.next] - 1;
    }
    return -1;
  }

  /**
   * Creates the account of a key that has no account. It must get a lease before the lock is released. Returns -1 if there
   * is no room.
   */
  openAccount({ a, b, c }: CellPrint): number {
    const account = this.#allocate(HEADER.freeAccount, HEADER.usedAccounts, this.#accounts, ACCOUNT);
    if (account < 0) return -1;
    const at = account * ACCOUNT.words;
    const bucket = b & this.#mask;
    this.#accounts.fill(0, at, at + ACCOUNT.words);
    this.#accounts[at] = a;
    this.#accounts[at + 1] = b;
    this.#accounts[at + 2] = c;
    this.#accounts[at + ACCOUNT.next] = this.#accountBuckets[bucket];
    this.#accountBuckets[bucket] = account + 1;
    this.setHeld(account, 0, 0);
    return account;
  }

  /** Removes an account if it has no leases. Returns whether it had none. */
  closeIfEmpty(account: number): boolean {
    const accounts = this.#accounts;
    const at = account * ACCOUNT.words;
    if (accounts[at + ACCOUNT.count] > 0) return false;
    const bucket = accounts[at + 1] & this.#mask;
    unlink(this.#accountBuckets, bucket, accounts, ACCOUNT, account);
    accounts[at + ACCOUNT.next] = this.#header[HEADER.freeAccount];
    this.#header[HEADER.freeAccount] = account + 1;
    return true;
  }

  /** The hits that live leases hold which began in the window of the account. */
  held(account: number): number {
    return this.#accountNumbers[account * 2];
  }

  /** The end of the window of the account, in seconds since the epoch. */
  windowEndS(account: number): number {
    return this.#accountNumbers[account * 2 + 1];
  }

  setHeld(account: number, held: number, windowEndS: number): void {
    this.#accountNumbers[account * 2] = held;
    this.#accountNumbers[account * 2 + 1] = windowEndS;
  }

  /** The key of an account. */
  printOf(account: number): CellPrint {
    const at = account * ACCOUNT.words;
    return { a: this.#accounts[at], b: this.#accounts[at + 1], c: this.#accounts[at + 2] };
  }

  /** The lease of a holder; -1 if none is known. */
  find(account: number, { a, b, c }: CellPrint): number {
    const leases = this.#leases;
    let lease = this.#leaseBuckets[this.#bucketOf(account, a)] - 1;
    while (lease >= 0) {
      const at = lease * RECORD.words;
      if (
        leases[at + RECORD.account] === account &&
        leases[at + RECORD.print] === a &&
        leases[at + RECORD.print + 1] === b &&
        leases[at + RECORD.print + 2] === c
      )
        return lease;
      lease = leases[at + RECORD.next] - 1;
    }
    return -1;
  }

  /**
   * Adds a live lease that holds nothing. The caller sets its end, after those of the others. Returns -1 if there is no
   * room.
   */
  add(account: number, { a, b, c }: CellPrint, name: Uint8Array): number {
    const lease = this.#allocate(HEADER.freeLease, HEADER.usedLeases, this.#leases, RECORD);
    if (lease < 0) return -1;
    const leases = this.#leases;
    const at = lease * RECORD.words;
    const bucket = this.#bucketOf(account, a);
    leases[at + RECORD.account] = account;
    leases[at + RECORD.print] = a;
    leases[at + RECORD.print + 1] = b;
    leases[at + RECORD.print + 2] = c;
    leases[at + RECORD.state] = LEASE.live;
    leases[at + RECORD.next] = this.#leaseBuckets[bucket];
    leases[at + RECORD.nameLength] = name.length;
    this.#names.set(name, lease * LONGEST_NAME);
    this.#leaseBuckets[bucket] = lease + 1;
    if (name.length === 0) this.#header[HEADER.numbered] = Math.max(this.#header[HEADER.numbered], b);
    this.#accounts[account * ACCOUNT.words + ACCOUNT.count]++;
    this.#header[HEADER.count]++;
    this.#append(lease, LEASE.live);
    this.set(lease, { hits: 0, endMs: 0, windowEndS: 0 });
    return lease;
  }

  /** Removes a lease. What it holds is not subtracted. */
  remove(lease: number): void {
    const leases = this.#leases;
    const at = lease * RECORD.words;
    const account = leases[at + RECORD.account];
    this.#detach(lease);
    unlink(this.#leaseBuckets, this.#bucketOf(account, leases[at + RECORD.print]), leases, RECORD, lease);
    leases[at + RECORD.state] = LEASE.none;
    leases[at + RECORD.next] = this.#header[HEADER.freeLease];
    this.#header[HEADER.freeLease] = lease + 1;
    this.#accounts[account * ACCOUNT.words + ACCOUNT.count]--;
    this.#header[HEADER.count]--;
  }

  /** {@link LEASE}. */
  state(lease: number): number {
    return this.#leases[lease * RECORD.words + RECORD.state];
  }

  /** The hits that a live lease holds; see `LeaseRecord` for the other states. */
  hits(lease: number): number {
    return this.#leaseNumbers[lease * 3];
  }

  /** When a live lease ends, and when a lease in another state is forgotten, in milliseconds since the epoch. */
  endMs(lease: number): number {
    return this.#leaseNumbers[lease * 3 + 1];
  }

  /** The end of the window in which the lease began. */
  windowOf(lease: number): number {
    return this.#leaseNumbers[lease * 3 + 2];
  }

  /** A copy of the name of the holder. */
  nameOf(lease: number): Uint8Array {
    const start = lease * LONGEST_NAME;
    return this.#names.slice(start, start + this.#leases[lease * RECORD.words + RECORD.nameLength]);
  }

  /** The fingerprint of the name of the holder. */
  holderPrint(lease: number): CellPrint {
    const at = lease * RECORD.words + RECORD.print;
    return { a: this.#leases[at], b: this.#leases[at + 1], c: this.#leases[at + 2] };
  }

  accountOf(lease: number): number {
    return this.#leases[lease * RECORD.words + RECORD.account];
  }

  set(
    lease: number,
    { hits, endMs, windowEndS }: Readonly<Record<'hits' | 'endMs' | 'windowEndS', number>>,
  ): void {
    this.#leaseNumbers[lease * 3] = hits;
    this.#leaseNumbers[lease * 3 + 1] = endMs;
    this.#leaseNumbers[lease * 3 + 2] = windowEndS;
  }

  setHits(lease: number, hits: number): void {
    this.#leaseNumbers[lease * 3] = hits;
  }

  setEnd(lease: number, endMs: number): void {
    this.#leaseNumbers[lease * 3 + 1] = endMs;
  }

  /** Makes a lease the last one of a state. */
  moveTo(lease: number, state: number): void {
    this.#detach(lease);
    this.#append(lease, state);
  }

  /** The lease of a state that ends first, or is forgotten first; -1 for none. */
  first(account: number, state: number): number {
    return this.#accounts[account * ACCOUNT.words + ACCOUNT.heads + 2 * (state - 1)] - 1;
  }

  last(account: number, state: number): number {
    return this.#accounts[account * ACCOUNT.words + ACCOUNT.heads + 2 * (state - 1) + 1] - 1;
  }

  /** The lease of the same state that ends next; -1 for none. */
  after(lease: number): number {
    return this.#leases[lease * RECORD.words + RECORD.later] - 1;
  }

  before(lease: number): number {
    return this.#leases[lease * RECORD.words + RECORD.sooner] - 1;
  }

  /** Number of places for leases that were ever used. Places of removed leases have the state `none`. */
  get places(): number {
    return this.#header[HEADER.usedLeases];
  }

  /** A number that was not used before, for a holder without a name. */
  nextNumber(): number {
    return ++this.#header[HEADER.numbered];
  }

  /** The next place to look for a lease that nobody asks for any more; the places take turns. */
  nextPlace(): number {
    const place = this.#header[HEADER.cursor];
    this.#header[HEADER.cursor] = place + 1 < this.places ? place + 1 : 0;
    return place;
  }

  #bucketOf(account: number, a: number): number {
    return (a ^ Math.imul(account, 0x9e3779b1)) & this.#mask;
  }

  #append(lease: number, state: number): void {
    const at = lease * RECORD.words;
    const account = this.#leases[at + RECORD.account];
    const list = account * ACCOUNT.words + ACCOUNT.heads + 2 * (state - 1);
    const last = this.#accounts[list + 1];
    this.#leases[at + RECORD.state] = state;
    this.#leases[at + RECORD.sooner] = last;
    this.#leases[at + RECORD.later] = 0;
    if (last === 0) this.#accounts[list] = lease + 1;
    else this.#leases[(last - 1) * RECORD.words + RECORD.later] = lease + 1;
    this.#accounts[list + 1] = lease + 1;
    if (state === LEASE.live) this.#accounts[account * ACCOUNT.words + ACCOUNT.live]++;
  }

  #detach(lease: number): void {
    const at = lease * RECORD.words;
    const sooner = this.#leases[at + RECORD.sooner];
    const later = this.#leases[at + RECORD.later];
    const account = this.#leases[at + RECORD.account];
    const state = this.#leases[at + RECORD.state];
    const list = account * ACCOUNT.words + ACCOUNT.heads + 2 * (state - 1);
    if (sooner === 0) this.#accounts[list] = later;
    else this.#leases[(sooner - 1) * RECORD.words + RECORD.later] = later;
    if (later === 0) this.#accounts[list + 1] = sooner;
    else this.#leases[(later - 1) * RECORD.words + RECORD.sooner] = sooner;
    if (state === LEASE.live) this.#accounts[account * ACCOUNT.words + ACCOUNT.live]--;
  }

  /** A place that was given back, or one that was never used. */
  #allocate(free: number, used: number, records: Int32Array, { words, next }: Chained): number {
    const header = this.#header;
    const place = header[free] - 1;
    if (place >= 0) {
      header[free] = records[place * words + next];
      return place;
    }
    return header[used] > this.#mask ? -1 : header[used]++;
  }
}
