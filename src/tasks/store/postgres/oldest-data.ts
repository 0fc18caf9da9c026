import type { PurgeAnswer } from '../requests.ts';
import type { Functions } from './functions.ts';

/** For how long it is known how old the data of tenants is. */
const KNOWN_MS = 10_000;

/** Tenants in one answer, which takes the server about 20 ms. */
const PAGE = 1_000;

const NOTHING: PurgeAnswer = { tasks: 0, more: false };

/** Values of `oldest`: ends of the oldest tasks, and when something else is over first; null for nothing. */
type Oldest = readonly [
  tenant: string,
  succeeded: number | null,
  other: number | null,
  elseAt: number | null,
];

interface Keep {
  readonly succeededMs: number;
  readonly otherMs: number;
}

/**
 * Knows how old the data of some tenants is: of the one that was asked for last, and those whose names follow. Passes over all
 * tenants are in this order, so they need not look at each tenant whose data is to be kept. Data only grows older, except
 * after a removal.
 */
export class OldestData {
  readonly #functions: Functions;
  readonly #monotonicMs: () => number;
  readonly #now: () => Promise<number>;
  #oldest: ReadonlyMap<string, Oldest> = new Map();
  #askedMs = Number.NEGATIVE_INFINITY;

  /** @param now the time of the server */
  constructor(functions: Functions, monotonicMs: () => number, now: () => Promise<number>) {
    this.#functions = functions;
    this.#monotonicMs = monotonicMs;
    this.#now = now;
  }

  /** Removes old data of a tenant, if there is any. */
  async purge(tenant: string, keep: Keep, max: number): Promise<PurgeAnswer> {
    const isAll = keep.succeededMs < 0 && keep.otherMs < 0;
    if (!isAll && !(await this.#isAny(tenant, keep))) return NOTHING;
    const args = [tenant, keep.succeededMs, keep.otherMs, max];
    const [tasks, more] = (await this.#functions.write('purge', args, tenant)) as readonly [number, boolean];
    return { tasks, more };
  }

  async #isAny(tenant: string, { succeededMs, otherMs }: Keep): Promise<boolean> {
    if (this.#functions.ownTime() !== null) return true;
    const isKnown = this.#oldest.has(tenant) && this.#monotonicMs() - this.#askedMs < KNOWN_MS;
    const oldest = (isKnown ? this.#oldest : await this.#ask(tenant)).get(tenant);
    if (oldest === undefined) return false;
    const [, succeeded, other, elseAt] = oldest;
    const now = await this.#now();
    return (
      isBefore(succeeded, now - succeededMs) || isBefore(other, now - otherMs) || isBefore(elseAt, now + 1)
    );
  }

  async #ask(from: string): Promise<ReadonlyMap<string, Oldest>> {
    const askedMs = this.#monotonicMs();
    const rows = (await this.#functions.read('oldest', [from, PAGE], '')) as readonly Oldest[];
    this.#oldest = new Map(rows.map(row => [row[0], row]));
    this.#askedMs = askedMs;
    return this.#oldest;
  }
}

function isBefore(at: number | null, time: number): boolean {
  return at !== null && at < time;
}
