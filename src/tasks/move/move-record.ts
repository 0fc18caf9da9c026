import type { MoveRecord } from '../model/documents.ts';
import { formatTime } from '../model/time.ts';
import { SERVICE, type StoredDocument } from '../store/documents.ts';
import { putNew } from '../store/put-document.ts';
import type { TaskStore } from '../store/task-store.ts';

const ID = 'move';

/** A store as far as its record of a move is concerned. */
type RecordStore = Pick<TaskStore, 'getDocument' | 'apply'>;

/** The record of a move in a store; null if its data does not move. */
export async function moveRecordOf(store: Pick<TaskStore, 'getDocument'>): Promise<MoveRecord | null> {
  const found: StoredDocument<'move'> | null = await store.getDocument(SERVICE, 'move', ID);
  return found?.body ?? null;
}

export async function writeMoveRecord(store: RecordStore, record: MoveRecord): Promise<void> {
  await store.apply(SERVICE, [putNew('move', ID, record, { expect: 'any' })]);
}

export async function deleteMoveRecord(store: RecordStore): Promise<void> {
  await store.apply(SERVICE, [{ op: 'delete', kind: 'move', id: ID, expect: 'any' }]);
}

/**
 * Keeps the service from starting on a store whose tasks are elsewhere, or not there yet: they would run twice.
 *
 * @throws Error that says where the tasks are and what to do
 */
export async function refuseMoved(store: Pick<TaskStore, 'getDocument'>): Promise<void> {
  const record = await moveRecordOf(store);
  if (record === null) return;
  const { direction, other, at } = record;
  if (direction === 'in') {
    throw new Error(
      `the tasks of ${other} are being moved into this task store since ${formatTime(at)}: finish the move with ` +
        '"sluice tasks move" before you start the service',
    );
  }
  throw new Error(
    `the tasks of this task store were moved to ${other} at ${formatTime(at)}: let TASKS_STORE and its address name ` +
      'that store. To use this store again, with the tasks that it had then, see "sluice tasks reopen --help"',
  );
}
