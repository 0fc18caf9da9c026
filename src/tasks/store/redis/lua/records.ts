import { MsgpackReader, type Packed } from '../../../../clients/redis/msgpack-reader.ts';
import { firstIdAt } from '../../../model/ids.ts';
import {
  type Actor,
  HISTORY_EVENTS,
  HISTORY_FIRST_KEPT,
  type HistoryEntry,
  type HistoryEvent,
  TASK_STATUSES,
  type Task,
  type TaskBody,
  type TaskStatus,
} from '../../../model/task.ts';
import { contentOfTexts, OWN_FIELDS, PRIORITIES } from '../../../model/task-content.ts';
import { actorOf } from '../../actor-text.ts';
import { onFinishOf, type StoredDocument } from '../../documents.ts';
import { policyOf } from '../../policy-text.ts';
import type { ClaimedTask, CreateResult, SettleAnswer, TaskQuery } from '../../requests.ts';

/** Content that later versions add: at the end of records, so that those of older versions can be read. */
export const LATER_FIELDS = OWN_FIELDS.filter(field => !['type', 'tags', 'metadata'].includes(field));

/**
 * Fields of the record of a task, in order. A record is one flat MessagePack array, because scripts decode and encode it
 * with each change. Values that no script reads (policy, tags, error, …) are JSON texts, so that Lua does not change
 * empty arrays and large numbers. False stands for null.
 */
export const TASK_FIELDS = [
  'version',
  'status',
  'band',
  'worker',
  'runAt',
  'due',
  'expires',
  'timeout',
  'attempt',
  'deferrals',
  'maxAttempts',
  // The rest of the policy: `[baseMs, factor, maxMs, jitter, scheduleMs, maxAgeMs]`.
  'retry',
  'key',
  'keyTtl',
  // The task with the same key that this one waits for (`heldBy`).
  'held',
  // Whether any task has ever waited for this one.
  'holds',
  'cancel',
  'updated',
  'started',
  'finished',
  // The last error without its time.
  'error',
  'errorAt',
  'schedule',
  // The lease of the running attempt, or else the last one that was settled.
  'lease',
  'leaseUntil',
  // The latest time to which the lease can be extended.
  'leaseCap',
  // Start of the running attempt, or else of the last one. Older versions wrote a boolean here.
  'began',
  // The event that the lease was settled with.
  'settled',
  // How many history entries there have been.
  'entries',
  // Whether hints wake a worker that is pushed to.
  'wake',
  'type',
  'tags',
  'metadata',
  // Values that never change and that no script reads: `[name of the worker, scheduledFor, type of the creator, id of the
  // creator, createdAt]`.
  'fixed',
  'group',
  // The callback at its end: the text of `onFinishText`.
  'onFinish',
  ...LATER_FIELDS,
] as const;
type TaskField = (typeof TASK_FIELDS)[number];

/** Index of each field in a decoded record. */
const F = Object.fromEntries(TASK_FIELDS.map((name, at) => [name, at])) as Readonly<
  Record<TaskField, number>
>;

/** Statuses and events are numbers in records. */
export const STATUS_NUMBER = Object.fromEntries(TASK_STATUSES.map((name, at) => [name, at])) as Readonly<
  Record<TaskStatus, number>
>;
export const EVENT_NUMBER = Object.fromEntries(HISTORY_EVENTS.map((name, at) => [name, at])) as Readonly<
  Record<HistoryEvent, number>
>;

/** Fields of a history entry, in order. The number of an entry is its place in the list. False fields at the end are left out. */
const ENTRY_FIELDS = [
  'at',
  'event',
  'from',
  'to',
  'attempt',
  'actor',
  'suffix',
  'http',
  'error',
  'next',
  'changed',
  'progress',
  'note',
] as const;
const A = Object.fromEntries(ENTRY_FIELDS.map((name, at) => [name, at])) as Readonly<
  Record<(typeof ENTRY_FIELDS)[number], number>
>;

const NO_PAIRS: Readonly<Record<string, string>> = {};

