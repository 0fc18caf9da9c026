import type { HistoryEntry } from '../../../model/task.ts';
import { EVENT, EVENT_CODES, STATUS, STATUS_CODES } from '../../codes.ts';
import { givenActor, storedActor } from './plain-text.ts';

/** Values of the columns of a history entry. */
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

export function entryOf(values: EntryValues): HistoryEntry {
  const [seq, at, event, from, to, attempt, actor, lease, nextAt, more] = values;
  return {
    seq,
    at,
    event: EVENT_CODES[event],
    from: from === null ? null : STATUS_CODES[from],
    to: STATUS_CODES[to],
    attempt,
    actor: givenActor(actor),
    ...(lease === null ? null : { leaseIdSuffix: lease }),
    ...(nextAt === null ? null : { nextAttemptAt: nextAt }),
    ...(more === null ? null : (JSON.parse(more) as Partial<HistoryEntry>)),
  };
}

/** The opposite of {@link entryOf}: values by the names of their columns. */
export function entryColumns(entry: HistoryEntry): object {
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
    ...more
  } = entry;
  const text = JSON.stringify(more);
  return {
    n: seq,
    at,
    event: EVENT[event],
    came_from: from === null ? null : STATUS[from],
    led_to: STATUS[to],
    attempt,
    actor: storedActor(actor),
    lease: leaseIdSuffix ?? null,
    next_at: nextAttemptAt ?? null,
    more: text === '{}' ? null : text,
  };
}
