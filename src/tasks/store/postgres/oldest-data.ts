import type { PurgeAnswer } from '../requests.ts';
import type { Functions } from './functions.ts';

/** For how long it is known how old the data of tenants is. */
const KNOWN_MS = 10_000;

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
 * Knows how old the data of all tenants is, so that tenants whose data is to be kept are not looked at one after the other.
 * Data only grows older, except after a removal.
 */
export class OldestData {
  readonly #functions: Functions;
  readonly #monotonicMs: () => number;
  readonly #now: () => Promise<number>;
  #oldest = new Map<string, Oldest>();
  #askedMs = Number.NEGATIVE_INFINITY;
  #asking: Promise<void> | null = null;

  /** @param now the time of the server */
  constructor(functions: Functions, monotonicMs: () => number, now: () => Promise<number>) {
    this.#functions = functions;
    this.#monotonicMs = monotonicMs;
    this.#now = now;
  }

  /** Removes old data of a tenant, if there is any. */
  async purge(tenant: string, keep: Keep, max: number): Promise<PurgeAnswer> {
    if (!(await this.#isAny(tenant, keep))) return NOTHING;
    const args = [tenant, keep.succeededMs, keep.otherMs, max];
    const [tasks, more] = (await this.#functions.write('purge', args, tenant)) as readonly [number, boolean];
    return { tasks, more };
  }

  async #isAny(tenant: string, { succeededMs, otherMs }: Keep): Promise<boolean> {
    if (this.#functions.ownTime() !== null) return true;
    if (this.#monotonicMs() - this.#askedMs >= KNOWN_MS) {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = null;
      });
      await this.#asking;
    }
    const oldest = this.#oldest.get(tenant);
    if (oldest === undefined) return false;
    const [, succeeded, other, elseAt] = oldest;
    const now = await this.#now();
    return (
      isBefore(succeeded, now - succeededMs) || isBefore(other, now - otherMs) || isBefore(elseAt, now + 1)
    );
  }

  async #ask(): Promise<void> {
    const askedMs = this.#monotonicMs();
    const rows = (await this.#functions.read('oldest', [], '')) as readonly Oldest[];
    this.#oldest = new Map(rows.map(row => [row[0], row]));
    this.#askedMs = askedMs;
  }
}

function isBefore(at: number | null, time: number): boolean {
  return at !== null && at < time;
}
