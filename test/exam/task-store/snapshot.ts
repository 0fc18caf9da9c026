import type { DocumentKind } from '../../../src/tasks/model/documents.ts';
import type { HistoryEntry, Task, TaskBody } from '../../../src/tasks/model/task.ts';
import type { StoredDocument } from '../../../src/tasks/store/documents.ts';
import type { StatusCounts } from '../../../src/tasks/store/requests.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { historyQuery, taskQuery } from '../../support/tasks/factories.ts';

const PAGE = 500;
const BODIES = 200;

/** Every kind of document of tenants; the type makes sure that none is missing. */
const KINDS = Object.keys({
  account: true,
  user: true,
  token: true,
  worker: true,
  secret: true,
  schedule: true,
  removal: true,
  audit: true,
  callback: true,
} satisfies Record<Exclude<DocumentKind, 'master_keys' | 'move'>, true>) as DocumentKind[];

/** Everything of one tenant that can be read. */
export interface TenantSnapshot {
  readonly tasks: readonly Task[];
  readonly bodies: ReadonlyMap<string, TaskBody>;
  readonly histories: ReadonlyMap<string, readonly HistoryEntry[] | null>;
  readonly counts: StatusCounts;
  readonly countsOfWorkers: ReadonlyMap<string, StatusCounts>;
  readonly openOfSchedules: ReadonlyMap<string, readonly string[]>;
  readonly documents: readonly StoredDocument[];
}

/** Everything that can be read of all tenants that have an account. It is for stores of a test, not of the world. */
export async function snapshotOf(store: TaskStore): Promise<ReadonlyMap<string, TenantSnapshot>> {
  const snapshots = new Map<string, TenantSnapshot>();
  for (const tenant of await pages(
    after => store.tenants(after, PAGE),
    name => name,
  )) {
    snapshots.set(tenant, await snapshotOfTenant(store, tenant));
  }
  return snapshots;
}

async function snapshotOfTenant(store: TaskStore, tenant: string): Promise<TenantSnapshot> {
  const tasks = await pages(
    after => store.list(tenant, taskQuery({ after, limit: PAGE })),
    ({ id }) => id,
  );
  const bodies = new Map<string, TaskBody>();
  for (let i = 0; i < tasks.length; i += BODIES) {
    const ids = tasks.slice(i, i + BODIES).map(({ id }) => id);
    for (const [id, body] of await store.bodies(tenant, ids)) if (body !== null) bodies.set(id, body);
  }
  const histories = await Promise.all(tasks.map(({ id }) => store.history(tenant, id, historyQuery())));
  const countsOfWorkers = new Map<string, StatusCounts>();
  for (const id of distinct(tasks.map(({ workerId }) => workerId))) {
    countsOfWorkers.set(id, await store.counts(tenant, id));
  }
  const openOfSchedules = new Map<string, readonly string[]>();
  for (const id of distinct(tasks.flatMap(({ scheduleId }) => scheduleId ?? []))) {
    openOfSchedules.set(id, await store.openOfSchedule(tenant, id, tasks.length));
  }
  return {
    tasks,
    bodies: new Map([...bodies].sort(([a], [b]) => (a < b ? -1 : 1))),
    histories: new Map(tasks.map(({ id }, i) => [id, histories[i]])),
    counts: await store.counts(tenant, null),
    countsOfWorkers,
    openOfSchedules,
    documents: await allDocuments(store, tenant),
  };
}

async function allDocuments(store: TaskStore, tenant: string): Promise<StoredDocument[]> {
  const documents: StoredDocument[] = [];
  for (const kind of KINDS) {
    const query = { kind, limit: PAGE, order: 'asc' } as const;
    const page = (after: string | null) => store.listDocuments(tenant, { ...query, after });
    documents.push(...(await pages(page, ({ id }) => id)));
  }
  return documents;
}

/** All that there is, page by page. */
async function pages<T>(
  page: (after: string | null) => Promise<readonly T[]>,
  nameOf: (item: T) => string,
): Promise<T[]> {
  const all: T[] = [];
  for (let after: string | null = null; ; ) {
    const found = await page(after);
    all.push(...found);
    if (found.length < PAGE) return all;
    after = nameOf(found[found.length - 1]);
  }
}

function distinct(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort();
}
