import type { HistoryEntry, Task, TaskBody } from '../../../../src/tasks/model/task.ts';
import type { UsageSum } from '../../../../src/tasks/model/usage.ts';
import type { StoredDocument } from '../../../../src/tasks/store/documents.ts';
import type { CreateResult, Settlement } from '../../../../src/tasks/store/requests.ts';

/** A task with all that belongs to it. Records are never changed but replaced, so that a copy of a state is cheap. */
export interface TaskRecord {
  readonly task: Task;
  readonly body: TaskBody;
  /** Every entry that was ever written. Readers see the first and the last ones. */
  readonly history: readonly HistoryEntry[];
  /** Of the running attempt. */
  readonly lease: Lease | null;
  /** How the last attempt ended; forgotten when another begins, or the task is replayed. */
  readonly settled: { readonly leaseId: string; readonly event: Settlement['event'] } | null;
  /** The worker is pushed to: wake-up hints tell of the task. */
  readonly wake: boolean;
}

export interface Lease {
  readonly id: string;
  readonly from: number;
  readonly until: number;
  /** It is not lengthened beyond that. */
  readonly latest: number;
}

/** Who holds a key. `freeAt` is null while that task is not final. */
export interface KeyRecord {
  readonly taskId: string;
  readonly freeAt: number | null;
}

export interface IdempotencyRecord {
  readonly fingerprint: string;
  readonly until: number;
  readonly note: string;
  readonly results: readonly CreateResult[];
}

export interface DocumentRecord {
  readonly document: StoredDocument;
  readonly unique: readonly string[];
}

export interface Bucket {
  readonly tokens: number;
  readonly at: number;
}

/** Everything of one tenant. */
export interface TenantState {
  /** By id. */
  tasks: Map<string, TaskRecord>;
  /** By worker and key, see {@link keyName}. */
  keys: Map<string, KeyRecord>;
  /** By scope and key. */
  idempotency: Map<string, IdempotencyRecord>;
  /** By kind and id. */
  documents: Map<string, DocumentRecord>;
  /** By the id of the worker; that of the tenant by {@link TENANT_BUCKET}. */
  buckets: Map<string, Bucket>;
  /** By the id of the worker: nothing starts before. */
  throttles: Map<string, number>;
  /** By the id of the worker. */
  wakeups: Map<string, number>;
  /** By length and start of the interval, then by the id of the worker; that of the tenant is empty. */
  usage: Map<string, Map<string, UsageSum>>;
}

export const TENANT_BUCKET = '';

export function emptyState(): TenantState {
  return {
    tasks: new Map(),
    keys: new Map(),
    idempotency: new Map(),
    documents: new Map(),
    buckets: new Map(),
    throttles: new Map(),
    wakeups: new Map(),
    usage: new Map(),
  };
}

/** A state that can be changed without changing this one. */
export function copyOf(state: TenantState): TenantState {
  return {
    tasks: new Map(state.tasks),
    keys: new Map(state.keys),
    idempotency: new Map(state.idempotency),
    documents: new Map(state.documents),
    buckets: new Map(state.buckets),
    throttles: new Map(state.throttles),
    wakeups: new Map(state.wakeups),
    usage: new Map(state.usage),
  };
}

export function keyName(workerId: string, key: string): string {
  return `${workerId} ${key}`;
}

export function documentName(kind: string, id: string): string {
  return `${kind} ${id}`;
}

/** For sorting by the order of characters, as ids are. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
