import { asError } from '../../../base/fault.ts';
import type { StoredDocument } from '../../store/documents.ts';
import type { CreateResult } from '../../store/requests.ts';
import { isOutage } from '../health/store-outage.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import {
  goneReason,
  pausedStep,
  postponedStep,
  type ScheduleResult,
  type ScheduleStep,
  type SteppingThread,
  scheduleStep,
} from './schedule-step.ts';

/** `schedules_fired_total{result}`. */
export interface ScheduleCounters {
  count(result: ScheduleResult, by: number): void;
}

/** What the firing of schedules uses of its thread. */
export type FiringThread = SteppingThread & ThreadPart<'create' | 'apply', 'limits' | 'logger'>;

/** The store accepts at most this number of tasks in one step. */
const MAX_TASKS = 500;
/** Tasks of several schedules are created together, and each names its schedule. */
const FIRER = { type: 'system', id: 'schedules' } as const;

/** Fires due schedules of one tenant, several in one step of the store. */
export class ScheduleWriter {
  readonly #thread: FiringThread;
  readonly #counters: ScheduleCounters;

  constructor(thread: FiringThread, counters: ScheduleCounters) {
    this.#thread = thread;
    this.#counters = counters;
  }

  /**
   * @param now by the store's clock
   * @returns how many of the schedules have moved on; the others have changed, and are to be read again
   * @throws (rejects with) Fault when the store fails; what was not written is still due
   */
  async fire(tenant: string, schedules: readonly StoredDocument<'schedule'>[], now: number): Promise<number> {
    const steps = await Promise.all(schedules.map(schedule => this.#stepOf(tenant, schedule, now)));
    let moved = 0;
    for (const together of packed(steps.filter(step => step !== null))) {
      moved += await this.#write(tenant, together, now);
    }
    return moved;
  }

  /** A bug with one schedule must not keep the others from firing. */
  async #stepOf(
    tenant: string,
    schedule: StoredDocument<'schedule'>,
    now: number,
  ): Promise<ScheduleStep | null> {
    try {
      return await scheduleStep(this.#thread, tenant, schedule, now);
    } catch (failure) {
      if (isOutage(failure)) throw failure;
      const reason = asError(failure).message;
      this.#thread.logger.error(
        'Could not compute the next runs of a schedule (this is a bug; please report it); retrying in a minute',
        { tenant, schedule: schedule.id, reason },
      );
      return postponedStep(schedule, now);
    }
  }

  async #write(tenant: string, steps: readonly ScheduleStep[], now: number): Promise<number> {
    const { store, directory, limits } = this.#thread;
    const documents = steps.map(step => step.put);
    const tasks = steps.flatMap(step => step.tasks);
    let results: readonly CreateResult[] = [];
    if (tasks.length === 0) {
      const answer = await store.apply(tenant, documents);
      if (answer.kind !== 'done') return 0;
    } else {
      const account = await directory.account(tenant);
      const maxOpen = account?.body.limits.openTasks ?? limits.openTasks;
      const answer = await store.create(tenant, {
        tasks,
        atomic: true,
        maxOpen,
        documents,
        actor: FIRER,
      });
      if (answer.kind !== 'done') return 0;
      results = answer.results;
    }
    const refused = results.find(result => result.kind === 'refused' && result.reason !== 'not_created');
    if (refused?.kind === 'refused') return this.#refused(tenant, steps, refused.reason, now);
    this.#done(tenant, steps, results);
    return steps.length;
  }

  /** Nothing was written because one task was refused. Finds its schedule and puts it aside. */
  async #refused(
    tenant: string,
    steps: readonly ScheduleStep[],
    reason: string,
    now: number,
  ): Promise<number> {
    let moved = 0;
    if (steps.length > 1) {
      for (const step of steps) moved += await this.#write(tenant, [step], now);
      return moved;
    }
    const [{ schedule }] = steps;
    const step =
      reason === 'worker_missing'
        ? pausedStep(schedule, goneReason(schedule.body.worker))
        : postponedStep(schedule, now);
    return this.#write(tenant, [step], now);
  }

  #done(tenant: string, steps: readonly ScheduleStep[], results: readonly CreateResult[]): void {
    const { logger, signals } = this.#thread;
    for (const { schedule, counts, pauseReason } of steps) {
      for (const [result, by] of Object.entries(counts)) {
        if (by > 0) this.#counters.count(result as ScheduleResult, by);
      }
      if (pauseReason !== undefined) {
        logger.warning('Schedule paused', { tenant, schedule: schedule.id, reason: pauseReason });
      }
    }
    const earliest = new Map<string, number>();
    for (const result of results) {
      if (result.kind !== 'created' || result.task.dueAt === null) continue;
      const { workerId, dueAt } = result.task;
      earliest.set(workerId, Math.min(dueAt, earliest.get(workerId) ?? dueAt));
    }
    for (const [workerId, at] of earliest) signals.tell('taskDue', tenant, workerId, at);
  }
}

/** Cuts steps into groups that the store takes at once. */
function packed(steps: readonly ScheduleStep[]): ScheduleStep[][] {
  const groups: ScheduleStep[][] = [];
  let tasks = 0;
  for (const step of steps) {
    if (groups.length === 0 || tasks + step.tasks.length > MAX_TASKS) {
      groups.push([]);
      tasks = 0;
    }
    groups[groups.length - 1].push(step);
    tasks += step.tasks.length;
  }
  return groups;
}
