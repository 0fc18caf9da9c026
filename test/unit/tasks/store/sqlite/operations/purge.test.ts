import t from 'tap';
import type { Operation } from '../../../../../../src/tasks/store/operations.ts';
import { ManualClock } from '../../../../../support/manual-clock.ts';
import { Factory, PULLER, settlement } from '../../../../../support/tasks/factories.ts';
import { openedEngine } from '../../../../../support/tasks/same-thread-store.ts';
import { storePath } from '../../../../../support/tasks/sqlite-files.ts';

const ACME = 'acme';
const TASKS = 25;
/** Of each task, with its beginning and its end. */
const ENTRIES = 1_000;

t.test('tasks with long histories are removed in steps that hold nobody up for long', async t => {
  const clock = new ManualClock(Date.UTC(2026, 2, 1));
  const make = new Factory(clock);
  const worker = make.worker();
  const file = { path: storePath(t), synchronous: 'normal', busyTimeoutMs: 1_000 } as const;
  const engine = openedEngine(t, file, clock);
  const run = (...operations: Operation[]) =>
    engine.write(operations).map(outcome => {
      if (!outcome.ok) throw outcome.fault;
      return outcome.answer;
    });
  run({ name: 'apply', args: [ACME, [worker]] });
  const tasks = Array.from({ length: TASKS }, () => make.newTask(worker));
  run({ name: 'create', args: [ACME, make.createRequest(tasks)] });
  const claim = make.claimRequest(worker.id, TASKS);
  run({ name: 'claim', args: [ACME, claim] });
  for (const leaseId of claim.leaseIds) {
    const progress: Operation = {
      name: 'extend',
      args: [ACME, leaseId, null, { percent: 1, note: null, actor: PULLER }],
    };
    run(...Array<Operation>(ENTRIES - 3).fill(progress));
  }
  run({ name: 'settle', args: [ACME, claim.leaseIds.map(id => settlement(id, 'succeeded'))] });
  clock.advance(1);
  const purge: Operation = { name: 'purge', args: [ACME, { succeededMs: 0, otherMs: 0 }, 500] };
  t.strictSame(
    [...run(purge), ...run(purge)],
    [
      { tasks: 20, more: true },
      { tasks: 5, more: false },
    ],
  );
});