export function taskOf(id: string, packed: Buffer): Task {
  const f = new MsgpackReader(packed).values();
  const [worker, scheduledFor, creatorType, creatorId, createdAt] = JSON.parse(f[F.fixed] as string);
  const error = f[F.error];
  return {
    id,
    workerId: f[F.worker] as string,
    worker,
    ...contentOfTexts(field => text(f[F[field]] ?? false)),
    status: TASK_STATUSES[f[F.status] as number],
    priority: PRIORITIES[f[F.band] as number],
    runAt: f[F.runAt] as number,
    dueAt: number(f[F.due]),
    expiresAt: number(f[F.expires]),
    timeoutMs: f[F.timeout] as number,
    retry: policyOf(f[F.maxAttempts] as number, f[F.retry] as string),
    attempt: f[F.attempt] as number,
    deferrals: f[F.deferrals] as number,
    key: text(f[F.key]),
    keyTtlMs: f[F.keyTtl] as number,
    lastError: error === false ? null : { ...JSON.parse(error as string), at: f[F.errorAt] },
    cancelRequestedAt: number(f[F.cancel]),
    // Records of older versions do not have this field.
    group: text(f[F.group] ?? false),
    scheduleId: text(f[F.schedule]),
    scheduledFor,
    heldBy: text(f[F.held]),
    onFinish: onFinishOf(text(f[F.onFinish] ?? false)),
    createdBy: { type: creatorType, id: creatorId },
    createdAt,
    updatedAt: f[F.updated] as number,
    startedAt: number(f[F.started]),
    finishedAt: number(f[F.finished]),
    version: f[F.version] as number,
  };
}

/** The lease of a running task. */
export function leaseOf(packed: Buffer): string {
  return new MsgpackReader(packed).values()[F.lease] as string;
}

/** @param packed null or empty for a task without payload, headers and result */
export function bodyOf(packed: Buffer | null): TaskBody {
  if (packed === null || packed.length === 0) return { payload: null, headers: NO_PAIRS, result: null };
  const [payload, headers, result] = new MsgpackReader(packed).values();
  return {
    payload: text(payload),
    headers: headers === false ? NO_PAIRS : JSON.parse(headers as string),
    result: text(result),
  };
}

/** @param seq number of the entry, from 1 */
export function entryOf(seq: number, packed: Buffer): HistoryEntry {
  const e = new MsgpackReader(packed).values();
  const from = e[A.from];
  return {
    seq,
    at: e[A.at] as number,
    event: HISTORY_EVENTS[e[A.event] as number] as HistoryEvent,
    from: from === false ? null : TASK_STATUSES[from as number],
    to: TASK_STATUSES[e[A.to] as number],
    attempt: e[A.attempt] as number,
    actor: actorOf(e[A.actor] as string),
    ...(has(e[A.suffix]) && { leaseIdSuffix: e[A.suffix] as string }),
    ...(has(e[A.http]) && { http: JSON.parse(e[A.http] as string) }),
    ...(has(e[A.error]) && { error: errorOf(e[A.error] as string) }),
    ...(has(e[A.next]) && { nextAttemptAt: e[A.next] as number }),
    ...(has(e[A.changed]) && { changed: (e[A.changed] as string).split(',') }),
    ...(has(e[A.progress]) && { progress: e[A.progress] as number }),
    ...(has(e[A.note]) && { note: e[A.note] as string }),
  };
}

/**
 * The entry that stands for dropped entries.
 *
 * @param before the last entry before them
 * @param dropped their number
 */
export function gapOf(before: Buffer, dropped: number): HistoryEntry {
  const { at, from, to, attempt } = entryOf(HISTORY_FIRST_KEPT, before);
  const actor: Actor = { type: 'system', id: 'store' };
  return { seq: HISTORY_FIRST_KEPT + 1, at, event: 'gap', from, to, attempt, actor, dropped };
}

function errorOf(packed: string): { code: string; message: string } {
  const { code, message } = JSON.parse(packed);
  return { code, message };
}

export function documentOf(kind: string, id: string, packed: Buffer): StoredDocument {
  const [version, parent, dueAt, , body] = new MsgpackReader(packed).values();
  return {
    kind: kind as StoredDocument['kind'],
    id,
    version: version as number,
    parent: parent as string,
    dueAt: number(dueAt),
    body: JSON.parse(body as string),
  };
}

