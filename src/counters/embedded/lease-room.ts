import { SECOND_MS } from '../../base/clock.ts';
import { LEASE } from '../leases/lease.ts';
import type { LeaseBook } from './lease-book.ts';

/** How long a lease is kept that nobody asks for any more, if its place is not needed. */
const ABANDONED_MS = 3_600 * SECOND_MS;

/** Number of places to look at for such leases each time that a lease is added, and if there is no room. */
const TIDIED = 2;
const SEARCHED = 1_024;

/** The part of all places that the leases of one key can have, so that no key takes them all. */
const MOST_OF_KEY = 3 / 4;

/**
 * Makes room in a book of leases. Records that are only remembered, because their leases are settled or have expired, make
 * room for leases that hold hits. The lock of the book must be held.
 */
export class LeaseRoom {
  readonly #book: LeaseBook;

  constructor(book: LeaseBook) {
    this.#book = book;
  }

  /** Removes leases that have ended long ago, if the next few places have any. */
  tidy(nowMs: number): void {
    this.#search(TIDIED, lease => this.#book.endMs(lease) + ABANDONED_MS <= nowMs);
  }

  /** Forgets leases that have ended if the book is too full. Returns whether so many leases can be added now. */
  make(nowMs: number, leases: number): boolean {
    const book = this.#book;
    if (book.room >= leases) return true;
    this.#search(Math.max(SEARCHED, 4 * leases), lease => this.#isForgettable(lease, nowMs));
    return book.room >= leases;
  }

  /** Forgets a lease that has ended if the account has very many. Returns whether a lease can be added to it now. */
  makeOf(account: number): boolean {
    const book = this.#book;
    if (book.countOf(account) < book.size * MOST_OF_KEY) return true;
    for (const state of [LEASE.settled, LEASE.expired]) {
      const lease = book.first(account, state);
      if (lease < 0) continue;
      book.remove(lease);
      return true;
    }
    return false;
  }

  #isForgettable(lease: number, nowMs: number): boolean {
    const book = this.#book;
    return book.state(lease) !== LEASE.live || book.endMs(lease) <= nowMs;
  }

  /** Removes leases from the next places. */
  #search(places: number, isRemoved: (lease: number) => boolean): void {
    const book = this.#book;
    for (let i = Math.min(places, book.places); i > 0; i--) {
      const lease = book.nextPlace();
      if (book.state(lease) === LEASE.none || !isRemoved(lease)) continue;
      const account = book.accountOf(lease);
      if (book.state(lease) === LEASE.live) freeHits(book, lease, book.hits(lease));
      book.remove(lease);
      book.closeIfEmpty(account);
    }
  }
}

/** Subtracts hits of a lease from those that its account holds, unless the lease began in another window. */
export function freeHits(book: LeaseBook, lease: number, hits: number): void {
  const account = book.accountOf(lease);
  const endS = book.windowEndS(account);
  if (book.windowOf(lease) === endS) book.setHeld(account, book.held(account) - hits, endS);
}
