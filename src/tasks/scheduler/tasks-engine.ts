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
import type { TasksThread } from './tasks-thread.ts';
import { LOOK_EVERY_MS, OldestDue } from './upkeep/oldest-due.ts';
import { REAP_EVERY_MS, reap } from './upkeep/reaper.ts';
import { purgeAll, RETAIN_EVERY_MS } from './upkeep/retention.ts';
import { Rounds } from './upkeep/rounds.ts';
import { UsageWriter } from './upkeep/usage-writer.ts';
import { WorkerBook } from './workers/worker-book.ts';
import { WorkerPauses, WorkerSwitch } from './workers/worker-pauses.ts';
import { SecretUses } from './workers/worker-secrets.ts';

/** What the engine uses beside what all work in its thread shares. */
export interface TasksEngineParts extends TasksThread {
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

  constructor(parts: TasksEngineParts) {
    const { clock, random, logger } = parts;
    const workerSwitch = new WorkerSwitch(parts);
    const rounds = (name: string, waitMs: number, round: (stopped: () => boolean) => Promise<void>) =>
      new Rounds({ name, waitMs, firstWaitMs: Math.floor(random() * waitMs), round, clock, logger });
    const troubles = new Troubles(parts);
    const keyCheck = new KeyCheck({ ...parts, troubles });
    const countDue = dueTasksCounter(parts);
    const oldestDue = new OldestDue(parts);
    this.#services = [
      atStop('troubles', async () => troubles.stop()),
      new UsageWriter(parts),
      {
        name: 'first check of the master key',
        // If the store fails, the rounds try again.
        start: () => keyCheck.begin().catch(() => {}),
        stop: async () => {},
      },
      ...pushing(parts, { workerSwitch, troubles }),
      rounds('reaper', REAP_EVERY_MS, stopped => reap(parts, stopped)),
      rounds('retention', RETAIN_EVERY_MS, stopped => purgeAll(parts, stopped)),
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
      parts.firer((tenant, id) => workerSwitch.resume(tenant, id)),
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

/** Parts that pushing shares with the other work. */
interface PushingShared {
  readonly workerSwitch: WorkerSwitch;
  readonly troubles: Troubles;
}

/** The services that push tasks, in the order in which they start. */
function pushing(parts: TasksEngineParts, shared: PushingShared): Service[] {
  const { workerSwitch, troubles } = shared;
  const { deliveries, statistics, clock, options } = parts;
  const { pushSlots: slots, drainMs, node } = options;
  const actor: Actor = { type: 'dispatcher', id: node };
  const outage = new StoreOutage({ ...parts, troubles });
  const settler = new Settler({ ...parts, outage, maxUncertain: 2 * slots });
  const startLimits = new StartLimits({ ...parts, asker: parts.limitAsker });
  const waiting = new WaitingWorkers({ ...parts, startLimits, outage });
  const pauses = new WorkerPauses({ ...parts, workerSwitch });
  const secretUses = new SecretUses(parts);
  const results = new PushResults({ ...parts, settler, pauses, actor });
  const pushSlots = new PushSlots({ slots, after: clock.after.bind(clock) });
  const attempts = new PushAttempts({ ...parts, slots: pushSlots, results, secretUses, drainMs });
  const claims = new PushClaims({ ...parts, results, outage, actor });
  const book = new WorkerBook(parts);
  const starts = new PushStarts({ ...parts, book, claims, attempts, waiting, startLimits });
  const turns = new PushTurns({ ...parts, slots: pushSlots, waiting, starts, attempts, outage });
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
    new CancelWatch({ ...parts, attempts, outage }),
    new Dispatcher({ ...parts, waiting, turns, attempts, outage }),
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
function dueTasksCounter({ store, statistics }: TasksEngineParts): () => Promise<void> {
  let count = 0;
  statistics.readDueTasks(() => count);
  return async () => {
    count = await store.countDue(MAX_COUNTED);
  };
}
