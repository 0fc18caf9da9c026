import { MsgpackReader, type Packed } from '../../../../clients/redis/msgpack-reader.ts';
import type { RetryPolicy } from '../../../model/retry-policy.ts';
import {
  type Actor,
  HISTORY_EVENTS,
  HISTORY_FIRST_KEPT,
  type HistoryEntry,
  type HistoryEvent,
  PRIORITIES,
  TASK_STATUSES,
  type Task,
  type TaskBody,
} from '../../../model/task.ts';
import { onFinishOf } from '../../callbacks.ts';
import type { StoredDocument } from '../../documents.ts';
import { ENTRY_FIELD as A, TASK_FIELD as F } from './fields.ts';

/** What is packed in Redis as what the rest of the program knows. */

const NO_TAGS: readonly string[] = [];
const NO_PAIRS: Readonly<Record<string, string>> = {};

export function taskOf(id: string, packed: Buffer): Task {
  const f = new MsgpackReader(packed).values();
  const [worker, scheduledFor, creatorType, creatorId, createdAt] = JSON.parse(f[F.fixed] as string);
  const error = f[F.error];
  return {
    id,
    workerId: f[F.worker] as string,
    worker,
    type: text(f[F.type]),
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
    tags: f[F.tags] === false ? NO_TAGS : JSON.parse(f[F.tags] as string),
    metadata: f[F.metadata] === false ? NO_PAIRS : JSON.parse(f[F.metadata] as string),
    lastError: error === false ? null : { ...JSON.parse(error as string), at: f[F.errorAt] },
    cancelRequestedAt: number(f[F.cancel]),
    // Tasks of older versions have no place for it.
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

/** @param packed null, or empty, for a task without one */
export function bodyOf(packed: Buffer | null): TaskBody {
  if (packed === null || packed.length === 0) return { payload: null, headers: NO_PAIRS, result: null };
  const [payload, headers, result] = new MsgpackReader(packed).values();
  return {
    payload: text(payload),
    headers: headers === false ? NO_PAIRS : JSON.parse(headers as string),
    result: text(result),
  };
}

/** The rest of a policy beside `maxAttempts`, as text; equal policies have equal texts. */
export function policyText({ baseMs, factor, maxMs, jitter, scheduleMs, maxAgeMs }: RetryPolicy): string {
  return JSON.stringify([baseMs, factor, maxMs, jitter, scheduleMs, maxAgeMs]);
}

function policyOf(maxAttempts: number, rest: string): RetryPolicy {
  const [baseMs, factor, maxMs, jitter, scheduleMs, maxAgeMs] = JSON.parse(rest);
  return { maxAttempts, baseMs, factor, maxMs, jitter, scheduleMs, maxAgeMs };
}

export function actorText({ type, id }: Actor): string {
  return `${type}:${id}`;
}

function actorOf(packed: string): Actor {
  const colon = packed.indexOf(':');
  return { type: packed.slice(0, colon) as Actor['type'], id: packed.slice(colon + 1) };
}

/** An entry by its number. */
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

/** Stands for the entries that are gone; `before` is the last one that is kept before them. */
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
