import type { Clock } from '../base/clock.ts';
import { Fault } from '../base/fault.ts';
import type { Decider, DecisionReply } from '../decision/decider.ts';
import {
  type DescriptorStatus,
  decodeRateLimitResponse,
  encodeRateLimitRequest,
  type RequestDescriptor,
} from '../messages/client-codec.ts';
import type {
  LimitAsker,
  LimitQuestion,
  LimitVerdict,
  UnusedHits,
} from '../tasks/scheduler/attempts/start-limits.ts';
import { ReplyDeadlines } from './reply-deadlines.ts';
import type { StartRefunds } from './start-refunds.ts';

/** The domains whose limits workers may name. */
export interface LimitDomains {
  /** Descriptors get a first entry `tenant`, so each tenant has limits of its own. */
  readonly ofTenants: readonly string[];
  /** Descriptors are used unchanged, so tenants share limits with each other and with proxies. */
  readonly shared: readonly string[];
}

/** The key of the first entry of descriptors in domains that are not shared. */
const TENANT_KEY = 'tenant';

/** Sends starts of tasks to the decision engine as rate limit requests, as a proxy does with its own requests. */
export class DecidedStartLimits implements LimitAsker {
  readonly #decider: Decider;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #domains: LimitDomains;
  readonly #refunds: StartRefunds;
  readonly #deadlines: ReplyDeadlines;

  constructor(decider: Decider, domains: LimitDomains, refunds: StartRefunds, clock: Clock) {
    this.#decider = decider;
    this.#clock = clock;
    this.#domains = domains;
    this.#refunds = refunds;
    this.#deadlines = new ReplyDeadlines(clock);
  }

