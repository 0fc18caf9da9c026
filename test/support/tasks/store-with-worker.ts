import type { Clock } from '../../../src/base/clock.ts';
import type { TaskStore } from '../../../src/tasks/store/task-store.ts';
import { Factory } from './factories.ts';

/** Starts a store until the test ends, with the account `acme` and a worker in it. */
export async function withWorker<S extends TaskStore>(
  t: { teardown(run: () => Promise<void>): void },
  store: S,
  clock: Clock,
) {
  t.teardown(() => store.stop());
  await store.start();
  const make = new Factory(clock);
  const worker = make.worker();
  await store.apply('acme', [make.account('acme'), worker]);
  /** Makes a task, and gives its id. */
  const add = async (payload: string | null = null): Promise<string> => {
    const item = make.newTask(worker, {}, { body: { payload, headers: {} } });
    await store.create('acme', make.createRequest([item]));
    return item.task.id;
  };
  return { store, make, worker, add };
}
