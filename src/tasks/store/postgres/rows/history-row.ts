import type { HistoryEntry } from '../../../model/task.ts';
import { type EntryValues, entryOfRow, rowOfEntry } from '../../entry-row.ts';
import { givenActor, storedActor } from './plain-text.ts';

export function entryOf(values: EntryValues): HistoryEntry {
  return entryOfRow(values, givenActor);
}

const COLUMNS = ['n', 'at', 'event', 'came_from', 'led_to', 'attempt', 'actor', 'lease', 'next_at', 'more'];

/** The opposite of {@link entryOf}: values by the names of their columns. */
export function entryColumns(entry: HistoryEntry): object {
  const values = rowOfEntry(entry, storedActor(entry.actor));
  return Object.fromEntries(COLUMNS.map((column, i) => [column, values[i]]));
}
