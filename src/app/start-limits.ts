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

/** The domains whose limits workers may name. */
export interface LimitDomains {
  /** Descriptors begin with an entry `tenant`, so each tenant has limits of its own. */
  readonly ofTenants: readonly string[];
  /** Descriptors are what the worker says, so tenants share limits with each other and with proxies. */
  readonly shared: readonly string[];
}

/** The key of the first entry of descriptors in domains that are not shared. */
const TENANT_KEY = 'tenant';

/**
 * Hits are given back only if the window lasts at least this much longer. Later they could come off the next window,
 * in which they were not counted.
 */
const LEAST_WINDOW_MS = 1_000;

/** Asks the decision engine about starts of tasks, as a proxy would ask it about requests. */
export class DecidedStartLimits implements LimitAsker {
  readonly #decider: Decider;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #domains: LimitDomains;

  constructor(decider: Decider, clock: Pick<Clock, 'nowMs'>, domains: LimitDomains) {
    this.#decider = decider;
    this.#clock = clock;
    this.#domains = domains;
  }

  /**
   * Each task is a decision about one hit, so that a part of them can be granted in every mode of the store. They are
   * asked in one turn, and so are one batch.
   *
   * @throws (rejects with) Fault if the domain is not listed, or there is no decision
   */
  async ask(question: LimitQuestion): Promise<LimitVerdict> {
    const { tasks, limit } = question;
    const request = this.#request(question, { hitsAddend: tasks === 0 ? 0 : 1 });
    if (request === null) {
      throw new Fault('bad_request', `TASKS_LIMIT_DOMAINS does not list the domain "${limit.domain}"`);
    }
    return new Promise((resolve, reject) => {
      const count = Math.max(1, tasks);
      const tally = new Tally({
        clock: this.#clock,
        caller: this,
        count,
        onlyAsks: tasks === 0,
        resolve,
        reject,
      });
      for (let i = 0; i < count; i++) this.#decider.decide(request, 'protobuf', tally);
    });
  }

  giveBack(unused: UnusedHits): void {
    if (unused.endsAtMs - this.#clock.nowMs() < LEAST_WINDOW_MS) return;
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

interface TallyParts {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly caller: object;
  /** How many decisions there will be. */
  readonly count: number;
  /** The decisions count no hits. */
  readonly onlyAsks: boolean;
  readonly resolve: (verdict: LimitVerdict) => void;
  readonly reject: (fault: Fault) => void;
}

/** Takes the decisions about the tasks of one question. */
class Tally implements DecisionReply {
  readonly gone = false;
  readonly caller: object;
  readonly #parts: TallyParts;
  /** A window that is taken to end too early only delays a refund; one that is taken to end too late spoils another. */
  readonly #askedS: number;
  #left: number;
  #granted = 0;
  #isUsedUp = false;
  #isRead = false;
  /** What the first decision left. */
  #firstLeft: number | null = null;
  #endsAtMs: number | null = null;
  #fault: Fault | null = null;

  constructor(parts: TallyParts) {
    this.#parts = parts;
    this.caller = parts.caller;
    this.#left = parts.count;
    this.#askedS = Math.floor(parts.clock.nowMs() / 1_000);
  }

  answered(response: Uint8Array, overLimit: boolean): void {
    // All are about the same limit: its window is in the first answer.
    if (!this.#isRead) this.#read(decodeRateLimitResponse(response).statuses[0]);
    if (overLimit) this.#isUsedUp = true;
    else if (!this.#parts.onlyAsks) this.#granted++;
    this.#one();
  }

  refused(fault: Fault): void {
    this.#fault = fault;
    this.#one();
  }

  #read({ currentLimit, durationUntilReset, limitRemaining }: DescriptorStatus): void {
    this.#isRead = true;
    if (currentLimit === null || durationUntilReset === null) return;
    this.#firstLeft = limitRemaining;
    this.#endsAtMs = (this.#askedS + durationUntilReset) * 1_000;
    if (this.#parts.onlyAsks && limitRemaining === 0) this.#isUsedUp = true;
  }

  #one(): void {
    if (--this.#left > 0) return;
    const { clock, resolve, reject } = this.#parts;
    if (this.#fault !== null && this.#granted === 0) {
      reject(this.#fault);
      return;
    }
    const endsAtMs = this.#endsAtMs;
    const window = endsAtMs === null ? null : { endsAtMs, leftMs: Math.max(1, endsAtMs - clock.nowMs()) };
    resolve({ granted: this.#granted, isUsedUp: this.#isUsedUp, remaining: this.#remaining(), window });
  }

  /** Rules in shadow mode grant more than is left. */
  #remaining(): number | null {
    const first = this.#firstLeft;
    const others = Math.max(0, this.#granted - 1);
    return first === null || others > first ? null : first - others;
  }
}
