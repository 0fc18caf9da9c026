import { isId } from '../../model/ids.ts';
import { scheduleName } from '../../scheduler/schedules/schedule-document.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { TaskStore } from '../../store/task-store.ts';
import { Problem } from '../checks/problem.ts';

const NAME = /^(?!sch_)[a-z0-9][a-z0-9._-]{0,62}$/;

/**
 * A schedule by id or name, as it is in the store now.
 *
 * @throws Problem not_found
 */
export async function readSchedule(
  store: Pick<TaskStore, 'getDocument' | 'findDocument'>,
  tenant: string,
  idOrName: string,
): Promise<StoredDocument<'schedule'>> {
  const found = await lookUp(store, tenant, idOrName);
  if (found === null) throw noSuchSchedule(idOrName);
  return found;
}

async function lookUp(
  store: Pick<TaskStore, 'getDocument' | 'findDocument'>,
  tenant: string,
  idOrName: string,
): Promise<StoredDocument<'schedule'> | null> {
  if (isId('schedule', idOrName)) return store.getDocument(tenant, 'schedule', idOrName);
  if (!NAME.test(idOrName)) return null;
  const found = await store.findDocument(tenant, scheduleName(idOrName));
  return found?.kind === 'schedule' ? (found as StoredDocument<'schedule'>) : null;
}

export function noSuchSchedule(idOrName: string): Problem {
  return new Problem(
    'not_found',
    `there is no schedule ${JSON.stringify(idOrName.slice(0, 64))}: give the name or the id of one`,
  );
}