  /**
   * Asks for one decision with one hit per task, so that a part of the tasks can be granted with every store. All
   * decisions are requested in the same turn of the event loop and therefore become one batch.
   *
   * @throws (rejects with) Fault if the domain is not listed, or the decision fails or is not made in time
   */
  async ask(question: LimitQuestion): Promise<LimitVerdict> {
    const { tasks, limit } = question;
    const request = this.#request(question, { hitsAddend: tasks === 0 ? 0 : 1 });
    if (request === null) {
      throw new Fault('bad_request', `TASKS_LIMIT_DOMAINS does not list the domain "${limit.domain}"`);
    }
    const refundableUntilMs = this.#refunds.untilMs(request, this.#clock.nowMs());
    const tally = new Tally(this, question, refundableUntilMs, this.#clock);
    this.#deadlines.add(tally);
    for (let i = 0; i < tally.count; i++) this.#decider.decide(request, 'protobuf', tally);
    try {
      return await tally.verdict;
    } finally {
      this.#deadlines.answered(tally);
    }
  }

  giveBack(unused: UnusedHits): void {
    if (this.#clock.nowMs() > unused.refundableUntilMs) return;
    const request = this.#request(unused, { hitsAddend: unused.tasks, isNegativeHits: true });
    if (request === null) return;
    this.#decider.decide(request, 'protobuf', { caller: this, gone: false, answered() {}, refused() {} });
  }

  /** Null if workers may not name the domain. */
  #request(
    { tenant, limit }: LimitQuestion,
    hits: Pick<RequestDescriptor, 'hitsAddend' | 'isNegativeHits'>,
  ): Uint8Array | null {
    const { domain, descriptor } = limit;
    const isShared = this.#domains.shared.includes(domain);
    if (!isShared && !this.#domains.ofTenants.includes(domain)) return null;
    const entries = isShared ? descriptor : [{ key: TENANT_KEY, value: tenant }, ...descriptor];
    return encodeRateLimitRequest({
      domain,
      descriptors: [{ entries, limit: null, ...hits }],
      hitsAddend: 1,
    });
  }
}

/** Collects the decisions of one question. */
class Tally implements DecisionReply {
  /** Whether further decisions come too late. */
  gone = false;
  readonly caller: DecidedStartLimits;
  /** Number of decisions to wait for. */
  readonly count: number;
  readonly #question: LimitQuestion;
  readonly #refundableUntilMs: number;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #verdict = Promise.withResolvers<LimitVerdict>();
  readonly #askedMs: number;
  #left: number;
  #granted = 0;
  #isUsedUp = false;
  #isRead = false;
  /** The remaining hits after the first decision. */
  #firstLeft: number | null = null;
  #endsAtMs: number | null = null;
  #fault: Fault | null = null;

  constructor(
    caller: DecidedStartLimits,
    question: LimitQuestion,
    refundableUntilMs: number,
    clock: Pick<Clock, 'nowMs'>,
  ) {
    this.caller = caller;
    this.count = Math.max(1, question.tasks);
    this.#question = question;
    this.#refundableUntilMs = refundableUntilMs;
    this.#clock = clock;
    this.#left = this.count;
    this.#askedMs = Math.floor(clock.nowMs());
  }

  /** Rejects with a Fault if no task may start because a decision failed, or was not made in time. */
  get verdict(): Promise<LimitVerdict> {
    return this.#verdict.promise;
  }

  /** Whether the decisions count no hits. */
  get #onlyAsks(): boolean {
    return this.#question.tasks === 0;
  }

  answered(response: Uint8Array, overLimit: boolean): void {
    if (this.gone) {
      if (!overLimit && !this.#onlyAsks) this.#giveBackOne();
      return;
    }
    // All decisions are about the same limit, so the first response contains the window.
    if (!this.#isRead) this.#read(decodeRateLimitResponse(response).statuses[0]);
    if (overLimit) this.#isUsedUp = true;
    else if (!this.#onlyAsks) this.#granted++;
    this.#one();
  }

  refused(fault: Fault): void {
    this.#fault = fault;
    this.#one();
  }

  /** The tasks that were granted so far may start. */
  expired(fault: Fault): void {
    this.gone = true;
    this.#fault = fault;
    this.#end();
  }

  #read({ currentLimit, durationUntilReset, limitRemaining }: DescriptorStatus): void {
    this.#isRead = true;
    if (currentLimit === null || durationUntilReset === null) return;
    this.#firstLeft = limitRemaining;
    this.#endsAtMs = this.#endOf(durationUntilReset);
    if (this.#onlyAsks && limitRemaining === 0) this.#isUsedUp = true;
  }

  /** When the limit resets, in milliseconds since the epoch. Whole seconds count from the second of the question. */
  #endOf(seconds: number): number {
    const isWhole = Number.isInteger(seconds);
    return (isWhole ? this.#askedMs - (this.#askedMs % 1_000) : this.#askedMs) + Math.round(seconds * 1_000);
  }

  #one(): void {
    if (this.gone || --this.#left > 0) return;
    this.#end();
  }

  #end(): void {
    if (this.#fault !== null && this.#granted === 0) {
      this.#verdict.reject(this.#fault);
      return;
    }
    const refundableUntilMs = this.#refundableUntilMs;
    const endsAtMs = this.#endsAtMs;
    const window =
      endsAtMs === null ? null : { refundableUntilMs, leftMs: Math.max(1, endsAtMs - this.#clock.nowMs()) };
    this.#verdict.resolve({
      granted: this.#granted,
      isUsedUp: this.#isUsedUp,
      remaining: this.#remaining(),
      window,
    });
  }

  /** A task was granted too late. */
  #giveBackOne(): void {
    this.caller.giveBack({ ...this.#question, tasks: 1, refundableUntilMs: this.#refundableUntilMs });
  }

  /** Null if unknown. In shadow mode, more tasks can be granted than hits remain. */
  #remaining(): number | null {
    const first = this.#firstLeft;
    const others = Math.max(0, this.#granted - 1);
    return first === null || others > first ? null : first - others;
  }
}
