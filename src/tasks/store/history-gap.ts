import { type Actor, HISTORY_FIRST_KEPT, HISTORY_LAST_KEPT, type HistoryEntry } from '../model/task.ts';
import { actorText } from './actor-text.ts';
import type { HistoryQuery } from './requests.ts';

/** The actor of changes that a store makes by itself. */
const STORE_ACTOR: Actor = { type: 'system', id: 'store' };
export const STORE_ACTOR_TEXT = actorText(STORE_ACTOR);

/** The number of the first entry that is dropped. */
export const FIRST_DROPPED = HISTORY_FIRST_KEPT + 1;

/** How many of this number of entries are dropped. */
export function droppedOf(entries: number): number {
  return Math.max(0, entries - HISTORY_FIRST_KEPT - HISTORY_LAST_KEPT);
}

/**
 * Inserts the entry that stands for dropped entries, if it is on this page.
 *
 * @param before the last entry before the dropped ones
 * @param dropped their number
 */
export function withGap(
  entries: readonly HistoryEntry[],
  before: HistoryEntry,
  dropped: number,
  { after, limit, order }: HistoryQuery,
): HistoryEntry[] {
  const [earlier, later] = order === 'asc' ? [-1, 1] : [1, -1];
  if (after !== null && Math.sign(FIRST_DROPPED - after) !== later) return [...entries];
  const place = entries.findIndex(({ seq }) => Math.sign(seq - FIRST_DROPPED) !== earlier);
  const { at, from, to, attempt } = before;
  const gap: HistoryEntry = {
    seq: FIRST_DROPPED,
    at,
    event: 'gap',
    from,
    to,
    attempt,
    actor: STORE_ACTOR,
    dropped,
  };
  return entries.toSpliced(place === -1 ? entries.length : place, 0, gap).slice(0, limit);
}
