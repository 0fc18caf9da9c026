import {
  type Actor,
  HISTORY_FIRST_KEPT,
  HISTORY_LAST_KEPT,
  type HistoryEntry,
  type HistoryEvent,
} from '../../../model/task.ts';
import type { HistoryQuery } from '../../requests.ts';
import { LIMIT, type Row } from '../file/statements.ts';
import { EVENT, EVENT_CODES, STATUS, STATUS_CODES } from './codes.ts';
import { actorOf, actorText, type TaskRow } from './task-row.ts';
import type { View, Work } from './work.ts';

/** The actor of changes that the store makes by itself. */
const STORE_ACTOR: Actor = { type: 'system', id: 'store' };
export const STORE_ACTOR_TEXT = actorText(STORE_ACTOR);

/** Fields of entries that do not follow from the task. They are stored as JSON. */
type EntryRest = Pick<HistoryEntry, 'http' | 'error' | 'changed' | 'progress' | 'note'>;

export interface NewEntry {
  readonly event: HistoryEvent;
  /** `type:id` */
  readonly actor: string;
  /** The attempt, if it differs from that of the task after the change. */
  readonly attempt?: number;
  /** The lease of the attempt that this entry starts or ends. */
  readonly lease?: string;
  readonly rest?: EntryRest;
}

const LEASE_SUFFIX = 4;

const INSERT = `INSERT INTO event (seq, n, at, event, came_from, led_to, attempt, actor, lease, next_at, more)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const DROP = 'DELETE FROM event WHERE seq = ? AND n = ?';
const COLUMNS = 'n, at, event, came_from, led_to, attempt, actor, lease, next_at, more';
const ASCENDING = `SELECT ${COLUMNS} FROM event WHERE seq = ? AND n > ? ORDER BY n ASC ${LIMIT}`;
const DESCENDING = `SELECT ${COLUMNS} FROM event WHERE seq = ? AND n < ? ORDER BY n DESC ${LIMIT}`;

/**
 * Adds an entry for the change to `row`, and increases its number of entries.
 * @param from the previous status; null for a new task
 */
export function addEntry(work: Work, row: TaskRow, from: number | null, entry: NewEntry): void {
  const number = ++row.events;
  work.statements.run(
    INSERT,
    row.seq,
    number,
    work.now,
    EVENT[entry.event],
    from,
    row.status,
    entry.attempt ?? row.attempt,
    entry.actor,
    entry.lease === undefined ? null : entry.lease.slice(-LEASE_SUFFIX),
    row.due_at,
    entry.rest === undefined ? null : restText(entry.rest),
  );
  if (number > HISTORY_FIRST_KEPT + HISTORY_LAST_KEPT) {
    work.statements.run(DROP, row.seq, number - HISTORY_LAST_KEPT);
  }
}

const KEPT = `SELECT ${COLUMNS} FROM event WHERE seq = ? ORDER BY n`;

/** All entries of a task that are kept, oldest first. */
export function keptEntries({ statements }: View, seq: number): HistoryEntry[] {
  return statements.all(KEPT, seq).map(entryOf);
}

/** Adds an entry of another store as it is. */
export function copyEntry({ statements }: Work, task: number, entry: HistoryEntry): void {
  const {
    seq,
    at,
    event,
    from,
    to,
    attempt,
    actor,
    leaseIdSuffix,
    nextAttemptAt,
    dropped: _,
    ...rest
  } = entry;
  statements.run(
    INSERT,
    task,
    seq,
    at,
    EVENT[event],
    from === null ? null : STATUS[from],
    STATUS[to],
    attempt,
    actorText(actor),
    leaseIdSuffix ?? null,
    nextAttemptAt ?? null,
    restText(rest),
  );
}

function restText(rest: EntryRest): string | null {
  const text = JSON.stringify(rest);
  return text === '{}' ? null : text;
}

/** @param row place of the task and number of its entries */
export function readHistory(
  { statements }: View,
  row: { readonly seq: number; readonly events: number },
  { after, limit, order }: HistoryQuery,
): HistoryEntry[] {
  const rows =
    order === 'asc'
      ? statements.all(ASCENDING, row.seq, after ?? 0, limit)
      : statements.all(DESCENDING, row.seq, after ?? row.events + 1, limit);
  const entries = rows.map(entryOf);
  const dropped = row.events - HISTORY_FIRST_KEPT - HISTORY_LAST_KEPT;
  if (dropped <= 0) return entries;
  return withGap(entries, gapEntry(statements.one(DESCENDING, row.seq, GAP, 1) as Row, dropped), {
    after,
    limit,
    order,
  });
}

/** The number of the first entry that is dropped. */
const GAP = HISTORY_FIRST_KEPT + 1;

function gapEntry(lastBefore: Row, dropped: number): HistoryEntry {
  const { at, from, to, attempt } = entryOf(lastBefore);
  return { seq: GAP, at, event: 'gap', from, to, attempt, actor: STORE_ACTOR, dropped };
}

/** Inserts the gap in its place, if that is on this page. */
function withGap(
  entries: HistoryEntry[],
  gap: HistoryEntry,
  { after, limit, order }: HistoryQuery,
): HistoryEntry[] {
  const [before, behind] = order === 'asc' ? [-1, 1] : [1, -1];
  if (after !== null && Math.sign(GAP - after) !== behind) return entries;
  const place = entries.findIndex(({ seq }) => Math.sign(seq - GAP) !== before);
  entries.splice(place === -1 ? entries.length : place, 0, gap);
  return entries.slice(0, limit);
}

function entryOf(row: Row): HistoryEntry {
  const [seq, at, event, from, to, attempt, actor, lease, nextAt, more] = row;
  return {
    seq: seq as number,
    at: at as number,
    event: EVENT_CODES[event as number],
    from: from === null ? null : STATUS_CODES[from as number],
    to: STATUS_CODES[to as number],
    attempt: attempt as number,
    actor: actorOf(actor as string),
    ...(lease === null ? null : { leaseIdSuffix: lease as string }),
    ...(nextAt === null ? null : { nextAttemptAt: nextAt as number }),
    ...(more === null ? null : (JSON.parse(more as string) as EntryRest)),
  };
}
