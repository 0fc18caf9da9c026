import { isDeepStrictEqual } from 'node:util';
import { recentlyUsed } from '../../../base/collections/recently-used.ts';
import { asError } from '../../../base/fault.ts';
import { Questions, type ThreadAnswer, threadAnswer } from '../../../base/threads/questions.ts';
import type { StartLimit } from '../../model/documents.ts';
import type { TasksThread } from '../thread/tasks-thread.ts';

/** Asks the decision service how many tasks of a worker may start. */
export interface LimitQuestion {
  readonly tenant: string;
  readonly limit: StartLimit;
  /** One hit is counted for each task. 0 counts nothing, and tells whether the limit is used up. */
  readonly tasks: number;
}

export interface LimitVerdict {
  /** How many tasks may start: their hits are counted. */
  readonly granted: number;
  /** No further task may start before the window of the limit ends. */
  readonly isUsedUp: boolean;
  /** How many more tasks may start in the window, as far as is known; null if there is no bound. */
  readonly remaining: number | null;
  /**
   * When the limit admits more tasks, from now on, and until when hits can be given back by the asker's clock; null if no
   * rule limits the descriptor.
   */
  readonly window: { readonly leftMs: number; readonly refundableUntilMs: number } | null;
}

/** Hits of tasks that did not start after all. */
export interface UnusedHits extends LimitQuestion {
  /** From the verdict. Hits are not given back later, for example when their window has ended. */
  readonly refundableUntilMs: number;
}

/** Asks the decision service about starts of tasks. */
export interface LimitAsker {
  /** @throws (rejects with) Error if there is no decision */
  ask(question: LimitQuestion): Promise<LimitVerdict>;
  giveBack(unused: UnusedHits): void;
}

/** Messages of a thread to the thread that has the decision engine. */
export type LimitAskMessage =
  | { readonly kind: 'limit_asked'; readonly ask: number; readonly question: LimitQuestion }
  | { readonly kind: 'limit_unused'; readonly unused: UnusedHits };

/** The answer to `limit_asked` with the same number. */
export interface LimitAnswerMessage {
  readonly kind: 'limit_answered';
  readonly ask: number;
  readonly answer: ThreadAnswer<LimitVerdict>;
}

/** Asks the decision service of another thread. */
export class AskedStartLimits implements LimitAsker {
  readonly #send: (message: LimitAskMessage) => void;
  readonly #questions = new Questions<LimitVerdict>();

  constructor(send: (message: LimitAskMessage) => void) {
    this.#send = send;
  }

  ask(question: LimitQuestion): Promise<LimitVerdict> {
    return this.#questions.ask(ask => this.#send({ kind: 'limit_asked', ask, question }));
  }

  giveBack(unused: UnusedHits): void {
    this.#send({ kind: 'limit_unused', unused });
  }

  heard({ ask, answer }: LimitAnswerMessage): void {
    this.#questions.answered(ask, answer);
  }
}

/** Passes a message of a thread on to `asker`. `answer` is called with the answer, if there is one. */
export function askForThread(
  asker: LimitAsker,
  message: LimitAskMessage,
  answer: (message: LimitAnswerMessage) => void,
): void {
  if (message.kind === 'limit_unused') {
    asker.giveBack(message.unused);
    return;
  }
  const { ask, question } = message;
  void threadAnswer(() => asker.ask(question)).then(given =>
    answer({ kind: 'limit_answered', ask, answer: given }),
  );
}

/** A worker whose starts the decision service limits. */
export interface LimitedWorker {
  readonly tenant: string;
  readonly workerId: string;
  readonly limit: StartLimit;
}

interface Entry {
  readonly worker: LimitedWorker;
  asking: boolean;
  /** Tasks that may start now, since `grantedAtMs`, and until when their hits can be given back. */
  granted: number;
  grantedAtMs: number;
  refundableUntilMs: number | null;
  /** Tasks that the claim in progress may start. */
  taken: number;
  /** How many to ask for next. */
  next: number;
  /** `remaining` of the last verdict. */
  remaining: number | null;
  waitUntilMs: number;
}

