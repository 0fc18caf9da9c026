import type { Task } from '../model/task.ts';
import { placeOfCount, placeOfTime, type UsageCount, UsageSum, usageStart } from '../model/usage.ts';
import { MAX_USAGE_INCREMENTS, type UsageIncrement } from './usage.ts';

/**
 * Maximum number of sums, each of about 1 KiB. Every tenant has one, and each of its workers. What would need a further one
 * is not counted.
 */
const MAX_SUMS = 20_000;

/** What happened in one minute to tasks of one tenant. */
interface Minute {
  readonly at: number;
  readonly all: UsageSum;
  /** By the id of the worker. */
  readonly workers: Map<string, UsageSum>;
}

/** A task after the operation that is counted, which has set its time. */
type ChangedTask = Pick<Task, 'workerId' | 'updatedAt'>;

/** What to add to the usage of a tenant, in one call of the store. */
export interface TakenUsage {
  readonly tenant: string;
  readonly increments: readonly UsageIncrement[];
}

/**
 * What this thread has done since its usage was last written to the store. Counting takes no operation of the store and
 * nearly no time, so that it can be done for every task.
 */
export class UsageCounts {
  /** The minutes of each tenant, oldest first. There is rarely more than one. */
  readonly #minutes = new Map<string, Minute[]>();
  #sums = 0;

  count(tenant: string, task: ChangedTask, count: UsageCount): void {
    this.#add(tenant, task, placeOfCount(count));
  }

  /** An attempt has started. @param lagMs how long its task had been due */
  started(tenant: string, task: ChangedTask, lagMs: number): void {
    this.#add(tenant, task, placeOfCount('started'));
    this.#add(tenant, task, placeOfTime('lag', lagMs));
  }

  /** An attempt has ended that took this long. */
  lasted(tenant: string, task: ChangedTask, durationMs: number): void {
    this.#add(tenant, task, placeOfTime('duration', durationMs));
  }

  /** Takes everything that was counted. */
  take(): TakenUsage[] {
    const taken: TakenUsage[] = [];
    for (const [tenant, minutes] of this.#minutes) {
      const all = minutes.flatMap(incrementsOf);
      for (let i = 0; i < all.length; i += MAX_USAGE_INCREMENTS) {
        taken.push({ tenant, increments: all.slice(i, i + MAX_USAGE_INCREMENTS) });
      }
    }
    this.#minutes.clear();
    this.#sums = 0;
    return taken;
  }

  /** Counts again what was taken and not written. */
  giveBack({ tenant, increments }: TakenUsage): void {
    for (const { at, workerId, figures } of increments) {
      const minute = this.#minuteOf(tenant, at);
      if (minute === null) return;
      const sum = workerId === null ? minute.all : this.#sumOf(minute, workerId);
      sum?.addAll(figures);
    }
  }

  #add(tenant: string, { workerId, updatedAt }: ChangedTask, place: number): void {
    const minute = this.#minuteOf(tenant, usageStart('minute', updatedAt));
    if (minute === null) return;
    minute.all.add(place, 1);
    this.#sumOf(minute, workerId)?.add(place, 1);
  }

  #minuteOf(tenant: string, at: number): Minute | null {
    let minutes = this.#minutes.get(tenant);
    let minute = minutes?.findLast(known => known.at === at);
    if (minute !== undefined) return minute;
    if (this.#sums >= MAX_SUMS) return null;
    this.#sums++;
    minute = { at, all: new UsageSum(), workers: new Map() };
    if (minutes === undefined) {
      minutes = [];
      this.#minutes.set(tenant, minutes);
    }
    minutes.push(minute);
    return minute;
  }

  #sumOf({ workers }: Minute, workerId: string): UsageSum | null {
    const known = workers.get(workerId);
    if (known !== undefined) return known;
    if (this.#sums >= MAX_SUMS) return null;
    this.#sums++;
    const sum = new UsageSum();
    workers.set(workerId, sum);
    return sum;
  }
}

function incrementsOf({ at, all, workers }: Minute): UsageIncrement[] {
  return [
    { at, workerId: null, figures: all.pairs() },
    ...[...workers].map(([workerId, sum]) => ({ at, workerId, figures: sum.pairs() })),
  ];
}
