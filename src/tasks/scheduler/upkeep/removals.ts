import type { StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';

/** How long until a removal is looked at first: a push that is to stop ends within this. */
export const FIRST_LOOK_MS = 1_000;
/** And then every so often: a pull worker learns of it with its next heartbeat. */
const NEXT_LOOK_MS = 5_000;

/**
 * Looks at a removal that is due: removes the task if it has ended, and puts the removal off while it runs. Several
 * processes may look at the same one at once.
 *
 * @throws (rejects with) Fault of the store
 */
export async function lookAtRemoval(
  store: Pick<TaskStore, 'remove' | 'apply' | 'now'>,
  tenant: string,
  document: StoredDocument<'removal'>,
): Promise<void> {
  const { kind, id, version, parent, body } = document;
  const answer = await store.remove(tenant, id, null);
  if (answer === 'running') {
    const dueAt = (await store.now()) + NEXT_LOOK_MS;
    await store.apply(tenant, [{ op: 'put', kind, id, expect: version, parent, dueAt, unique: [], body }]);
    return;
  }
  await store.apply(tenant, [{ op: 'delete', kind, id, expect: 'any' }]);
}
