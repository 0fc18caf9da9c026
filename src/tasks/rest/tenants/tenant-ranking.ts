import type { Clock } from '../../../base/clock.ts';
import type { Account } from '../../model/documents.ts';
import { isFinal, TASK_STATUSES } from '../../model/task.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { retryLater } from '../checks/problem.ts';
import type { TenantListAsk, TenantSort } from '../http/tenant-ask.ts';
import { SeldomRead } from './seldom-read.ts';
import { figuresOfMany, storedTasks, type TenantFigures } from './tenant-figures.ts';

/** Maximum number of tenants that are listed. */
export const MAX_TENANTS = 100_000;
const NAMES_AT_ONCE = 1_000;
/** Number of tenants that are read concurrently. Other callers of the store take turns with them. */
const TENANTS_AT_ONCE = 100;

/** What a tenant is found and sorted by. */
interface RankedTenant {
  readonly domain: string;
  readonly status: Account['status'];
  readonly ranks: Readonly<Record<Exclude<TenantSort, 'domain'>, number>>;
}

/** All tenants at about one time. */
interface AllTenants {
  /** When reading them began. */
  readonly atMs: number;
  /** Whether there are more than {@link MAX_TENANTS}. Those after them, by domain, are left out. */
  readonly isCut: boolean;
}

interface Names extends AllTenants {
  /** Sorted. */
  readonly domains: readonly string[];
}

interface Ranking extends AllTenants {
  /** Returns the tenants in this order. */
  inOrder(sort: TenantSort): readonly RankedTenant[];
}

/** Tenants that a list asks for. */
interface FoundTenants extends AllTenants {
  readonly domains: readonly string[];
}

type RankedStore = Pick<TaskStore, 'tenants' | 'getDocument' | 'counts' | 'countDocuments' | 'dueOf'>;

/**
 * Finds tenants, and orders them by figures that no index has. It reads the names or the figures of all tenants for that,
 * only when somebody asks, and seldom. Tenants whose figures cannot be read are left out of orders by figures.
 */
export class TenantRanking {
  readonly #store: RankedStore;
  readonly #clock: Clock;
  readonly #names: SeldomRead<Names>;
  readonly #ranking: SeldomRead<Ranking>;

  constructor(store: RankedStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
    this.#names = new SeldomRead(() => this.#readNames(), clock);
    this.#ranking = new SeldomRead(() => this.#readFigures(), clock);
  }

  /** @throws Problem `overloaded` if not enough is known in time */
  async find({ q, status, sort }: Pick<TenantListAsk, 'q' | 'status' | 'sort'>): Promise<FoundTenants> {
    if (sort === 'domain' && status === null) {
      const names = known(await this.#names.get(), 'The names of all tenants are still being read.');
      return { ...names, domains: names.domains.filter(domain => domain.includes(q)) };
    }
    const ranking = known(
      await this.#ranking.get(),
      'The figures of all tenants, which this list needs, are still being read.',
    );
    const domains = ranking
      .inOrder(sort)
      .filter(tenant => (status === null || tenant.status === status) && tenant.domain.includes(q))
      .map(({ domain }) => domain);
    return { atMs: ranking.atMs, isCut: ranking.isCut, domains };
  }

  /** The operator has just changed a tenant. */
  changed(): void {
    this.#ranking.changed();
  }

  async #readNames(): Promise<Names> {
    const store = this.#store;
    const clock = this.#clock;
    const atMs = clock.nowMs();
    const all: string[] = [];
    let after: string | null = null;
    // One more than are listed, so that it is known whether there are more.
    while (all.length <= MAX_TENANTS) {
      const domains = await store.tenants(after, NAMES_AT_ONCE);
      all.push(...domains);
      after = domains.at(-1) ?? null;
      if (domains.length < NAMES_AT_ONCE) break;
    }
    return { atMs, isCut: all.length > MAX_TENANTS, domains: all.slice(0, MAX_TENANTS) };
  }

  async #readFigures(): Promise<Ranking> {
    const { atMs, isCut, domains } = await this.#readNames();
    const tenants: RankedTenant[] = [];
    let failed: unknown = null;
    for (let i = 0; i < domains.length; i += TENANTS_AT_ONCE) {
      const page = domains.slice(i, i + TENANTS_AT_ONCE);
      const { figures, failure } = await figuresOfMany(this.#store, page);
      tenants.push(...figures.map(ranked));
      failed ??= failure;
      if (tenants.length === 0 && failed !== null) throw failed;
    }
    return { atMs, isCut, inOrder: ordersOf(tenants) };
  }
}

function known<T>(result: T | null, why: string): T {
  if (result !== null) return result;
  throw retryLater('overloaded', `${why} Retry in a few seconds.`, 3);
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
function ordersOf(byDomain: readonly RankedTenant[]): Ranking['inOrder'] {
  const orders = new Map<TenantSort, readonly RankedTenant[]>([['domain', byDomain]]);
  return sort => {
    let order = orders.get(sort);
    if (order === undefined) {
      const by = sort as Exclude<TenantSort, 'domain'>;
      // Equal tenants stay in the order of their domains. The difference of infinities is not a number.
      order = byDomain.toSorted((a, b) => (a.ranks[by] === b.ranks[by] ? 0 : b.ranks[by] - a.ranks[by]));
      orders.set(sort, order);
    }
    return order;
  };
}
