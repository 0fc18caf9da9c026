import type { Test } from 'tap';
import { actions } from './actions.ts';
import { blocked } from './blocked.ts';
import { callbacks } from './callbacks.ts';
import { changes } from './changes.ts';
import { claimBounds } from './claim-bounds.ts';
import { claims } from './claims.ts';
import { clockSteps } from './clock-steps.ts';
import { counts } from './counts.ts';
import { creating } from './creating.ts';
import { creatingTogether } from './creating-together.ts';
import { documents } from './documents.ts';
import { dueCounts } from './due-counts.ts';
import { fencing } from './fencing.ts';
import { findingDocuments } from './finding-documents.ts';
import { forgetting } from './forgetting.ts';
import { groups } from './groups.ts';
import { heldTasks } from './held-tasks.ts';
import { histories } from './histories.ts';
import { idempotency } from './idempotency.ts';
import { keys } from './keys.ts';
import { leases } from './leases.ts';
import { lists } from './lists.ts';
import { overdueTasks } from './overdue-tasks.ts';
import { purging } from './purging.ts';
import { restarts } from './restarts.ts';
import { type Backend, Scene } from './scene.ts';
import { searches } from './searches.ts';
import { settling } from './settling.ts';
import { tenants } from './tenants.ts';
import { updating } from './updates.ts';
import { usage } from './usage.ts';
import { wakeups } from './wakeups.ts';

/** A topic of the exam, as the tests of it: each is given an empty store with an account and two workers. */
export type Topic = (
  test: (title: string, show: (scene: Scene, t: Test) => Promise<unknown>) => void,
) => void;

const TOPICS: Readonly<Record<string, Topic>> = {
  'creating tasks': creating,
  'creating together': creatingTogether,
  keys,
  idempotency,
  'changing tasks': changes,
  actions,
  'updates and replays': updating,
  claims,
  'bounds of claims': claimBounds,
  'what blocks claims': blocked,
  groups,
  settling,
  fencing,
  callbacks,
  leases,
  'what is overdue': overdueTasks,
  'held tasks': heldTasks,
  lists,
  searches,
  histories,
  documents,
  'finding documents': findingDocuments,
  counts,
  'counts of due tasks': dueCounts,
  usage,
  purging,
  'forgetting tenants': forgetting,
  'wake-up hints': wakeups,
  tenants,
  restarts,
  'steps of the clock': clockSteps,
};

/**
 * What every task store must do. Nothing is needed but a way to open one. See also `randomExam` in `random.ts`.
 *
 * @param atOnce how many topics: with more than one, time is not wasted on waiting for a server
 */
export function taskStoreExam(t: Test, backend: Backend, atOnce = 1): void {
  t.test(backend.name, async t => {
    t.jobs = atOnce;
    for (const [name, topic] of Object.entries(TOPICS)) {
      t.test(name, async t => {
        topic((title, show) => t.test(title, async t => show(await Scene.open(t, backend), t)));
      });
    }
  });
}
