import type { MoveRecord } from '../model/documents.ts';
import { formatTime } from '../model/time.ts';
import { SERVICE } from '../store/documents.ts';
import type { TaskStore } from '../store/task-store.ts';
import { checkCopy, type Difference } from './check-copy.ts';
import { pagesOfTenant, tenantsOf } from './copied-pages.ts';
import { type CopyCounts, copyTenants, NOTHING_COPIED, readProgress } from './copy-tenants.ts';
import type { TenantDigest } from './digest.ts';
import { isUsedAfter } from './last-use.ts';
import { deleteMoveRecord, moveRecordOf, writeMoveRecord } from './move-record.ts';
import { MoveRefused, type MovingStore } from './moving-store.ts';

/** What the caller shows of a move. */
export interface MoveObserver {
  /** The numbers of tenants and tasks in the source. `since`: when an earlier run has begun this move; null for a new one. */
  began(total: CopyCounts, since: number | null): void;
  /** How many were copied, or, in the second stage, checked. Called for each page. */
  advanced(stage: 'copy' | 'check', done: CopyCounts): void;
  /** A tenant is the same in both stores. */
  checked(tenant: string, digest: TenantDigest): void;
}

export type MoveResult =
  /** Everything is in the target, which the service may use. */
  | { readonly kind: 'moved' }
  /** An earlier run has moved everything. */
  | { readonly kind: 'moved_before'; readonly at: number }
  /** A process of the service has used the source meanwhile. Nothing was marked as moved. */
  | { readonly kind: 'used' }
  /** The source has changed, or a store has lost something. Nothing was marked as moved. */
  | { readonly kind: 'differs'; readonly differences: readonly Difference[] };

/**
 * Moves everything of a store to an empty one, and compares both afterwards. A move that was interrupted goes on: the target
 * has a record of how far it came. No service may use either store meanwhile. In the end the source gets a record as
 * well, with which no service starts on it; nothing else of it changes.
 *
 * @throws (rejects with) MoveRefused; Fault of a store, after which the same call goes on
 */
export async function moveTasks(
  from: MovingStore,
  to: MovingStore,
  observer: MoveObserver,
): Promise<MoveResult> {
  const [source, target] = await Promise.all([moveRecordOf(from.store), moveRecordOf(to.store)]);
  refuseSource(source, from, to);
  refuseTarget(target, from, to);
  if (target === null && source !== null) {
    await refuseEmptied(from, to, source.at);
    return { kind: 'moved_before', at: source.at };
  }
  const record = target ?? (await beginIn(from, to));
  const [beganAt, total] = [await from.store.now(), await countsOf(from.store)];
  observer.began(total, target === null ? null : target.at);
  await copyTenants(from.store, to.store, readProgress(record.progress), {
    save: progress => writeMoveRecord(to.store, { ...record, progress }),
    advanced: done => observer.advanced('copy', done),
  });
  const differences = await checkCopy(from.store, to.store, observer);
  if (differences.length > 0) return { kind: 'differs', differences };
  const at = await from.store.now();
  await writeMoveRecord(from.store, { direction: 'out', other: to.shown, at, progress: null });
  // A process that starts says that it uses the store before it looks for this record.
  if (await isUsedAfter(from.store, beganAt)) {
    await deleteMoveRecord(from.store);
    return { kind: 'used' };
  }
  await deleteMoveRecord(to.store);
  return { kind: 'moved' };
}

function refuseSource(record: MoveRecord | null, from: MovingStore, to: MovingStore): void {
  if (record?.direction === 'in') {
    throw new MoveRefused(
      `the tasks of ${record.other} are being moved into ${from.shown}. Finish that move first.`,
    );
  }
  if (record?.direction === 'out' && record.other !== to.shown) {
    throw new MoveRefused(
      `the tasks of ${from.shown} were moved to ${record.other} at ${formatTime(record.at)}. Move them from there.`,
    );
  }
}

function refuseTarget(record: MoveRecord | null, from: MovingStore, to: MovingStore): void {
  if (record === null || (record.direction === 'in' && record.other === from.shown)) return;
  throw new MoveRefused(
    record.direction === 'in'
      ? `the tasks of ${record.other} are being moved into ${to.shown}. Finish that move first, or use another store.`
      : `${to.shown} has tasks that were moved to ${record.other} at ${formatTime(record.at)}. Use an empty store.`,
  );
}

/** Keeps an operator from believing in a target that was emptied after the move. */
async function refuseEmptied(from: MovingStore, to: MovingStore, at: number): Promise<void> {
  const [[expected], [found]] = await Promise.all([from.store.tenants(null, 1), to.store.tenants(null, 1)]);
  if (expected === undefined || found !== undefined) return;
  throw new MoveRefused(
    `the tasks of ${from.shown} were moved to ${to.shown} at ${formatTime(at)}, but that is empty now. To move them ` +
      'again, run "sluice tasks reopen" for the source first.',
  );
}

/** Marks an empty store as the target, before anything is written to it. */
async function beginIn(from: MovingStore, { store, shown }: MovingStore): Promise<MoveRecord> {
  const [tenant] = await store.tenants(null, 1);
  let isUsed = tenant !== undefined;
  for await (const { copies } of pagesOfTenant(store, SERVICE)) isUsed ||= copies.length > 0;
  if (isUsed) {
    const what = tenant === undefined ? 'records of a service that used it' : `data of the tenant ${tenant}`;
    throw new MoveRefused(`${shown} is not empty: it has ${what}. Use an empty store.`);
  }
  const record: MoveRecord = { direction: 'in', other: from.shown, at: await store.now(), progress: null };
  await writeMoveRecord(store, record);
  return record;
}

/** Counts with what stores have counted, so it is fast. */
async function countsOf(store: Pick<TaskStore, 'tenants' | 'counts'>): Promise<CopyCounts> {
  const counts = { ...NOTHING_COPIED };
  for await (const tenant of tenantsOf(store)) {
    if (tenant === SERVICE) continue;
    counts.tenants++;
    for (const count of Object.values(await store.counts(tenant, null))) counts.tasks += count;
  }
  return counts;
}
