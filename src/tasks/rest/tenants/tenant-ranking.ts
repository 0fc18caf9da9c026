import { type Clock, SECOND_MS } from '../../../base/clock.ts';
import type { Account } from '../../model/documents.ts';
import { isFinal, TASK_STATUSES } from '../../model/task.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem } from '../checks/problem.ts';
import type { TenantSort } from '../http/tenant-ask.ts';
import { figuresOfMany, storedTasks, type TenantFigures } from './tenant-figures.ts';

/** Maximum number of tenants that are listed. */
const MAX_TENANTS = 100_000;
const NAMES_AT_ONCE = 1_000;
/** Number of tenants that are read concurrently. Other callers of the store take turns with them. */
const TENANTS_AT_ONCE = 100;

/** A ranking is used for at least this long, and for {@link USED_TIMES} as long as it took to read all tenants. */
const LEAST_USE_MS = SECOND_MS;
const USED_TIMES = 20;
/** How long a list waits for a newer ranking before it uses the previous one. */
const PATIENCE_MS = 3 * SECOND_MS;

/** What a tenant is found and sorted by. */
interface RankedTenant {
  readonly domain: string;
  readonly status: Account['status'];
  readonly ranks: Readonly<Record<Exclude<TenantSort, 'domain'>, number>>;
}

/** All tenants at about one time. */
interface Ranking {
  /** When reading them began. */
  readonly atMs: number;
  /** Returns the tenants in this order. */
  inOrder(sort: TenantSort): readonly RankedTenant[];
}

interface TenantRankingParts {
  readonly store: Pick<TaskStore, 'tenants' | 'getDocument' | 'counts' | 'countDocuments' | 'dueOf'>;
  readonly clock: Clock;
}

/**
 * Orders tenants by figures that no index has. It reads all tenants for that, only when somebody asks, and seldom enough
 * that this takes at most a twentieth of the time. Tenants whose figures cannot be read are left out.
 */
export class TenantRanking {
  readonly #parts: TenantRankingParts;
  #last: Ranking | null = null;
  #usedUntilMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<Ranking> | null = null;
  /** Number of changes that the operator has made. */
  #changes = 0;

  constructor(parts: TenantRankingParts) {
    this.#parts = parts;
  }

  /** All domains that contain a text, sorted. They need no figures, so they are those of now. */
  async domains(part: string): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const domains of allDomains(this.#parts.store)) {
      for (const domain of domains) if (domain.includes(part)) found.push(domain);
    }
    return found;
  }

  /** @throws Problem `overloaded` if no ranking is known in time */
  async get(): Promise<Ranking> {
    const { clock } = this.#parts;
    if (this.#last !== null && clock.nowMs() < this.#usedUntilMs) return this.#last;
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    const waiting = Promise.withResolvers<Ranking | null>();
    const timer = clock.after(PATIENCE_MS, () => waiting.resolve(this.#last));
    this.#reading.then(waiting.resolve, waiting.reject);
    const ranking = await waiting.promise.finally(() => timer.cancel());
    if (ranking !== null) return ranking;
    throw new Problem(
      'overloaded',
      'The figures of all tenants, which this order needs, are still being read. Retry in a few seconds, or sort by domain.',
      { headers: { 'Retry-After': '3' } },
    );
  }

  async #read(): Promise<Ranking> {
    const { store, clock } = this.#parts;
    const atMs = clock.nowMs();
    const changes = this.#changes;
    const tenants: RankedTenant[] = [];
    let failed: unknown = null;
    for await (const domains of allDomains(store)) {
      for (let i = 0; i < domains.length; i += TENANTS_AT_ONCE) {
        const { figures, failure } = await figuresOfMany(store, domains.slice(i, i + TENANTS_AT_ONCE));
        tenants.push(...figures.map(ranked));
        failed ??= failure;
        if (tenants.length === 0 && failed !== null) throw failed;
      }
    }
    this.#last = rankingOf(tenants, atMs);
    // A tenant that was changed in the meantime may have been read before its change.
    if (changes === this.#changes)
      this.#usedUntilMs = clock.nowMs() + Math.max(LEAST_USE_MS, USED_TIMES * (clock.nowMs() - atMs));
    return this.#last;
  }

  /**
   * The next list reads the figures again, because the operator has just changed a tenant. If they are being read now, the
   * list after that does, so that they are never read twice at the same time.
   */
  changed(): void {
    this.#changes++;
    this.#usedUntilMs = Number.NEGATIVE_INFINITY;
  }
}

async function* allDomains(store: Pick<TaskStore, 'tenants'>): AsyncGenerator<readonly string[]> {
  let after: string | null = null;
  for (let read = 0; read < MAX_TENANTS; read += NAMES_AT_ONCE) {
    const domains: readonly string[] = await store.tenants(after, NAMES_AT_ONCE);
    yield domains;
    if (domains.length < NAMES_AT_ONCE) return;
    after = domains[domains.length - 1];
  }
}

function ranked({ account, counts, workers, due }: TenantFigures): RankedTenant {
  return {
    domain: account.domain,
    status: account.status,
    ranks: {
      created: account.createdAt,
      open: TASK_STATUSES.reduce((sum, status) => sum + (isFinal(status) ? 0 : counts[status]), 0),
      stored: storedTasks(counts),
      failed: counts.failed,
      workers,
      in_flight: counts.running,
      due: due.count,
      oldest_due: due.oldestAt === null ? Number.NEGATIVE_INFINITY : -due.oldestAt,
    },
  };
}

/** Each order is sorted when it is first asked for. */
function rankingOf(byDomain: readonly RankedTenant[], atMs: number): Ranking {
  const orders = new Map<TenantSort, readonly RankedTenant[]>([['domain', byDomain]]);
  return {
    atMs,
    inOrder(sort) {
      let order = orders.get(sort);
      if (order === undefined) {
        const by = sort as Exclude<TenantSort, 'domain'>;
        // Equal tenants stay in the order of their domains. The difference of infinities is not a number.
        order = byDomain.toSorted((a, b) => (a.ranks[by] === b.ranks[by] ? 0 : b.ranks[by] - a.ranks[by]));
        orders.set(sort, order);
      }
      return order;
    },
  };
}
