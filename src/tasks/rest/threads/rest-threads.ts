import type { Service } from '../../../base/lifecycle.ts';
import type { LogFields } from '../../../base/logger.ts';
import type { HeardMessage, LastingThread } from '../../../base/threads/lasting-thread.ts';
import { LastingThreads, type ThreadCreation } from '../../../base/threads/lasting-threads.ts';
import { threadAnswer } from '../../../base/threads/questions.ts';
import type { ThreadsStats } from '../../../stats/thread-stats.ts';
import type { WorkerTest, WorkerTester } from '../../scheduler/workers/worker-tests.ts';
import type { Problem } from '../checks/problem.ts';
import { CALL_BOUNDS, type PlaceBounds, Places } from '../http/bounded.ts';
import type { HeldBody, RenderedResponse, RestCall, RestHead, RestReply } from '../http/http.ts';
import type { ApiCall } from '../http/parts.ts';
import { problemResponse } from '../http/problem-answer.ts';
import { requestIdOf } from '../http/request-headers.ts';
import type { RelayTarget } from './call-relay.ts';
import { EarlyLimits, type EngineLimits } from './early-limits.ts';
import type { FromRestThread, ToRestThread, TurnFromRestThread } from './messages.ts';
import { ThreadCalls } from './thread-calls.ts';
import type { ThreadLinks } from './thread-links.ts';

/** A thread that exceeds this memory limit ends and is replaced. The process continues. */
const RESOURCES = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 48 };
/** The route under which answers are counted that no route produced. */
const UNKNOWN = 'unknown';

/** The module is `workers/rest.ts`. */
interface RestThreadsParts extends ThreadCreation {
  /** Returns the tenant of a call. It selects the thread and the queue of the call. */
  readonly tenantOf: (head: RestHead) => string;
  readonly limits: EngineLimits;
  readonly tester: WorkerTester;
  readonly links: ThreadLinks;
  readonly nextRequestId: () => string;
  /** Counts responses that no thread has made. */
  readonly answered: (operation: string, status: number) => void;
  /** Adds up the statistics of the threads. */
  readonly stats: ThreadsStats;
  readonly bounds?: PlaceBounds;
}

type RestThread = LastingThread<ToRestThread>;

/**
 * The REST interface in separate threads, as seen by the thread that has the connections. The queue of each thread is
 * bounded and fair to tenants. If a thread dies, only the calls that it had received are lost. All calls of a tenant go
 * to the same thread, which keeps them in order and caches the tenant's data.
 */
export class RestThreads implements RelayTarget, Service {
  readonly name: string;
  readonly #parts: RestThreadsParts;
  readonly #threads: LastingThreads<ToRestThread, FromRestThread>;
  readonly #places: Places;
  readonly #limits: EarlyLimits;
  /** Indexed by the place of the thread. */
  readonly #calls: readonly ThreadCalls[];
  readonly #ready = new Set<RestThread>();
  #publicPort = 0;
  #draining = false;

  constructor(parts: RestThreadsParts) {
    this.#parts = parts;
    this.#places = new Places(parts.bounds ?? CALL_BOUNDS);
    this.#limits = new EarlyLimits(parts.limits);
    const refuse = (reply: RestReply, head: RestHead, problem: Problem): void =>
      reply.answered(this.refused(head, problem));
    this.#calls = Array.from(
      { length: parts.count },
      () => new ThreadCalls(this.#places, this.#limits, refuse),
    );
    this.#threads = new LastingThreads<ToRestThread, FromRestThread>({
      ...parts,
      what: 'REST thread',
      resourceLimits: RESOURCES,
      ready: thread => this.#begins(thread),
      heard: (thread, message) => this.#heard(thread, message),
      isAwaited: ({ place }) => this.#calls[place].isAwaited,
      ended: (thread, wasReady) => this.#ended(thread, wasReady),
      lost: place => {
        parts.lost(place);
        parts.stats.ended(place);
      },
    });
    this.name = this.#threads.name;
  }

  /** Number of threads that accept calls. */
  get ready(): number {
    return this.#ready.size;
  }

  /** Number of calls that wait or run, without calls that wait for an event. */
  get pending(): number {
    return this.#places.calls;
  }

  /** @throws Error if the first thread does not start */
  start(): Promise<void> {
    return this.#threads.start();
  }

  stop(): Promise<void> {
    return this.#threads.stop();
  }

  /** Sets the port that URLs in answers contain. */
  listeningOn(port: number): void {
    this.#publicPort = port;
    for (const thread of this.#ready) thread.post({ kind: 'listening', port });
  }

  /** Stops handing out leases, and answers the calls that wait for one. */
  drain(): void {
    this.#draining = true;
    for (const thread of this.#ready) thread.post({ kind: 'drain' });
  }

  begin(head: RestHead, body: readonly Uint8Array[] | HeldBody, reply: RestReply): RestCall {
    const tenant = this.#parts.tenantOf(head);
    return this.#calls[placeOf(tenant, this.#calls.length)].begin(tenant, head, body, reply);
  }

  refused(head: RestHead, problem: Problem): RenderedResponse {
    this.countRefusal(problem.status);
    return problemResponse(problem, requestIdOf(head, this.#parts.nextRequestId));
  }

  countRefusal(status: number): void {
    this.#parts.answered(UNKNOWN, status);
  }

  #begins(thread: RestThread): void {
    const calls = this.#calls[thread.place];
    this.#ready.add(thread);
    this.#parts.links.connect(thread);
    if (this.#publicPort !== 0) thread.post({ kind: 'listening', port: this.#publicPort });
    if (this.#draining) thread.post({ kind: 'drain' });
    calls.attach(thread);
  }

  #ended(thread: RestThread, wasReady: boolean): LogFields {
    this.#ready.delete(thread);
    this.#parts.links.disconnect(thread);
    // A thread that failed to start may be replaced only after a delay.
    const isNextSoon = wasReady && !this.#threads.stopped;
    return { calls: this.#calls[thread.place].detach(isNextSoon) };
  }

  #heard(thread: RestThread, message: HeardMessage<FromRestThread>): void {
    switch (message.kind) {
      case 'turn':
        this.#turn(thread, message);
        break;
      case 'stats':
        this.#parts.stats.add(thread.place, message.stats);
        break;
      default:
        this.#parts.links.heard(thread, message);
    }
  }

  #turn(thread: RestThread, turn: TurnFromRestThread): void {
    for (const [ask, call, authorization] of turn.asks) void this.#ask(thread, ask, call, authorization);
    for (const [ask, test] of turn.tests) void this.#test(thread, ask, test);
    this.#calls[thread.place].heard(turn);
  }

  async #test(thread: RestThread, ask: number, test: WorkerTest): Promise<void> {
    const answer = await threadAnswer(() => this.#parts.tester.test(test));
    if (this.#ready.has(thread)) this.#calls[thread.place].turn?.tested.push([ask, answer]);
  }

  async #ask(thread: RestThread, ask: number, call: ApiCall, authorization: string): Promise<void> {
    const verdict = await this.#limits.ask(call, authorization);
    if (this.#ready.has(thread)) this.#calls[thread.place].turn?.verdicts.push([ask, verdict]);
  }
}

/** Selects the same thread for all calls of a tenant. */
function placeOf(tenant: string, count: number): number {
  if (count === 1) return 0;
  let hash = 0;
  for (let i = 0; i < tenant.length; i++) hash = (Math.imul(hash, 31) + tenant.charCodeAt(i)) >>> 0;
  return hash % count;
}
