import type { HistoryEntry } from '../model/task.ts';
import { EVENT, EVENT_CODES, STATUS, STATUS_CODES } from './codes.ts';

/** A history entry as SQLite and PostgreSQL store it. `more`: fields that do not follow from the task, as JSON. */
export type EntryValues = readonly [
  n: number,
  at: number,
  event: number,
  from: number | null,
  to: number,
  attempt: number,
  actor: string,
  lease: string | null,
  nextAt: number | null,
  more: string | null,
];

/** @param actorOf reads the stored form of an actor */
export function entryOfRow(
  values: EntryValues,
  actorOf: (text: string) => HistoryEntry['actor'],
): HistoryEntry {
  const [seq, at, event, from, to, attempt, actor, lease, nextAt, more] = values;
  return {
    seq,
    at,
    event: EVENT_CODES[event],
    from: from === null ? null : STATUS_CODES[from],
    to: STATUS_CODES[to],
    attempt,
    actor: actorOf(actor),
    ...(lease === null ? null : { leaseIdSuffix: lease }),
    ...(nextAt === null ? null : { nextAttemptAt: nextAt }),
    ...(more === null ? null : (JSON.parse(more) as Partial<HistoryEntry>)),
  };
}

/**
 * The opposite of {@link entryOfRow}, for an entry of another store.
 *
 * @param actor in its stored form
 */
export function rowOfEntry(entry: HistoryEntry, actor: string): EntryValues {
  const { seq, at, event, from, to, attempt, leaseIdSuffix, nextAttemptAt, ...others } = entry;
  const { actor: _, dropped: __, ...more } = others;
  const text = JSON.stringify(more);
  return [
    seq,
    at,
    EVENT[event],
    from === null ? null : STATUS[from],
    STATUS[to],
    attempt,
    actor,
    leaseIdSuffix ?? null,
    nextAttemptAt ?? null,
    text === '{}' ? null : text,
  ];
}
