import { LEASE_ACTIONS } from '../../messages/lease-message.ts';

/**
 * Leases: hits that are held for a holder until it says what it has used, or until the lease ends.
 *
 * A limit with leases has a level: the hits that are spent, and those that are held. A *holder* is a text that the calls of
 * one piece of work have in common, such as the id of a request. Its first call takes a lease, a later one ends it. Which
 * one a call is follows from what the store knows of the holder, so that proxies can make both calls in the same way.
 *
 * `redis/protocol/lease-functions.ts` decides with the same operations.
 */

/** The modes; see `LeaseMode` in `rules/rule-set.ts`. */
export const LEASE_MODE = { reserve: 0, concurrency: 1, once: 2 } as const;

/** How the leases of a limit work. All hits are whole numbers. */
export interface LeaseTerms {
  /** {@link LEASE_MODE}. */
  readonly mode: number;
  /** How long a lease lasts from its first call, or from the last one that extended it, in seconds. */
  readonly forS: number;
  /** Whether holders have names. Otherwise, a call with hits settles the lease that ends first. */
  readonly hasHolders: boolean;
  /** The hits that a call without hits holds; 0 if such a call holds none. */
  readonly estimate: number;
  /** Whether a call with hits ends the lease of its holder. Otherwise, it takes another one. */
  readonly settles: boolean;
  /** Whether a call without hits ends the lease of its holder. Otherwise, it extends the lease. */
  readonly zeroSettles: boolean;
  /** Whether hits beyond what the lease held take no room from other requests. */
  readonly allowsOverdraft: boolean;
}

/**
 * What a call wants. Calls of proxies need not say it. `end` is for calls that must not take anything, because an operator
 * has decided about them: it ends the lease of the holder as the call would, or does nothing. `revoke` is for operators: the
 * lease ends as if its time were over, so that its holder can still say what it has used.
 */
export const ACTION = { any: 0, ...LEASE_ACTIONS, end: 7, revoke: 8 } as const;

/**
 * What the store knows of a holder.
 *
 * - `live`: the lease holds hits
 * - `settled`: the lease was ended by its holder less than {@link SETTLED_S} ago. Kept only if `settles`
 * - `expired`: the lease has ended by itself, less than `forS` ago. Kept only if `settles`
 */
export const LEASE = { none: 0, live: 1, settled: 2, expired: 3 } as const;

/** How long a settled lease is remembered at most, in seconds, so that a call that is made twice settles it once. */
export const SETTLED_S = 60;

/**
 * What a call does.
 *
 * - `ask`: nothing; the answer says whether a hit would fit
 * - `take`: holds hits, if they fit. In the mode `once`, spends them, and remembers the holder
 * - `spend`: spends hits, if they fit
 * - `settle`: spends hits, whether or not they fit, and frees what the lease holds
 * - `free`: frees some of the hits that the lease holds
 * - `extend`: the lease ends `forS` from now on
 * - `giveBack`: subtracts hits from those that are spent
 * - `repeat`: nothing, because the same call has settled the lease before. This happens once for each lease
 * - `nothing`: nothing
 *
 * Only `take` and `spend` can be refused, and `ask` says what they would get.
 */
export const STEP = {
  ask: 0,
  take: 1,
  spend: 2,
  settle: 3,
  free: 4,
  extend: 5,
  giveBack: 6,
  repeat: 7,
  nothing: 8,
} as const;

/** What a call brings. */
interface LeaseCall {
  /** {@link ACTION}. */
  readonly action: number;
  readonly hits: number;
  readonly isRefund: boolean;
  /** Whether the call names a holder. */
  readonly isNamed: boolean;
}

/** What the store knows of the holder of a call. */
interface LeaseRecord {
  /** {@link LEASE}. */
  readonly state: number;
  /** The hits that the lease holds or has held; of a settled one, those of the call that settled it. */
  readonly hits: number;
}

/** Decides what calls do. */
export class LeaseStep {
  /** {@link STEP}. */
  kind: number = STEP.ask;
  /** The hits to hold, to spend, to free or to give back. */
  hits = 0;

