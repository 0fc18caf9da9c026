import { type Service, ServiceStack } from '../../base/lifecycle.ts';
import type { Deliveries } from '../delivery/delivery.ts';
import type { Actor } from '../model/task.ts';
import type { UsageCounts } from '../store/usage-counts.ts';
import { Settler } from './attempts/settler.ts';
import { type LimitAsker, StartLimits } from './attempts/start-limits.ts';
import { CHECK_KEYS_EVERY_MS, KeyCheck } from './health/key-check.ts';
import { StoreOutage } from './health/store-outage.ts';
import { type NotReadyListener, Troubles } from './health/troubles.ts';
import { CancelWatch } from './push/cancel-watch.ts';
import { Dispatcher } from './push/dispatcher.ts';
import { PushAttempts } from './push/push-attempts.ts';
import { PushClaims } from './push/push-claims.ts';
import { PushResults } from './push/push-results.ts';
import { PushSlots } from './push/push-slots.ts';
import { PushStarts } from './push/push-starts.ts';
import { PushTurns } from './push/push-turns.ts';
import { WaitingWorkers } from './push/waiting-workers.ts';
import type { TasksThread } from './thread/tasks-thread.ts';
import { LOOK_EVERY_MS, OldestDue } from './upkeep/oldest-due.ts';
import { REAP_EVERY_MS, reap } from './upkeep/reaper.ts';
import { purgeAll, RETAIN_EVERY_MS } from './upkeep/retention.ts';
import { Rounds } from './upkeep/rounds.ts';
import { UsageWriter } from './upkeep/usage-writer.ts';
import { WorkerBook } from './workers/worker-book.ts';
import { WorkerPauses, WorkerSwitch } from './workers/worker-pauses.ts';
import { SecretUses } from './workers/worker-secrets.ts';

/** What all work in the thread with the task engine shares. */
export interface EngineThread extends TasksThread {
  /** What the store counts. */
  readonly usage: UsageCounts;
  /** Started and stopped by the engine. */
  readonly deliveries: Deliveries;
  readonly limitAsker: LimitAsker;
  /** Creates the service that fires schedules. `workerDue` is to be called when a paused worker is due to resume. */
  readonly firer: (workerDue: (tenant: string, workerId: string) => Promise<void>) => Service;
  readonly notReady: NotReadyListener;
  readonly options: TasksEngineOptions;
}

interface TasksEngineOptions {
  /** The name of this process in the history. */
  readonly node: string;
  /** Pushes that may be short at the same time; deliveries have room for `attemptsFor` them. */
  readonly pushSlots: number;
  /** How long pushes may go on after a stop was asked for. */
  readonly drainMs: number;
}

/** Interval between two counts of due tasks. */
const COUNT_DUE_EVERY_MS = 10_000;
/** Counting more tasks would keep the store from other work. */
const MAX_COUNTED = 100_000;
/** How long results are held after the drain while the store is unavailable. */
const LAST_SETTLE_MS = 5_000;

/**
 * Everything that happens to tasks without an API call: pushes, and the expiry of leases, retention times and schedules
 * (specification 4.4).
 *
 * Shutdown order: schedules, removals, reaper. Then no more tasks are claimed. Pushes in progress may continue up to
 * the drain time, and the remaining tasks are handed back. All results are written to the store.
 */
export class TasksEngine implements Service {
  readonly name = 'tasks';
  readonly #services: readonly Service[];
  readonly #stack = new ServiceStack();

  constructor(thread: EngineThread) {
    const { clock, random, logger } = thread;
    const workerSwitch = new WorkerSwitch(thread);
    const rounds = (name: string, waitMs: number, round: (stopped: () => boolean) => Promise<void>) =>
      new Rounds({ name, waitMs, firstWaitMs: Math.floor(random() * waitMs), round, clock, logger });
    const troubles = new Troubles(thread, thread.notReady);
    const keyCheck = new KeyCheck(thread, troubles);
    const countDue = dueTasksCounter(thread);
    const oldestDue = new OldestDue(thread);
    this.#services = [
      atStop('troubles', async () => troubles.stop()),
      new UsageWriter(thread, thread.usage),
      {
        name: 'first check of the master key',
        // If the store fails, the rounds try again.
        start: () => keyCheck.begin().catch(() => {}),
        stop: async () => {},
      },
      ...pushing(thread, workerSwitch, troubles),
      rounds('reaper', REAP_EVERY_MS, stopped => reap(thread, stopped)),
      rounds('retention', RETAIN_EVERY_MS, stopped => purgeAll(thread, stopped)),
      rounds('count of due tasks', COUNT_DUE_EVERY_MS, countDue),
      rounds('oldest due tasks of workers', LOOK_EVERY_MS, stopped => oldestDue.look(stopped)),
      new Rounds({
        name: 'check of the master key',
        waitMs: CHECK_KEYS_EVERY_MS,
        firstWaitMs: 0,
        round: stopped => keyCheck.look(stopped),
        clock,
        logger,
      }),
      thread.firer((tenant, id) => workerSwitch.resume(tenant, id)),
    ];
  }

  /** @throws Error when a part fails to start: none runs then */
  async start(): Promise<void> {
    for (const service of this.#services) await this.#stack.start(service);
  }

  stop(): Promise<void> {
    return this.#stack.stop();
  }
}

/** The services that push tasks, in the order in which they start. */
function pushing(thread: EngineThread, workerSwitch: WorkerSwitch, troubles: Troubles): Service[] {
  const { deliveries, statistics, clock, options } = thread;
  const actor: Actor = { type: 'dispatcher', id: options.node };
  const outage = new StoreOutage(thread, troubles);
  const settler = new Settler(thread, outage, 2 * options.pushSlots);
  const startLimits = new StartLimits(thread, thread.limitAsker);
  const waiting = new WaitingWorkers(thread, startLimits, outage);
  const pauses = new WorkerPauses(thread, workerSwitch);
  const secretUses = new SecretUses(thread);
  const results = new PushResults(thread, settler, pauses, actor);
  const slots = new PushSlots({ slots: options.pushSlots, after: clock.after.bind(clock) });
  const attempts = new PushAttempts(thread, slots, results, secretUses);
  const claims = new PushClaims(thread, results, outage, actor);
  const starts = new PushStarts(new WorkerBook(thread), claims, attempts, waiting, statistics);
  const turns = new PushTurns(attempts, waiting, starts, outage, thread.logger);
  statistics.readInFlight(() => attempts.count);
  statistics.readOldestDueMs(() => waiting.oldestMs());
  return [
    { name: 'deliveries', start: () => deliveries.start(), stop: () => deliveries.stop() },
    {
      name: 'settler',
      start: async () => outage.start(),
      stop: async () => {
        await settler.stop(LAST_SETTLE_MS);
        outage.stop();
      },
    },
    atStop('uses of secrets', () => secretUses.settled()),
    atStop('pauses of workers', () => pauses.settled()),
    atStop('start limits', async () => startLimits.stop()),
    new CancelWatch(thread, attempts, outage),
    new Dispatcher(thread, waiting, turns, attempts, outage),
  ];
}

/** A service that has nothing to start. */
function atStop(name: string, stop: () => Promise<void>): Service {
  return { name, start: async () => {}, stop };
}

/**
 * Shows the number of due tasks in the statistics, which never wait for the store: they show its last answer.
 *
 * @returns counts them again; rejects with a Fault if the store fails
 */
function dueTasksCounter({ store, statistics }: EngineThread): () => Promise<void> {
  let count = 0;
  statistics.readDueTasks(() => count);
  return async () => {
    count = await store.countDue(MAX_COUNTED);
  };
}