function has(value: Packed | undefined): boolean {
  return value !== undefined && value !== false;
}

function text(value: Packed): string | null {
  return value === false ? null : (value as string);
}

function number(value: Packed): number | null {
  return value === false ? null : (value as number);
}

/** The reply of a script. Texts are buffers. */
export type Reply = readonly (Buffer | number | null)[];

/** Bounds of ids for `ZRANGE … BYLEX`, in the order of the query. Ids begin with their creation time. */
export function idBounds({
  createdFrom,
  createdBefore,
  after,
  order,
}: TaskQuery): [from: string, to: string] {
  let low = createdFrom === null ? '-' : `[${firstIdAt('task', createdFrom)}`;
  let high = createdBefore === null ? '+' : `(${firstIdAt('task', createdBefore)}`;
  if (after !== null && order === 'asc' && (low === '-' || after >= low.slice(1))) low = `(${after}`;
  if (after !== null && order === 'desc' && (high === '+' || after < high.slice(1))) high = `(${after}`;
  return order === 'asc' ? [low, high] : [high, low];
}

/** @param reply id and record of each task, in turns */
export function tasksOf(reply: Reply): Task[] {
  const tasks: Task[] = [];
  for (let i = 0; i < reply.length; i += 2) tasks.push(taskOf(String(reply[i]), reply[i + 1] as Buffer));
  return tasks;
}

/** @param reply id, record, body, end of the lease and due time of each task, in turns */
export function claimedOf(reply: Reply, leaseIds: readonly string[]): ClaimedTask[] {
  const tasks: ClaimedTask[] = [];
  for (let i = 0; i < reply.length; i += 5) {
    const [id, packed, body, leaseUntil, dueAt] = reply.slice(i, i + 5);
    tasks.push({
      task: taskOf(String(id), packed as Buffer),
      body: bodyOf(body as Buffer | null),
      leaseId: leaseIds[tasks.length],
      leaseUntil: leaseUntil as number,
      dueAt: dueAt as number,
    });
  }
  return tasks;
}

/** @param reply kind, id, record and start of the attempt of each settlement, in turns */
export function settledOf(reply: Reply): SettleAnswer[] {
  const answers: SettleAnswer[] = [];
  for (let i = 0; i < reply.length; i += 4) {
    const [kind, id, packed, began] = reply.slice(i, i + 4);
    const word = String(kind);
    if (word === 'l') {
      answers.push({ kind: 'lost' });
      continue;
    }
    const task = taskOf(String(id), packed as Buffer);
    // Older versions did not store when an attempt began.
    const beganAt = began === 0 ? null : (began as number);
    answers.push(word === 's' ? { kind: 'settled', task, beganAt } : { kind: 'already', task });
  }
  return answers;
}

/** The results of a create request, as the script packs and remembers them. */
export function resultsOf(packed: Buffer): CreateResult[] {
  if (packed.length === 0) return [];
  const reader = new MsgpackReader(packed);
  const count = reader.array();
  const results: CreateResult[] = [];
  for (let i = 0; i < count; i++) results.push(resultOf(reader, reader.array()));
  return results;
}

function resultOf(reader: MsgpackReader, parts: number): CreateResult {
  const kind = reader.value() as string;
  const id = parts > 1 ? (reader.value() as string) : '';
  if (kind === 'k') return { kind: 'refused', reason: 'task_key_exists', taskId: id };
  if (parts < 3) return { kind: 'refused', reason: REFUSALS[kind] };
  const task = taskOf(id, reader.bytes());
  if (kind === 'e') return { kind: 'existing', task, keyFreeAt: (reader.value() as number | false) || null };
  return { kind: kind === 'c' ? 'created' : 'replaced', task };
}

const REFUSALS: Readonly<Record<string, 'quota_exceeded' | 'worker_missing' | 'not_created'>> = {
  q: 'quota_exceeded',
  w: 'worker_missing',
  n: 'not_created',
};
