import {
  FINAL_STATUSES,
  type HistoryEntry,
  type HistoryEvent,
  isFinal,
  type Task,
  type TaskStatus,
} from '../../../src/tasks/model/task.ts';

/** So many ends of attempts are not counted. */
const MAX_DEFERRALS = 100;

const WAITING: readonly TaskStatus[] = ['scheduled', 'retry'];
const FAILED: readonly TaskStatus[] = ['retry', 'failed'];

/** From where to where each event leads; `same`: it stays where it is. */
const WAYS: Readonly<
  Record<
    HistoryEvent,
    { readonly from: readonly (TaskStatus | null)[]; readonly to: readonly TaskStatus[] | 'same' }
  >
> = {
  created: { from: [null], to: ['scheduled'] },
  updated: { from: ['scheduled', 'running', 'retry', 'paused'], to: 'same' },
  paused: { from: WAITING, to: ['paused'] },
  resumed: { from: ['paused'], to: WAITING },
  started: { from: WAITING, to: ['running'] },
  heartbeat_progress: { from: ['running'], to: 'same' },
  succeeded: { from: ['running'], to: ['succeeded'] },
  attempt_failed: { from: ['running'], to: FAILED },
  timed_out: { from: ['running'], to: FAILED },
  lease_expired: { from: ['running'], to: FAILED },
  deferred: { from: ['running'], to: FAILED },
  released: { from: ['running'], to: FAILED },
  cancel_requested: { from: ['running'], to: 'same' },
  canceled: { from: ['scheduled', 'running', 'retry', 'paused'], to: ['canceled'] },
  expired: { from: WAITING, to: ['expired'] },
  replayed: { from: FINAL_STATUSES, to: ['scheduled'] },
  no_retry: { from: ['running'], to: ['failed'] },
  gap: { from: [null], to: 'same' },
};

/** What does not fit in the history of a task, by itself and to the task. Each line begins with its invariant. */
export function historyViolations(task: Task, entries: readonly HistoryEntry[]): string[] {
  const violations: string[] = [];
  const check = (holds: boolean, text: string) => {
    if (!holds) violations.push(text);
  };
  const reading = new Reading();
  check(entries[0]?.event === 'created', '4: it does not begin with its creation');
  for (const [i, entry] of entries.entries()) {
    const before = entries[i - 1] as HistoryEntry | undefined;
    const place = `entry ${entry.seq} (${entry.event})`;
    if (before !== undefined) {
      check(entry.seq === before.seq + (before.dropped ?? 1), `4: ${place} follows ${before.seq}`);
      check(entry.at >= before.at, `4: ${place} is before the one before it`);
    }
    if (entry.event === 'gap') {
      reading.lose();
      continue;
    }
    check(
      before === undefined || before.event === 'gap' || before.to === entry.from,
      `4: ${place} is from elsewhere`,
    );
    const { from, to } = WAYS[entry.event];
    check(from.includes(entry.from), `4: ${place} cannot begin at ${entry.from}`);
    check(
      to === 'same' ? entry.to === entry.from : to.includes(entry.to),
      `4: ${place} cannot lead to ${entry.to}`,
    );
    for (const text of reading.read(entry)) violations.push(`${text} (${place})`);
  }
  const last = entries.at(-1);
  check(last?.to === task.status, `4: it is ${task.status}, and its history ends with ${last?.to}`);
  return [...violations, ...reading.compare(task)];
}

/** What the entries say of the task, one after the other. */
class Reading {
  /** False after a gap, until the task begins anew. */
  #complete = true;
  #openLease: string | null | undefined = null;
  #nextAttemptAt = -Infinity;
  #starts = 0;
  #deferrals = 0;
  #startedAt: number | null = null;
  #finishedAt: number | null = null;
  #cancelRequestedAt: number | null = null;

  lose(): void {
    this.#complete = false;
    this.#openLease = undefined;
    this.#nextAttemptAt = -Infinity;
  }

  read(entry: HistoryEntry): string[] {
    const violations: string[] = [];
    const check = (holds: boolean, text: string) => {
      if (!holds) violations.push(text);
    };
    if (entry.event === 'replayed') this.#begin();
    if (entry.event === 'started') {
      check(this.#openLease === undefined || this.#openLease === null, '3: the attempt before has no end');
      check(entry.leaseIdSuffix !== undefined, '3: it has no lease');
      check(entry.at >= this.#nextAttemptAt, `5: it started at ${entry.at}, before ${this.#nextAttemptAt}`);
      this.#openLease = entry.leaseIdSuffix;
      this.#starts++;
      this.#startedAt ??= entry.at;
      if (this.#complete)
        check(entry.attempt === this.counted, `4: it is attempt ${entry.attempt}, not ${this.counted}`);
    } else if (entry.from === 'running' && entry.to !== 'running') {
      const known = this.#openLease !== undefined;
      check(!known || this.#openLease === entry.leaseIdSuffix, '7: it ends an attempt of another lease');
      if (this.#complete)
        check(entry.attempt === this.counted, `4: it is attempt ${entry.attempt}, not ${this.counted}`);
      this.#openLease = null;
      if (entry.event === 'deferred' || entry.event === 'released') this.#deferrals++;
    }
    if (entry.event === 'cancel_requested') this.#cancelRequestedAt = entry.at;
    if (isFinal(entry.to)) this.#finishedAt = entry.at;
    const rests = entry.to === 'running' || isFinal(entry.to);
    check(!rests || entry.nextAttemptAt === undefined, '4: it names a next attempt, and there is none');
    if (entry.nextAttemptAt !== undefined) this.#nextAttemptAt = entry.nextAttemptAt;
    return violations;
  }

  /** Attempts that were started, without those that were taken back. */
  get counted(): number {
    return this.#starts - Math.min(this.#deferrals, MAX_DEFERRALS);
  }

  #begin(): void {
    this.#complete = true;
    this.#starts = 0;
    this.#deferrals = 0;
    this.#startedAt = null;
    this.#finishedAt = null;
    this.#cancelRequestedAt = null;
  }

  /** How the task differs from what was read. */
  compare(task: Task): string[] {
    if (!this.#complete) return [];
    const expected = {
      attempt: this.counted,
      deferrals: this.#deferrals,
      startedAt: this.#startedAt,
      finishedAt: this.#finishedAt,
      cancelRequestedAt: this.#cancelRequestedAt,
    };
    return Object.entries(expected)
      .filter(([name, value]) => task[name as keyof typeof expected] !== value)
      .map(
        ([name, value]) => `4: ${name} is ${task[name as keyof typeof expected]}, by its history ${value}`,
      );
  }
}
