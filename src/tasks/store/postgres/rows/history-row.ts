import type { HistoryEntry } from '../../../model/task.ts';
import { EVENT_CODES, STATUS_CODES } from '../../codes.ts';
import { givenActor } from './plain-text.ts';

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
