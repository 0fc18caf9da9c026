import { recentlyUsed } from '../../../base/collections/recently-used.ts';
import { type Deliveries, type DeliveryOutcome, HIDDEN } from '../../delivery/delivery.ts';
import { verdictOn } from '../../delivery/verdict.ts';
import type { Worker } from '../../model/documents.ts';
import type { Settlement } from '../../store/requests.ts';
import type { ThreadPart } from '../thread/tasks-thread.ts';
import type { WorkerBook } from './worker-book.ts';
import type { WorkerSecrets } from './worker-secrets.ts';

/** A request that is sent to a push worker as an attempt would be, and stored nowhere. Plain data. */
export interface WorkerTest {
  readonly tenant: string;
  readonly workerId: string;
  /** An id that no task has; it is sent as `webhook-id`. */
  readonly id: string;
  /** For a worker whose tasks name their URLs; null for the URL of the worker. */
  readonly url: string | null;
  /** As tasks have it; null for an empty body. */
  readonly payload: string | null;
}

/** The result of a test. Plain data, without secrets. */
export type WorkerTestAnswer =
  | { readonly kind: 'sent'; readonly outcome: DeliveryOutcome; readonly event: Settlement['event'] }
  /** The worker was deleted, pulls, or has a secret that cannot be decrypted. */
  | { readonly kind: 'impossible'; readonly reason: 'gone' | 'not_pushed' | 'secrets_unreadable' }
  /** The tenant has made too many tests, or all deliveries are busy. */
  | { readonly kind: 'refused'; readonly reason: 'rate' | 'busy'; readonly retryAfterMs: number };

/** Sends tests to workers. */
export interface WorkerTester {
  /** @throws (rejects with) Fault when the store fails */
  test(test: WorkerTest): Promise<WorkerTestAnswer>;
}

/** Maximum duration of a test. The caller waits for it. */
const MAX_TEST_MS = 20_000;
/** Maximum number of tests in progress: those of one tenant, and all, which have deliveries of their own. */
const MAX_OF_TENANT = 2;
export const MAX_TESTS = 8;
/** A tenant may send a test this often, and this many at once after a pause. */
const EVERY_MS = 6_000;
const BURST = 5;
const MAX_TENANTS = 10_000;
const BUSY_MS = 1_000;

/** Sends tests through the threads that deliver tasks, with the checks that tasks get, within bounds of its own. */
export class WorkerTests implements WorkerTester {
  readonly #thread: ThreadPart<'getDocument', 'statistics' | 'clock' | 'random'>;
  readonly #book: Pick<WorkerBook, 'openSecrets'>;
  readonly #deliveries: Pick<Deliveries, 'deliver' | 'free'>;
  /** When the allowance of a tenant will be whole again, in milliseconds since the epoch. */
  readonly #wholeAt = recentlyUsed<string, number>(MAX_TENANTS);
  /** Tests in progress, by tenant. */
  readonly #running = new Map<string, number>();
  #runningInAll = 0;

  constructor(
    thread: ThreadPart<'getDocument', 'statistics' | 'clock' | 'random'>,
    book: Pick<WorkerBook, 'openSecrets'>,
    deliveries: Pick<Deliveries, 'deliver' | 'free'>,
  ) {
    this.#thread = thread;
    this.#book = book;
    this.#deliveries = deliveries;
  }

  async test(test: WorkerTest): Promise<WorkerTestAnswer> {
    const { tenant } = test;
    const ofTenant = this.#running.get(tenant) ?? 0;
    if (ofTenant >= MAX_OF_TENANT || this.#runningInAll >= MAX_TESTS || this.#deliveries.free < 1) {
      return { kind: 'refused', reason: 'busy', retryAfterMs: BUSY_MS };
    }
    const waitMs = this.#take(tenant);
    if (waitMs > 0) return { kind: 'refused', reason: 'rate', retryAfterMs: waitMs };
    this.#running.set(tenant, ofTenant + 1);
    this.#runningInAll++;
    try {
      return await this.#send(test);
    } finally {
      this.#runningInAll--;
      const left = this.#running.get(tenant)! - 1;
      if (left === 0) this.#running.delete(tenant);
      else this.#running.set(tenant, left);
    }
  }

  /** Takes one test from the allowance of a tenant. @returns 0, or how long until there is one */
  #take(tenant: string): number {
    const nowMs = this.#thread.clock.nowMs();
    const kept = this.#wholeAt.get(tenant) ?? 0;
    // Farther ahead than any allowance: the clock was set back.
    const wholeAt = kept > nowMs + BURST * EVERY_MS ? nowMs : Math.max(kept, nowMs);
    const waitMs = wholeAt - nowMs - (BURST - 1) * EVERY_MS;
    if (waitMs > 0) return waitMs;
    this.#wholeAt.set(tenant, wholeAt + EVERY_MS);
    return 0;
  }

  async #send({ tenant, workerId, id, url, payload }: WorkerTest): Promise<WorkerTestAnswer> {
    const { store, clock, random, statistics } = this.#thread;
    const [account, document] = await Promise.all([
      store.getDocument(tenant, 'account', 'account'),
      store.getDocument(tenant, 'worker', workerId),
    ]);
    if (account === null || document === null) return { kind: 'impossible', reason: 'gone' };
    const worker = document.body;
    if (worker.mode !== 'push') return { kind: 'impossible', reason: 'not_pushed' };
    const secrets = await this.#book.openSecrets(tenant, workerId, account.body);
    if (secrets === null) return { kind: 'impossible', reason: 'secrets_unreadable' };
    const nowMs = clock.nowMs();
    const { taskUrls = false } = worker;
    const secretHeaders = taskUrls ? {} : secrets.headers(nowMs);
    const outcome = await this.#deliveries.deliver({
      tenant,
      task: testTask(id, worker, nowMs),
      payload,
      headers: {},
      worker: taskUrls ? { ...worker, url } : worker,
      signing: secrets.signing(nowMs),
      secretHeaders,
      trace: null,
      isTest: true,
    });
    const task = { retry: worker.retry, attempt: 1, startedAt: nowMs };
    const { event } = verdictOn(outcome, { task, worker, nowMs: clock.nowMs(), random });
    statistics.workerTests(event).add(1);
    return { kind: 'sent', outcome: withoutSecrets(outcome, secrets, nowMs), event };
  }
}

function testTask(id: string, { timeoutMs, retry }: Worker, nowMs: number) {
  return {
    id,
    type: null,
    attempt: 1,
    timeoutMs: Math.min(timeoutMs, MAX_TEST_MS),
    runAt: nowMs,
    scheduledFor: null,
    retry,
  };
}

/** Hides secrets that the worker sent back. */
function withoutSecrets(outcome: DeliveryOutcome, secrets: WorkerSecrets, nowMs: number): DeliveryOutcome {
  const { http } = outcome;
  if (http === null) return { ...outcome, result: null };
  let { response } = http;
  for (const value of [...secrets.signing(nowMs), ...Object.values(secrets.headers(nowMs))]) {
    if (value !== '') response = response.replaceAll(value, HIDDEN);
  }
  return { ...outcome, result: null, http: { ...http, response } };
}
