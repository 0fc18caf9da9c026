import { grouped } from '../../../base/collections/grouped.ts';
import { MsgpackReader } from '../../../clients/redis/msgpack-reader.ts';
import { TASK_STATUSES } from '../../model/task.ts';
import { USAGE_SPANS, type UsageSpan, usageStart } from '../../model/usage.ts';
import {
  type AnswerCopy,
  type AnswerPage,
  type Copy,
  type CopyPage,
  type CopyPlace,
  type DocumentCopy,
  documentPlace,
  neutralDocument,
  PAGE_SIZES,
  pageOf,
  placeAfterDocuments,
  type TaskCopy,
  type UsageCopy,
} from '../copies.ts';
import type { Argument, RedisClient } from './connection/redis-client.ts';
import { copyText } from './copy-encoding.ts';
import { readAnswerName } from './encoding.ts';
import type { Hints } from './hints.ts';
import type { ReadScript } from './lists.ts';
import { besideTask, bodyOf, documentOf, entryOf, type Reply, resultsOf, taskOf } from './lua/records.ts';
import { SCRIPTS, type Script } from './lua/scripts.ts';
import { ALL_WORKERS } from './lua/usage.ts';

const STATUS_NUMBERS = TASK_STATUSES.map((_, number) => number);
/** Number of intervals of usage that one call reads. */
const INTERVALS = 64;
const SPANS = Object.keys(USAGE_SPANS) as readonly UsageSpan[];

/** See `TaskStore.copyOut`. */
export function copyOut(read: ReadScript, now: () => Promise<number>, place: CopyPlace): Promise<CopyPage> {
  switch (place.part) {
    case 'document':
      return documentPage(read, place);
    case 'task':
      return taskPage(read, place);
    case 'usage':
      return usagePage(read, now, place);
  }
}

async function documentPage(read: ReadScript, place: CopyPlace): Promise<CopyPage> {
  const { kinds, id } = documentPlace(place.after);
  const reply = await read(SCRIPTS.copyDocuments, [id, ...kinds]);
  const copies: DocumentCopy[] = [];
  for (let i = 0; i + 1 < reply.length; i += 4) {
    const [kind, id, packed, bucket] = reply.slice(i, i + 4);
    copies.push(documentCopy(String(kind), String(id), packed as Buffer, bucket as Buffer | null));
  }
  return pageOf(place, copies, placeAfterDocuments(copies, reply.at(-1) === 0));
}

function documentCopy(kind: string, id: string, packed: Buffer, ofBucket: Buffer | null): DocumentCopy {
  const names = new MsgpackReader(packed).values()[3] as string[];
  const document = neutralDocument(documentOf(kind, id, packed));
  const copy = { kind: 'document', document, unique: [...new Set(names)].sort() } as const;
  if (ofBucket === null) return { ...copy, bucket: null, throttledUntil: null };
  const values = new MsgpackReader(ofBucket).values() as (number | false)[];
  // The bucket of a tenant has no throttle.
  const [throttledUntil, tokens, at] = kind === 'account' ? [0, ...values] : values;
  const bucket = tokens === false || at === false ? null : { tokens, at };
  return { ...copy, bucket, throttledUntil: throttledUntil || null };
}

async function taskPage(read: ReadScript, place: CopyPlace): Promise<CopyPage> {
  const from = place.after === null ? '-' : `(${place.after}`;
  const listed = ['s:', '', from, '+', 'asc', PAGE_SIZES.task, '1', ...STATUS_NUMBERS];
  const ids = (await read(SCRIPTS.list, listed)).slice(1).map(String);
  const reply = ids.length === 0 ? [] : await read(SCRIPTS.copyTasks, ids);
  const copies: TaskCopy[] = [];
  for (let i = 0; i < reply.length; i += 6) copies.push(taskCopy(reply.slice(i, i + 6)));
  const last = copies.at(-1)?.task.id ?? null;
  return pageOf(place, copies, ids.length < PAGE_SIZES.task && last === (ids.at(-1) ?? null) ? null : last);
}

