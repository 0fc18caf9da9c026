import { type Copy, type CopyPlace, FIRST_PLACE } from '../store/copies.ts';
import { SERVICE } from '../store/documents.ts';
import type { TaskStore } from '../store/task-store.ts';

/** A page of a tenant, where it began, and whether it is the last one of the tenant. */
interface TenantPage {
  readonly tenant: string;
  readonly place: CopyPlace;
  readonly copies: readonly Copy[];
  readonly isLast: boolean;
}

/** Where a walk over all tenants begins. */
export interface WalkPlace {
  readonly tenant: string;
  readonly place: CopyPlace;
}

/** The documents of the service itself come first. */
export const WALK_START: WalkPlace = { tenant: SERVICE, place: FIRST_PLACE };

const TENANTS_A_PAGE = 500;

/** The service itself, then all tenants with an account, sorted by name. */
export async function* tenantsOf(
  store: Pick<TaskStore, 'tenants'>,
  from: string = SERVICE,
): AsyncGenerator<string> {
  yield from;
  for (let after = from === SERVICE ? null : from; ; ) {
    const names = await store.tenants(after, TENANTS_A_PAGE);
    yield* names;
    if (names.length < TENANTS_A_PAGE) return;
    after = names[names.length - 1];
  }
}

/** All pages of all tenants. */
export async function* pagesFrom(
  store: Pick<TaskStore, 'tenants' | 'copyOut'>,
  start: WalkPlace = WALK_START,
): AsyncGenerator<TenantPage> {
  for await (const tenant of tenantsOf(store, start.tenant)) {
    yield* pagesOfTenant(store, tenant, tenant === start.tenant ? start.place : FIRST_PLACE);
  }
}

export async function* pagesOfTenant(
  store: Pick<TaskStore, 'copyOut'>,
  tenant: string,
  start: CopyPlace = FIRST_PLACE,
): AsyncGenerator<TenantPage> {
  let place = start;
  for (;;) {
    const { copies, next } = await store.copyOut(tenant, place);
    yield { tenant, place, copies, isLast: next === null };
    if (next === null) return;
    place = next;
  }
}

/** The same items, each of which is fetched while the one before it is used. */
export async function* ahead<T>(items: AsyncGenerator<T>): AsyncGenerator<T> {
  for (let next = items.next(); ; ) {
    const { done, value } = await next;
    if (done === true) return;
    next = items.next();
    // If the caller stops here, nobody asks for the result.
    next.catch(() => {});
    yield value;
  }
}
