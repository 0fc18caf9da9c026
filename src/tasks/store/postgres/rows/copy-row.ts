import { USAGE_SPANS, type UsageSpan } from '../../../model/usage.ts';
import { DOCUMENT, EVENT, EVENT_CODES } from '../../codes.ts';
import {
  type AnswerCopy,
  type Copy,
  type DocumentCopy,
  jsonOfUnicode,
  neutralDocument,
  type TaskCopy,
  type UsageCopy,
} from '../../copies.ts';
import type { EntryValues } from '../../entry-row.ts';
import type { Settlement } from '../../requests.ts';
import { type StoredResult, storedResult, storedResultOf } from './answers.ts';
import { type DocumentValues, documentOf } from './document-row.ts';
import { allFigures, mapText, pairsOf } from './encoding.ts';
import { entryColumns, entryOf } from './history-row.ts';
import { type BodyValues, bodyOf, columnsOf, type TaskValues, taskOf } from './task-row.ts';

/** Reads and writes copies; `sql/copies` describes their forms. */

export type DocumentCopyValues = readonly [
  document: DocumentValues,
  names: readonly string[],
  tokens: number | null,
  bucketAt: number | null,
  throttledUntil: number | null,
];

export function documentCopyOf(values: DocumentCopyValues): DocumentCopy {
  const [document, names, tokens, at, throttledUntil] = values;
  return {
    kind: 'document',
    document: neutralDocument(documentOf(document)),
    unique: [...names].sort(),
    bucket: tokens === null || at === null ? null : { tokens, at },
    throttledUntil,
  };
}

export type TaskCopyValues = readonly [
  task: TaskValues,
  ...body: BodyValues,
  entries: readonly EntryValues[],
  wake: boolean,
  beganAt: number | null,
  lease: string | null,
  until: number | null,
  latest: number | null,
  leaseEvent: number | null,
  holdsKey: boolean,
  freeAt: number | null,
];

export function taskCopyOf(values: TaskCopyValues): TaskCopy {
  const [shown, payload, headers, result, entries, wake, beganAt, lease, until, latest, event] = values;
  const [holdsKey, freeAt] = values.slice(11) as [boolean, number | null];
  const task = taskOf(shown);
  const runs = task.status === 'running';
  return {
    kind: 'task',
    task,
    body: bodyOf([payload, headers, result]),
    history: entries.map(entryOf),
    wake,
    lease: runs ? { id: lease as string, beganAt, until: until as number, latest: latest as number } : null,
    settled:
      runs || lease === null || event === null
        ? null
        : { leaseId: lease, event: EVENT_CODES[event] as Settlement['event'] },
    holdsKey: holdsKey ? { freeAt } : null,
  };
}

export type UsageCopyValues = readonly [
  span: number,
  at: number,
  worker: number,
  workerId: string | null,
  figures: readonly number[],
];

const SPAN_OF = new Map(Object.entries(USAGE_SPANS).map(([name, { ms }]) => [ms, name as UsageSpan]));

/** Empty if the worker is gone already, and its usage follows: the tenant is being deleted. */
export function usageCopyOf(values: UsageCopyValues): readonly UsageCopy[] {
  const [ms, at, worker, workerId, figures] = values;
  if (worker !== 0 && workerId === null) return [];
  return [{ kind: 'usage', span: SPAN_OF.get(ms) as UsageSpan, at, workerId, figures: pairsOf(figures) }];
}

export type AnswerCopyValues = readonly [
  tenantNumber: number,
  tenant: string,
  scope: string,
  key: string,
  fingerprint: string,
  until: number,
  note: string,
  results: readonly StoredResult[] | null,
];

export function answerCopyOf([
  ,
  ,
  scope,
  key,
  fingerprint,
  until,
  note,
  results,
]: AnswerCopyValues): AnswerCopy {
  return {
    kind: 'answer',
    scope,
    key,
    fingerprint,
    until,
    note,
    results: (results ?? []).map(storedResultOf),
  };
}

/** The copies as arguments of `copy_in`, by kind. */
export function copiesArguments(copies: readonly Copy[]): readonly string[] {
  const texts: Record<Copy['kind'], object[]> = { document: [], task: [], usage: [], answer: [] };
  for (const copy of copies) texts[copy.kind].push(recordOfCopy(copy));
  return [texts.document, texts.task, texts.usage, texts.answer].map(jsonOfUnicode);
}

function recordOfCopy(copy: Copy): object {
  switch (copy.kind) {
    case 'document':
      return documentRecord(copy);
    case 'task':
      return taskRecord(copy);
    case 'usage': {
      const { span, at, workerId, figures } = copy;
      return { span: USAGE_SPANS[span].ms, at, worker: workerId, figures: allFigures(figures) };
    }
    case 'answer': {
      const { scope, key, fingerprint, until, note, results } = copy;
      const text = results.length === 0 ? null : JSON.stringify(results.map(storedResult));
      return { scope, key, fingerprint, until, note, results: text };
    }
  }
}

function documentRecord({ document, unique, bucket, throttledUntil }: DocumentCopy): object {
  const { kind, id, parent, version, dueAt, body } = document;
  return {
    kind: DOCUMENT[kind],
    id,
    parent,
    version,
    due_at: dueAt,
    body: JSON.stringify(body),
    names: unique,
    tokens: bucket?.tokens ?? null,
    bucket_at: bucket?.at ?? null,
    throttled_until: throttledUntil,
  };
}

function taskRecord({ task, body, history, wake, lease, settled, holdsKey }: TaskCopy): object {
  return {
    task: {
      ...columnsOf(task),
      events: history.at(-1)?.seq ?? 0,
      wake,
      lease: lease?.id ?? settled?.leaseId ?? null,
      lease_until: lease?.until ?? null,
      lease_cap: lease?.latest ?? null,
      lease_event: settled === null ? null : EVENT[settled.event],
      began_at: lease?.beganAt ?? null,
    },
    payload: body.payload,
    headers: mapText(body.headers),
    result: body.result,
    entries: history.map(entryColumns),
    holds_key: holdsKey !== null,
    key_free_at: holdsKey?.freeAt ?? null,
  };
}
