import type { HistoryEntry, Task } from '../../../../src/tasks/model/task.ts';
import { isUsageOver, type UsageSpan, UsageSum } from '../../../../src/tasks/model/usage.ts';
import {
  type AnswerCopy,
  type Copy,
  type CopyPage,
  type CopyPlace,
  type DocumentCopy,
  neutralDocument,
  pageOf,
  type TaskCopy,
  type UsageCopy,
} from '../../../../src/tasks/store/copies.ts';
import { allRecords, withGap } from './reading.ts';
import { documentName, keyName, type TaskRecord, TENANT_BUCKET, type TenantState } from './state.ts';

/** All copies of a part on one page, however many: the model is for tests. */
export function copyOut(state: TenantState, now: number, place: CopyPlace): CopyPage {
  switch (place.part) {
    case 'document':
      return pageOf(place, documents(state), null);
    case 'task':
      return pageOf(
        place,
        allRecords(state).map(record => taskCopy(state, record)),
        null,
      );
    case 'usage':
      return pageOf(place, usage(state, now), null);
  }
}

function documents(state: TenantState): DocumentCopy[] {
  return [...state.documents.values()]
    .filter(({ document }) => document.kind !== 'move')
    .map(({ document, unique }) => ({
      kind: 'document',
      document: neutralDocument(document),
      unique: [...new Set(unique)].sort(),
      bucket: state.buckets.get(bucketName(document)) ?? null,
      throttledUntil: (document.kind === 'worker' && state.throttles.get(document.id)) || null,
    }));
}

/** By the kind and the id of a document. */
function bucketName({ kind, id }: { readonly kind: string; readonly id: string }): string {
  if (kind === 'account') return TENANT_BUCKET;
  return kind === 'worker' ? id : 'none';
}

function taskCopy(state: TenantState, record: TaskRecord): TaskCopy {
  const { task, body, wake, lease, settled } = record;
  const holder = task.key === null ? undefined : state.keys.get(keyName(task.workerId, task.key));
  return {
    kind: 'task',
    task,
    body,
    history: withGap(record.history).filter(({ event }) => event !== 'gap'),
    wake,
    lease: lease && { id: lease.id, beganAt: lease.from, until: lease.until, latest: lease.latest },
    settled,
    holdsKey: holder?.taskId === task.id ? { freeAt: holder.freeAt } : null,
  };
}

function usage({ usage }: TenantState, now: number): UsageCopy[] {
  return [...usage].flatMap(([name, workers]) => {
    const [span, start] = name.split(' ');
    const at = Number(start);
    if (isUsageOver(span as UsageSpan, at, now)) return [];
    return [...workers].map(([workerId, sum]) => ({
      kind: 'usage' as const,
      span: span as UsageSpan,
      at,
      workerId: workerId || null,
      figures: sum.pairs(),
    }));
  });
}

/** @param name of {@link TenantState.idempotency} */
export function answerCopies({ idempotency }: TenantState, now: number): AnswerCopy[] {
  return [...idempotency]
    .filter(([, { until }]) => until > now)
    .map(([name, record]) => {
      const [scope, key] = name.split('\n');
      return { kind: 'answer', scope, key, ...record };
    });
}

/** What is there stays as it is. */
export function copyIn(state: TenantState, copies: readonly Copy[]): void {
  for (const copy of copies) {
    switch (copy.kind) {
      case 'document':
        copyDocument(state, copy);
        break;
      case 'task':
        copyTask(state, copy);
        break;
      case 'usage':
        copyUsage(state, copy);
        break;
      case 'answer':
        copyAnswer(state, copy);
    }
  }
}

function copyDocument(state: TenantState, { document, unique, bucket, throttledUntil }: DocumentCopy): void {
  const name = documentName(document.kind, document.id);
  if (state.documents.has(name)) return;
  state.documents.set(name, { document, unique });
  if (bucket !== null) state.buckets.set(bucketName(document), bucket);
  if (throttledUntil !== null) state.throttles.set(document.id, throttledUntil);
}

function copyTask(
  state: TenantState,
  { task, body, history, wake, lease, settled, holdsKey }: TaskCopy,
): void {
  if (state.tasks.has(task.id)) return;
  state.tasks.set(task.id, {
    task,
    body,
    history: filled(history),
    wake,
    lease: lease && { id: lease.id, from: lease.beganAt ?? 0, until: lease.until, latest: lease.latest },
    settled,
  });
  if (holdsKey !== null) {
    state.keys.set(keyName(task.workerId, task.key as string), { taskId: task.id, freeAt: holdsKey.freeAt });
  }
  tellOfWaiting(state, task, wake);
}

/** Readers never see the entries that stand for the dropped ones. */
function filled(history: readonly HistoryEntry[]): HistoryEntry[] {
  const all: HistoryEntry[] = [];
  for (const entry of history) {
    while (all.length + 1 < entry.seq) all.push(all[all.length - 1]);
    all.push(entry);
  }
  return all;
}

function tellOfWaiting({ wakeups }: TenantState, { workerId, dueAt, status }: Task, wake: boolean): void {
  if (!wake || dueAt === null || status === 'paused') return;
  wakeups.set(workerId, Math.min(wakeups.get(workerId) ?? dueAt, dueAt));
}

function copyUsage(state: TenantState, { span, at, workerId, figures }: UsageCopy): void {
  const name = `${span} ${at}`;
  const workers = state.usage.get(name) ?? new Map<string, UsageSum>();
  if (!workers.has(workerId ?? '')) workers.set(workerId ?? '', new UsageSum().addAll(figures));
  state.usage.set(name, workers);
}

function copyAnswer(state: TenantState, answer: AnswerCopy): void {
  const { scope, key, fingerprint, until, note, results } = answer;
  const name = `${scope}\n${key}`;
  if (!state.idempotency.has(name)) state.idempotency.set(name, { fingerprint, until, note, results });
}
