import type { Clock, Timer } from '../../../base/clock.ts';
import type { Actor } from '../../model/task.ts';
import type { ClaimAnswer, ClaimedTask } from '../../store/requests.ts';

/** A call that asks for tasks of a pull worker. */
export interface LeaseRequest {
  readonly tenant: string;
  readonly workerId: string;
  readonly max: number;
  readonly waitMs: number;
  /** Null: the worker's. */
  readonly leaseMs: number | null;
  /** The caller, for the history. */
  readonly actor: Actor;
  readonly gone: AbortSignal;
  /**
   * Checks again that the caller may lease. Its access may have been revoked while it waited.
   * @throws (rejects with) what the caller is answered instead of tasks
   */
  readonly allowed: () => Promise<void>;
}

interface PullLineParts {
  /** Takes note of claims that are made, so that the store is not stopped before they are over. */
  readonly running: (claims: Promise<void>) => void;
  /** Asks the store for tasks of the worker. Null: it has none to give now. */
  readonly claim: (request: LeaseRequest) => Promise<ClaimAnswer | null>;
  /** Hands tasks back whose caller has gone, or may no longer lease, since they were asked for. */
  readonly handBack: (request: LeaseRequest, tasks: readonly ClaimedTask[]) => void;
  /** A caller waits no more. */
  readonly left: () => void;
  /** No call waits and no claim is in progress. */
  readonly idle: () => void;
  /** How long a task that another process made may go unnoticed. */
  readonly longestWaitMs: () => number;
  readonly clock: Clock;
}

/** One call that waits. */
interface Caller {
  readonly request: LeaseRequest;
  /** It does not wait: nothing found is its answer. */
  readonly late: boolean;
  /** How many claims were asked before it came. */
  readonly claimsBefore: number;
  timer: Timer | null;
  readonly resolve: (tasks: readonly ClaimedTask[]) => void;
  readonly reject: (failure: unknown) => void;
  readonly leave: () => void;
}

/** How often the store is asked at most. */
const SHORTEST_WAIT_MS = 10;

/**
 * The callers that wait for tasks of one pull worker, first come, first served. One claim is in progress at a time, and an
 * empty result counts for all of them, so a thousand callers cost no more than one.
 */
export class PullLine {
  readonly #parts: PullLineParts;
  readonly #callers = new Set<Caller>();
  #claiming = false;
  /** How many were asked. */
  #claims = 0;
  /** A task may have become available since the current claim began. */
  #again = false;
  #timer: Timer | null = null;
  #timerAtMs = 0;
  #blocked: ClaimAnswer['blocked'] = null;

  constructor(parts: PullLineParts) {
    this.#parts = parts;
  }

  /** The bound that kept the last claim from starting more. */
  get blocked(): ClaimAnswer['blocked'] {
    return this.#blocked;
  }

  /** @throws (rejects with) Fault when the store fails */
  wait(request: LeaseRequest): Promise<readonly ClaimedTask[]> {
    return new Promise((resolve, reject) => {
      const caller: Caller = {
        request,
        late: request.waitMs <= 0,
        claimsBefore: this.#claims,
        timer: null,
        resolve,
        reject,
        leave: () => this.#answer(caller, []),
      };
      if (!caller.late) {
        caller.timer = this.#parts.clock.after(request.waitMs, () => void this.#expired(caller));
      }
      request.gone.addEventListener('abort', caller.leave);
      this.#callers.add(caller);
      if (request.gone.aborted) caller.leave();
      else this.tryNow();
    });
  }

  /** There may be a task. */
  tryNow(): void {
    this.#again = true;
    if (!this.#claiming) this.#parts.running(this.#claim());
  }

  /** There may be a task after this delay. */
  tryIn(delayMs: number): void {
    const { clock, longestWaitMs } = this.#parts;
    const wait = Math.min(Math.max(delayMs, SHORTEST_WAIT_MS), longestWaitMs());
    const atMs = clock.nowMs() + wait;
    if (this.#timer !== null && this.#timerAtMs <= atMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    this.#timer = clock.after(wait, () => {
      this.#timer = null;
      this.tryNow();
    });
  }

  /** Answers all that wait. */
  close(): void {
    for (const caller of this.#callers) this.#answer(caller, []);
    this.#timer?.cancel();
    this.#timer = null;
  }

  async #claim(): Promise<void> {
    this.#claiming = true;
    this.#timer?.cancel();
    this.#timer = null;
    let waitMs = Number.POSITIVE_INFINITY;
    while (this.#again && this.#callers.size > 0) {
      this.#again = false;
      this.#claims++;
      const [caller] = this.#callers;
      try {
        const answer = await this.#parts.claim(caller.request);
        if (!(await this.#isAllowed(caller))) await this.#recheck();
        waitMs = this.#found(caller, answer);
      } catch (failure) {
        for (const each of this.#callers) this.#end(each, () => each.reject(failure));
      }
    }
    this.#claiming = false;
    if (this.#callers.size > 0) this.tryIn(waitMs);
    else this.#parts.idle();
  }

  /** Answers a caller that may no longer lease, and returns false. */
  async #isAllowed(caller: Caller): Promise<boolean> {
    try {
      await caller.request.allowed();
      return true;
    } catch (problem) {
      this.#end(caller, () => caller.reject(problem));
      return false;
    }
  }

  /** If access was revoked for one caller, it may be revoked for others. They are answered without a claim each. */
  async #recheck(): Promise<void> {
    this.#again = true;
    await Promise.all([...this.#callers].map(caller => this.#isAllowed(caller)));
  }

  async #expired(caller: Caller): Promise<void> {
    if (await this.#isAllowed(caller)) this.#answer(caller, []);
  }

  /** @returns how long to wait before the next claim */
  #found(caller: Caller, answer: ClaimAnswer | null): number {
    this.#blocked = answer?.blocked ?? null;
    const { tasks, now, nextAt } = answer ?? { tasks: [], now: 0, nextAt: null };
    if (tasks.length > 0) {
      if (this.#callers.has(caller)) this.#answer(caller, tasks);
      else this.#parts.handBack(caller.request, tasks);
    }
    const more = tasks.length > 0 && nextAt !== null && nextAt <= now;
    if (more) this.#again = true;
    else this.#answerLate();
    return nextAt === null ? Number.POSITIVE_INFINITY : nextAt - now;
  }

  /** Callers that arrived during the claim wait for the next one. */
  #answerLate(): void {
    for (const caller of this.#callers) {
      if (caller.late && caller.claimsBefore < this.#claims) this.#answer(caller, []);
    }
  }

  #answer(caller: Caller, tasks: readonly ClaimedTask[]): void {
    this.#end(caller, () => caller.resolve(tasks));
  }

  #end(caller: Caller, end: () => void): void {
    if (!this.#callers.delete(caller)) return;
    caller.timer?.cancel();
    caller.request.gone.removeEventListener('abort', caller.leave);
    end();
    this.#parts.left();
    if (this.#callers.size === 0 && !this.#claiming) this.#parts.idle();
  }
}
