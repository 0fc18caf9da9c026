interface FairSharesOptions {
  /** Maximum number of units of all holders together. */
  readonly capacity: number;
  /** Number of units that a single holder is guaranteed; at most a seventh of the capacity. */
  readonly base: number;
}

interface Holder {
  /** Units from the guaranteed part. */
  guaranteed: number;
  /** Units from the spare part. */
  spare: number;
}

/**
 * The guaranteed part, in units of `base`. The k-th of k holders may take `base / k`, and 1 + 1/2 + … + 1/k is below 7
 * for up to 615 holders.
 */
const GUARANTEED_BASES = 7;

/**
 * Divides a resource between holders that come and go in any order. Units that a holder has taken cannot be revoked.
 *
 * - _Guaranteed part_: while `k` holders have units, each may take units until it has `base / k`, and at least one.
 *   Between two takes a holder can only give units back, so the holder whose last take was the j-th oldest has at most
 *   `base / j` units of this part. The part is large enough for the sum of these shares, so it is never exhausted.
 * - _Spare part_: a holder may take units until it has as many of them as are still free.
 */
export class FairShares {
  readonly #base: number;
  readonly #guaranteed: number;
  readonly #spare: number;
  readonly #holders = new Map<string, Holder>();
  #guaranteedTaken = 0;
  #spareTaken = 0;

  constructor({ capacity, base }: FairSharesOptions) {
    this.#base = base;
    this.#guaranteed = Math.min(capacity, GUARANTEED_BASES * base);
    this.#spare = capacity - this.#guaranteed;
  }

  /** Units that all holders have. */
  get taken(): number {
    return this.#guaranteedTaken + this.#spareTaken;
  }

  /** Units that the holder has. */
  heldBy(name: string): number {
    const holder = this.#holders.get(name);
    return holder === undefined ? 0 : holder.guaranteed + holder.spare;
  }

  /** Number of units that the holder may take now. */
  roomFor(name: string): number {
    const { guaranteed, spare } = this.#holders.get(name) ?? NOTHING;
    const freeSpare = this.#spare - this.#spareTaken;
    return this.#guaranteedRoom(name, guaranteed) + Math.max(0, Math.floor((freeSpare - spare) / 2));
  }

  /** Takes units, at most {@link roomFor} of them. */
  take(name: string, units: number): void {
    let holder = this.#holders.get(name);
    const guaranteed = Math.min(units, this.#guaranteedRoom(name, holder?.guaranteed ?? 0));
    if (holder === undefined) {
      holder = { guaranteed: 0, spare: 0 };
      this.#holders.set(name, holder);
    }
    holder.guaranteed += guaranteed;
    holder.spare += units - guaranteed;
    this.#guaranteedTaken += guaranteed;
    this.#spareTaken += units - guaranteed;
  }

  /** Gives units back. */
  give(name: string, units: number): void {
    const holder = this.#holders.get(name);
    if (holder === undefined) return;
    const spare = Math.min(units, holder.spare);
    holder.spare -= spare;
    holder.guaranteed -= units - spare;
    this.#spareTaken -= spare;
    this.#guaranteedTaken -= units - spare;
    if (holder.guaranteed + holder.spare === 0) this.#holders.delete(name);
  }

  #guaranteedRoom(name: string, has: number): number {
    const holders = this.#holders.size + (this.#holders.has(name) ? 0 : 1);
    const share = Math.max(1, Math.floor(this.#base / holders));
    return Math.max(0, Math.min(share - has, this.#guaranteed - this.#guaranteedTaken));
  }
}

const NOTHING: Holder = { guaranteed: 0, spare: 0 };
