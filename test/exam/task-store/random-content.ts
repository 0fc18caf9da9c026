import type { OnFinish } from '../../../src/tasks/model/task.ts';
import { PRIORITIES } from '../../../src/tasks/model/task-content.ts';
import type { GivenTime } from '../../../src/tasks/model/time.ts';
import type { PutDocument } from '../../../src/tasks/store/documents.ts';
import type {
  ClaimRequest,
  NewTask,
  Progress,
  Settlement,
  TaskPatch,
} from '../../../src/tasks/store/requests.ts';
import type { ManualClock } from '../../support/manual-clock.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import { type Factory, PULLER, retryPolicy, settlement } from '../../support/tasks/factories.ts';

/** More than there ever is. */
export const ALL = 1_000;

const EVENTS: readonly Settlement['event'][] = [
  'succeeded',
  'succeeded',
  'attempt_failed',
  'attempt_failed',
  'timed_out',
  'lease_expired',
  'deferred',
  'released',
  'no_retry',
  'canceled',
];

const TOLD: readonly OnFinish['events'][] = [
  ['succeeded', 'failed', 'canceled', 'expired'],
  ['failed', 'expired'],
  ['succeeded'],
  ['canceled'],
];

const RATES = [
  { limit: 3, perMs: 10_000, burst: 3 },
  { limit: 7, perMs: 60_000, burst: 5 },
  { limit: 1, perMs: 1_000, burst: 2 },
];

/** What requests hold: few values each, so that they often meet. */
export class RandomContent {
  readonly #random: SeededRandom;
  readonly #make: Factory;
  readonly #clock: ManualClock;
  readonly #workers: readonly PutDocument<'worker'>[];
  /** Nominal times are not repeated. */
  #fired = 0;

  constructor(
    random: SeededRandom,
    make: Factory,
    clock: ManualClock,
    workers: readonly PutDocument<'worker'>[],
  ) {
    this.#workers = workers;
    this.#random = random;
    this.#make = make;
    this.#clock = clock;
  }

  #maybe(percent: number): boolean {
    return this.#random.below(100) < percent;
  }

  newTask(worker: PutDocument<'worker'>, heldBy: string | null): NewTask {
    const random = this.#random;
    const scheduleId = this.#maybe(25) ? random.pick(['sch_1', 'sch_2']) : null;
    return this.#make.newTask(
      worker,
      {
        ...this.#content(),
        ...(this.#maybe(3) ? { workerId: 'wrk_nobody' } : {}),
        runAt: this.#time(),
        key: this.#maybe(60) ? random.pick(['a', 'b', 'c']) : null,
        keyTtlMs: random.pick([0, 0, 30_000, 600_000]),
        heldBy,
        onFinish: this.#maybe(40) ? { workerId: worker.id, events: random.pick(TOLD) } : null,
        group: this.#maybe(50) ? random.pick(['a', 'b', 'c:1']) : null,
        scheduleId,
        scheduledFor: scheduleId === null ? null : ++this.#fired,
        createdBy: { type: 'token', id: random.pick(['tok_1', 'tok_2']) },
      },
      {
        body: { payload: random.pick([null, '1', '{"a":[1,2]}']), headers: random.pick([{}, { a: '1' }]) },
        ...this.manner(),
      },
    );
  }

  /** How a task is to be made. */
  manner(): Pick<NewTask, 'onConflict' | 'wake'> {
    const onConflict = this.#random.pick([
      'return',
      'reject',
      'replace',
      'replace',
      'replace_keep_time',
    ] as const);
    return { onConflict, wake: this.#maybe(50) };
  }

  #content() {
    const random = this.#random;
    return {
      type: random.pick([null, null, 'a', 'b']),
      priority: random.pick(PRIORITIES),
      expiresAt: this.#maybe(85) ? null : this.#fromNow(random.pick([0, 1_000, 60_000, 600_000])),
      timeoutMs: random.pick([1_000, 30_000, 600_000]),
      retry: retryPolicy({ maxAttempts: random.pick([1, 2, 3, 12]) }),
      tags: random.pick([[], ['a'], ['a', 'b']]),
      metadata: random.pick([{}, { a: '1' }]),
    };
  }

  /** Times are few, so that several tasks are due together. */
  #time(): GivenTime {
    if (this.#maybe(20)) return { afterMs: this.#random.pick([0, 0, 10_000, 60_000]) };
    const now = this.#clock.nowMs();
    const minute = Math.floor(now / 60_000) * 60_000;
    return this.#random.pick([now, now, minute, minute - 300_000, now + 10_000, minute + 120_000]);
  }

  /** As a time or as a delay. */
  #fromNow(ms: number): GivenTime {
    return this.#maybe(50) ? { afterMs: ms } : this.#clock.nowMs() + ms;
  }

  patch(): TaskPatch {
    const content = {
      ...this.#content(),
      runAt: this.#time(),
      payload: this.#random.pick([null, '1', '2']),
      headers: this.#random.pick([{}, { b: '2' }]),
    };
    const all = Object.entries(content);
    const chosen = all.filter(() => this.#maybe(20));
    return Object.fromEntries(chosen.length === 0 ? [this.#random.pick(all)] : chosen);
  }

  /**
   * The first worker's limit of groups changes from claim to claim; the second starts one task of a group after the other.
   * A change between these two orders takes effect later, and not at the same time in all stores.
   */
  groups(workerId: string): ClaimRequest['groups'] {
    const [first, second] = this.#workers;
    if (workerId === second.id) return { concurrency: 1, fifo: true };
    const limit = this.#random.pick([null, 1, 1, 2, 2, 3]);
    return workerId !== first.id || limit === null ? null : { concurrency: limit, fifo: false };
  }

  claimRequest(workerId: string): ClaimRequest {
    const random = this.#random;
    return this.#make.claimRequest(workerId, random.pick([0, 1, 2, 3, 10]), {
      lease: { mode: random.pick(['push', 'pull']), ms: random.pick([0, 5_000, 60_000]) },
      groups: this.groups(workerId),
      concurrency: this.#maybe(60) ? null : 1 + random.below(4),
      rate: this.#maybe(50) ? null : random.pick(RATES),
      tenantInFlight: random.pick([ALL, ALL, 3, 6]),
      tenantPerSecond: random.pick([ALL, ALL, 2, 5]),
    });
  }

  settlement(leaseId: string): Settlement {
    const random = this.#random;
    const event = random.pick(EVENTS);
    const failed = event !== 'succeeded' && this.#maybe(60);
    return settlement(leaseId, event, {
      delayMs: random.pick([0, 100, 5_000, 120_000]),
      last: this.#maybe(10),
      result: random.pick([null, '1']),
      error: failed
        ? { code: 'http_5xx', message: 'no', ...(this.#maybe(50) ? { httpStatus: 503 } : {}) }
        : null,
      http: this.#maybe(30) ? { status: 503, durationMs: 3, response: 'busy', truncated: false } : null,
      throttleMs: this.#maybe(20) ? random.pick([1_000, 60_000]) : 0,
    });
  }

  /** What to ask of `extend`, after the lease. */
  extension(): [ms: number | null, progress: Progress | null] {
    const random = this.#random;
    const progress = { percent: random.pick([null, 0, 50]), note: random.pick([null, 'n']), actor: PULLER };
    return [random.pick([null, 1_000, 60_000, 3_600_000]), this.#maybe(50) ? null : progress];
  }
}