/** A worker that is forgotten asks again. */
const MAX_WORKERS = 50_000;
/** A worker asks again after this, however long the window is: hits may have been given back. */
const MAX_WAIT_MS = 60_000;
/** A window has surely ended this much after its end. */
const AFTER_END_MS = 5;
/** How long to wait after the decision service could not decide. */
const RETRY_MS = 1_000;
/** A permission that is older is given back: the tasks would start in another window than they were counted in. */
const FRESH_MS = 1_000;
/** Interval between the questions of workers that ask again because limits have changed. */
const APART_MS = 1;
/** Failed decisions are logged at most this often. */
const LOG_EVERY_MS = 60_000;

/**
 * Permissions of the decision service to start tasks of the workers of this thread. Callers ask before they claim: {@link ask}, then
 * {@link take}, a claim of at most the number that {@link take} returned, and {@link started}. Permissions of tasks that
 * did not start are given back.
 *
 * The first question of a worker is about one task. The number doubles while there are more tasks to start, so that at
 * most about half of what is counted has to be given back.
 */
export class StartLimits {
  readonly #thread: Pick<TasksThread, 'clock' | 'logger'>;
  readonly #asker: LimitAsker;
  readonly #entries = recentlyUsed<string, Entry>(MAX_WORKERS);
  #loggedMs = Number.NEGATIVE_INFINITY;
  #stopped = false;

  constructor(thread: Pick<TasksThread, 'clock' | 'logger'>, asker: LimitAsker) {
    this.#thread = thread;
    this.#asker = asker;
  }