  /** Sets the step for a call. Without holders, the record is that of the lease that ends first. */
  choose(terms: LeaseTerms, call: LeaseCall, record: LeaseRecord): void {
    const { action } = call;
    const isTaking = action === ACTION.reserve || action === ACTION.settle;
    if (action === ACTION.any || (call.isRefund && isTaking)) {
      if (terms.hasHolders && !call.isNamed) this.#withoutHolder(terms, call);
      else if (call.isRefund) this.#refund(terms, call, record);
      else if (call.hits === 0) this.#withoutHits(terms, record);
      else this.#withHits(terms, call, record);
    } else if (action === ACTION.end) this.#end(terms, call, record);
    else if (action === ACTION.reserve) this.#take(terms, call.hits === 0 ? terms.estimate : call.hits);
    else if (action === ACTION.extend) this.#extend(terms, record);
    else if (action === ACTION.release || action === ACTION.revoke)
      this.#set(record.state === LEASE.live ? STEP.settle : STEP.nothing, 0);
    else if (record.state === LEASE.settled) this.#set(STEP.nothing, 0);
    else this.#settle(terms, record, call.hits);
  }

  #set(kind: number, hits: number): void {
    this.kind = kind;
    this.hits = hits;
  }

  #end(terms: LeaseTerms, call: LeaseCall, record: LeaseRecord): void {
    const isKnown = record.state === LEASE.live || record.state === LEASE.expired;
    const ends = call.isRefund || (call.hits > 0 && terms.settles);
    if (!isKnown || !ends || !call.isNamed) this.#set(STEP.nothing, 0);
    else if (call.isRefund) this.#refund(terms, call, record);
    else this.#settle(terms, record, call.hits);
  }

  /** Nothing can be settled later, so hits are spent at once. A slot is held until its lease ends. */
  #withoutHolder(terms: LeaseTerms, { hits, isRefund }: LeaseCall): void {
    if (terms.mode === LEASE_MODE.concurrency) {
      if (isRefund) this.#set(STEP.nothing, 0);
      else this.#take(terms, hits);
    } else if (isRefund) this.#set(STEP.giveBack, hits);
    else this.#set(hits === 0 ? STEP.ask : STEP.spend, hits);
  }

  /** A refund says how much of the lease was not used. It frees no lease of others, and none twice. */
  #refund(terms: LeaseTerms, { hits }: LeaseCall, { state, hits: held }: LeaseRecord): void {
    if (!terms.hasHolders) this.#set(STEP.giveBack, hits);
    else if (state !== LEASE.live && state !== LEASE.expired) this.#set(STEP.nothing, 0);
    else if (terms.mode === LEASE_MODE.concurrency && !terms.settles && hits < held)
      this.#set(STEP.free, hits);
    else this.#set(STEP.settle, terms.mode === LEASE_MODE.reserve ? Math.max(held - hits, 0) : 0);
  }

  #withoutHits(terms: LeaseTerms, { state, hits }: LeaseRecord): void {
    if (!terms.hasHolders) this.#take(terms, terms.estimate);
    else if (state === LEASE.none) this.#take(terms, terms.estimate);
    else if (state === LEASE.settled) this.#set(STEP.ask, 0);
    else if (terms.zeroSettles) this.#set(STEP.settle, 0);
    else this.#extend(terms, { state, hits });
  }

  #withHits(terms: LeaseTerms, { hits }: LeaseCall, record: LeaseRecord): void {
    const { state } = record;
    const isOpen = state === LEASE.live || state === LEASE.expired;
    if (!terms.hasHolders || (isOpen && terms.settles)) this.#settle(terms, record, hits);
    else if (state === LEASE.settled && record.hits === hits) this.#set(STEP.repeat, 0);
    else this.#take(terms, hits);
  }

  /** Without a lease, hits of a settlement are spent nevertheless. */
  #settle(terms: LeaseTerms, { state }: LeaseRecord, hits: number): void {
    const spent = terms.mode === LEASE_MODE.reserve ? hits : 0;
    if (state === LEASE.none && spent === 0) this.#set(STEP.nothing, 0);
    else this.#set(STEP.settle, spent);
  }

  /** A lease that has expired is taken again, if there is room. */
  #extend(terms: LeaseTerms, { state, hits }: LeaseRecord): void {
    if (state === LEASE.live) this.#set(STEP.extend, 0);
    else if (state === LEASE.expired) this.#take(terms, hits);
    else this.#set(STEP.ask, 0);
  }

  /** Beside a limit that is settled, a request takes one slot, whatever its hits are. */
  #take(terms: LeaseTerms, hits: number): void {
    const isSlot = terms.mode === LEASE_MODE.concurrency && terms.settles;
    this.#set(hits === 0 ? STEP.ask : STEP.take, isSlot ? Math.min(hits, 1) : hits);
  }
}
