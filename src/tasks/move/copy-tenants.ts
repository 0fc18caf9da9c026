import { grouped } from '../../base/collections/grouped.ts';
import type { Worker } from '../model/documents.ts';
import type { Copy } from '../store/copies.ts';
import { SERVICE } from '../store/documents.ts';
import type { TaskStore } from '../store/task-store.ts';
import { ahead, pagesFrom, WALK_START, type WalkPlace } from './copied-pages.ts';

/** Numbers of tenants, and of their tasks. */
export interface CopyCounts {
  readonly tenants: number;
  readonly tasks: number;
}

export const NOTHING_COPIED = { tenants: 0, tasks: 0 } satisfies CopyCounts;

/** How far a copy has come: everything before this place is in the target. */
interface CopyProgress extends CopyCounts {
  readonly next: WalkPlace;
}

/** @param text of the record in the target; null if nothing was copied */
export function readProgress(text: string | null): CopyProgress {
  return text === null ? { ...NOTHING_COPIED, next: WALK_START } : (JSON.parse(text) as CopyProgress);
}

/** What happens beside the copy. */
interface CopyHooks {
  /** Stores the progress. */
  readonly save: (progress: string) => Promise<void>;
  readonly advanced: (done: CopyCounts) => void;
}

/** The progress is stored after this number of pages. A run that goes on copies at most so many pages again. */
const PAGES_A_RECORD = 32;

/** Copies everything from a place on: all tenants one after another, then the idempotency records of all. */
export async function copyTenants(
  from: Pick<TaskStore, 'tenants' | 'copyOut' | 'recallAll'>,
  to: Pick<TaskStore, 'copyIn' | 'setWakeup' | 'now'>,
  start: CopyProgress,
  { save, advanced }: CopyHooks,
): Promise<void> {
  const nowMs = await to.now();
  let { tenants, tasks } = start;
  let pages = 0;
  for await (const { tenant, place, copies, isLast } of ahead(pagesFrom(from, start.next))) {
    if (++pages % PAGES_A_RECORD === 0) {
      await save(JSON.stringify({ tenants, tasks, next: { tenant, place } } satisfies CopyProgress));
    }
    await to.copyIn(tenant, copies);
    await Promise.all(pushWorkers(copies).map(id => to.setWakeup(tenant, id, nowMs)));
    tasks += copies.filter(({ kind }) => kind === 'task').length;
    if (isLast && tenant !== SERVICE) tenants++;
    advanced({ tenants, tasks });
  }
  await copyAnswers(from, to);
}

/** A hint for each, because not every hint of a store follows from tasks. One that is too early only costs a look. */
function pushWorkers(copies: readonly Copy[]): readonly string[] {
  return copies.flatMap(copy => {
    if (copy.kind !== 'document' || copy.document.kind !== 'worker') return [];
    return (copy.document.body as Worker).mode === 'push' ? [copy.document.id] : [];
  });
}

/** From the beginning in each run: the place in one server of a cluster can mean another one later. */
async function copyAnswers(from: Pick<TaskStore, 'recallAll'>, to: Pick<TaskStore, 'copyIn'>): Promise<void> {
  for (let place: string | null = null; ; ) {
    const page = await from.recallAll(place);
    const ofTenants = grouped(page.answers, ({ tenant }) => tenant);
    const written = [...ofTenants].map(([tenant, answers]) =>
      to.copyIn(
        tenant,
        answers.map(({ answer }) => answer),
      ),
    );
    await Promise.all(written);
    if (page.next === null) return;
    place = page.next;
  }
}