  /** How long the worker must not start a task; 0 if it may, or if that is to be asked. */
  waitMs(tenant: string, workerId: string): number {
    if (this.#entries.size === 0) return 0;
    const entry = this.#entries.get(keyOf(tenant, workerId));
    if (entry === undefined || entry.granted > 0) return 0;
    const leftMs = entry.waitUntilMs - this.#thread.clock.nowMs();
    // A clock that is set back must not make it last.
    return leftMs > 0 && leftMs <= MAX_WAIT_MS + AFTER_END_MS ? leftMs : 0;
  }

  /** Tasks that may start without another question. */
  granted(tenant: string, workerId: string): number {
    return this.#entries.get(keyOf(tenant, workerId))?.granted ?? 0;
  }

  isAsking(tenant: string, workerId: string): boolean {
    return this.#entries.size > 0 && this.#entries.get(keyOf(tenant, workerId))?.asking === true;
  }

  /**
   * Asks how many tasks, up to `most`, may start. Never fails: if there is no decision, the worker waits a second.
   * One question of a worker at a time.
   */
  async ask(worker: LimitedWorker, most: number): Promise<void> {
    const { clock } = this.#thread;
    const { tenant, workerId, limit } = worker;
    const entry = this.#entryOf(worker);
    entry.asking = true;
    // Hits that are refused count, too, and keep those that are given back from being granted to others.
    const left = entry.remaining === null || entry.remaining === 0 ? most : entry.remaining;
    const tasks = Math.max(1, Math.min(entry.next, most, left));
    let verdict: LimitVerdict;
    try {
      verdict = await this.#asker.ask({ tenant, limit, tasks });
    } catch (failure) {
      this.#failed(entry, asError(failure).message);
      return;
    }
    entry.asking = false;
    entry.granted = verdict.granted;
    entry.remaining = verdict.remaining;
    entry.grantedAtMs = clock.nowMs();
    entry.refundableUntilMs = verdict.window?.refundableUntilMs ?? null;
    if (verdict.isUsedUp) {
      const leftMs = (verdict.window?.leftMs ?? RETRY_MS) + AFTER_END_MS;
      entry.waitUntilMs = clock.nowMs() + Math.min(leftMs, MAX_WAIT_MS);
    }
    // The worker has another limit by now, or the process stops.
    if (this.#stopped || this.#entries.get(keyOf(tenant, workerId)) !== entry) this.#giveBack(entry);
  }

  /** How many tasks, up to `most`, a claim may start now. To be followed by {@link started}. */
  take(tenant: string, workerId: string, most: number): number {
    const entry = this.#entries.get(keyOf(tenant, workerId));
    if (entry === undefined) return 0;
    const ageMs = this.#thread.clock.nowMs() - entry.grantedAtMs;
    if (ageMs < 0 || ageMs > FRESH_MS) this.#giveBack(entry);
    entry.taken = Math.min(entry.granted, most);
    entry.granted -= entry.taken;
    return entry.taken;
  }

  /**
   * Ends what {@link take} began.
   *
   * @param count tasks that have started
   * @param more whether others can start at once
   */
  started(tenant: string, workerId: string, count: number, more: boolean): void {
    const entry = this.#entries.get(keyOf(tenant, workerId));
    if (entry === undefined) return;
    const unused = entry.taken - count;
    entry.next = more && unused === 0 ? 2 * (entry.taken + entry.granted) : 1;
    if (unused > 0 || !more) {
      entry.granted += unused;
      this.#giveBack(entry);
    }
    entry.taken = 0;
    // All that is known of the worker is that it may ask.
    if (entry.next === 1 && entry.waitUntilMs === 0) this.#entries.delete(keyOf(tenant, workerId));
  }

  /**
   * Runs the claim between {@link take} and {@link started}. If it fails, no task starts, so all is given back.
   *
   * @throws (rejects with) what the claim rejects with
   */
  async during<T>(tenant: string, workerId: string, claim: () => Promise<T>): Promise<T> {
    try {
      return await claim();
    } catch (failure) {
      this.started(tenant, workerId, 0, false);
      throw failure;
    }
  }

  /** The worker may have another limit, or none. */
  forget(tenant: string, workerId: string): void {
    const entry = this.#entries.get(keyOf(tenant, workerId));
    if (entry === undefined) return;
    this.#entries.delete(keyOf(tenant, workerId));
    this.#giveBack(entry);
  }

  /** The document of the worker has this limit. Another process may have changed it. */
  limitIs({ tenant, workerId, limit }: LimitedWorker): void {
    const known = this.#entries.get(keyOf(tenant, workerId))?.worker.limit;
    if (known !== undefined && !isDeepStrictEqual(known, limit)) this.forget(tenant, workerId);
  }

  /**
   * Limits may have changed: the workers that wait ask again, one in each {@link APART_MS}, so that many of them do not
   * load the store at once. Returns them.
   */
  limitsChanged(): readonly LimitedWorker[] {
    const nowMs = this.#thread.clock.nowMs();
    const waiting = [...this.#entries.values()].filter(({ waitUntilMs }) => waitUntilMs > nowMs);
    for (const [i, entry] of waiting.entries()) {
      entry.waitUntilMs = Math.min(entry.waitUntilMs, nowMs + i * APART_MS);
    }
    return waiting.map(({ worker }) => worker);
  }

  /** Gives back what no task uses any more. */
  stop(): void {
    this.#stopped = true;
    for (const entry of this.#entries.values()) this.#giveBack(entry);
    this.#entries.clear();
  }

  #entryOf(worker: LimitedWorker): Entry {
    const key = keyOf(worker.tenant, worker.workerId);
    const known = this.#entries.get(key);
    // After a wait another window has begun, and what remains in it is not known.
    const { next, remaining } = known?.waitUntilMs === 0 ? known : UNKNOWN;
    const entry = { worker, next, remaining, ...NOTHING };
    if (known !== undefined) this.#giveBack(known);
    this.#entries.set(key, entry);
    return entry;
  }

  #failed(entry: Entry, reason: string): void {
    const { clock, logger } = this.#thread;
    const { tenant, workerId } = entry.worker;
    const nowMs = clock.nowMs();
    entry.asking = false;
    entry.waitUntilMs = nowMs + RETRY_MS;
    if (nowMs - this.#loggedMs < LOG_EVERY_MS && nowMs >= this.#loggedMs) return;
    this.#loggedMs = nowMs;
    logger.warning('Tasks wait because there is no decision about the limit of their worker; retrying', {
      tenant,
      worker: workerId,
      reason,
    });
  }

  #giveBack(entry: Entry): void {
    const { granted: tasks, refundableUntilMs, worker } = entry;
    entry.granted = 0;
    if (tasks === 0 || refundableUntilMs === null) return;
    this.#asker.giveBack({ tenant: worker.tenant, limit: worker.limit, tasks, refundableUntilMs });
  }
}

const UNKNOWN: Pick<Entry, 'next' | 'remaining'> = { next: 1, remaining: null };
const NOTHING = {
  asking: false,
  granted: 0,
  grantedAtMs: 0,
  refundableUntilMs: null,
  taken: 0,
  waitUntilMs: 0,
};

function keyOf(tenant: string, workerId: string): string {
  return `${tenant}\n${workerId}`;
}
