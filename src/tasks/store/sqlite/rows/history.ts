import {
  HISTORY_FIRST_KEPT,
  HISTORY_LAST_KEPT,
  type HistoryEntry,
  type HistoryEvent,
} from '../../../model/task.ts';
import { actorOf, actorText } from '../../actor-text.ts';
import { EVENT } from '../../codes.ts';
import { type EntryValues, entryOfRow, rowOfEntry } from '../../entry-row.ts';
import { droppedOf, FIRST_DROPPED, withGap } from '../../history-gap.ts';
import type { HistoryQuery } from '../../requests.ts';
import { LIMIT, type Row } from '../file/statements.ts';
import type { TaskRow } from './task-row.ts';
import type { View, Work } from './work.ts';

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
  statements.run(INSERT, task, ...rowOfEntry(entry, actorText(entry.actor)));
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
  const dropped = droppedOf(row.events);
  if (dropped === 0) return entries;
  const before = entryOf(statements.one(DESCENDING, row.seq, FIRST_DROPPED, 1) as Row);
  return withGap(entries, before, dropped, { after, limit, order });
}

function entryOf(row: Row): HistoryEntry {
  return entryOfRow(row as unknown as EntryValues, actorOf);
}