/** @param reply id, record, body, holder of the key, and both lists of history entries */
function taskCopy([id, packed, body, holder, first, last]: Reply): TaskCopy {
  const task = taskOf(String(id), packed as Buffer);
  const aside = besideTask(packed as Buffer);
  const [head, tail] = [first, last] as unknown as readonly (readonly Buffer[])[];
  const dropped = aside.entries - head.length - tail.length;
  const [holderId, freeAt] = holder === null ? [] : new MsgpackReader(holder as Buffer).values();
  return {
    kind: 'task',
    task,
    body: bodyOf(body as Buffer | null),
    history: [
      ...head.map((entry, i) => entryOf(i + 1, entry)),
      ...tail.map((entry, i) => entryOf(head.length + dropped + i + 1, entry)),
    ],
    wake: aside.wake,
    lease: aside.lease,
    settled: aside.settled,
    holdsKey: holderId === id?.toString() ? { freeAt: (freeAt as number | false) || null } : null,
  };
}

async function usagePage(read: ReadScript, now: () => Promise<number>, place: CopyPlace): Promise<CopyPage> {
  const intervals = intervalsAt(await now());
  const [from = -1, after = 0] = place.after?.split(' ').map(Number) ?? [];
  const left = intervals.filter(({ span, at }) => {
    const number = SPANS.indexOf(span);
    return number > from || (number === from && at > after);
  });
  const some = left.slice(0, INTERVALS);
  const reply = await read(
    SCRIPTS.copyUsage,
    some.map(({ span, at }) => `${USAGE_SPANS[span].ms}:${at}`),
  );
  const copies: UsageCopy[] = [];
  for (let i = 0; i < reply.length; i += 2) {
    const { span, at } = some[reply[i] as number];
    const ofWorkers = reply[i + 1] as unknown as readonly Buffer[];
    for (let j = 0; j < ofWorkers.length; j += 2) {
      const worker = String(ofWorkers[j]);
      const figures = new MsgpackReader(ofWorkers[j + 1]).values() as number[];
      copies.push({ kind: 'usage', span, at, workerId: worker === ALL_WORKERS ? null : worker, figures });
    }
  }
  const last = some.at(-1);
  const isLast = last === undefined || some.length === left.length;
  return pageOf(place, copies, isLast ? null : `${SPANS.indexOf(last.span)} ${last.at}`);
}

/** The intervals whose usage is kept, in order. */
function intervalsAt(nowMs: number): readonly { readonly span: UsageSpan; readonly at: number }[] {
  return SPANS.flatMap(span => {
    const { ms, keepMs } = USAGE_SPANS[span];
    const last = usageStart(span, nowMs);
    // One that was over when it was listed has expired.
    const count = keepMs / ms + 1;
    return Array.from({ length: count }, (_, i) => ({ span, at: last - (count - 1 - i) * ms }));
  });
}

const RECORDS = 'i:';

/** See `TaskStore.recallAll`. Their names are in no list, so that the keys of all servers are scanned. */
export async function recallAll(
  redis: RedisClient,
  now: () => Promise<number>,
  place: string | null,
): Promise<AnswerPage> {
  const nowMs = await now();
  const { keys, next } = await redis.scan(`${redis.keysOf('*')}${RECORDS}*`, place);
  const ofTenants = grouped(keys, key => key.slice(key.indexOf('{') + 1, key.indexOf('}')));
  const pages = [...ofTenants].map(async ([tenant, names]) => {
    const texts = (await redis.sendOf(tenant, 'mget', names)) as Reply;
    const begin = redis.keysOf(tenant).length + RECORDS.length;
    return names.flatMap((name, i) => {
      const text = texts[i] as Buffer | null;
      return text === null ? [] : [{ tenant, answer: answerCopy(name.slice(begin), text) }];
    });
  });
  const answers = (await Promise.all(pages)).flat().filter(({ answer }) => answer.until > nowMs);
  return { answers, next };
}

function answerCopy(name: string, packed: Buffer): AnswerCopy {
  const reader = new MsgpackReader(packed);
  reader.array();
  const fingerprint = reader.value() as string;
  const until = reader.value() as number;
  const note = reader.value() as string;
  const results = resultsOf(reader.bytes());
  return { kind: 'answer', ...readAnswerName(name), fingerprint, until, note, results };
}

/** See `TaskStore.copyIn`. @param write runs the script and sets the hints that it returns */
export async function copyIn(
  hints: Hints,
  write: (script: Script, args: readonly Argument[]) => Promise<unknown>,
  tenant: string,
  copies: readonly Copy[],
): Promise<void> {
  if (copies.length === 0) return;
  const documents = copies.flatMap(copy => (copy.kind === 'document' ? [copy.document] : []));
  if (documents.some(({ kind }) => kind === 'account')) await hints.addTenant(tenant);
  await write(SCRIPTS.copyIn, copies.map(copyText));
  for (const { dueAt } of documents) if (dueAt !== null) hints.lower('docs', tenant, tenant, dueAt);
}
