import type { Clock } from '../base/clock.ts';
import type { Fault } from '../base/fault.ts';
import type { Decider, DecisionReply } from '../decision/decider.ts';
import {
  type DescriptorStatus,
  decodeRateLimitResponse,
  encodeRateLimitRequest,
  type RequestDescriptor,
} from '../messages/client-codec.ts';
import { UNIT_SECONDS } from '../messages/current-limit.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import { type ApiCall, type ApiLimitVerdict, OPERATOR } from '../tasks/rest/http/parts.ts';
import type { EngineLimits } from '../tasks/rest/threads/early-limits.ts';
import { ReplyDeadlines } from './reply-deadlines.ts';

/** The domain of the rules for calls of the tasks API. `ops/quickstart/config/sluice_api.yaml` is an example. */
const API_DOMAIN = 'sluice_api';
const DOMAIN_BYTES = new TextEncoder().encode(API_DOMAIN);

/** The value of `user` for calls without a valid token. Ids of users never look like this. */
const ANONYMOUS = 'anonymous';

/** Sends calls of tenants to the decision engine as rate limit requests, as a proxy does with its own requests. */
export class DecidedApiLimits implements EngineLimits {
  readonly #decider: Decider;
  readonly #rules: () => CompiledRules | null;
  readonly #deadlines: ReplyDeadlines;
  /** The rules that {@link active} checked last, and what it found. */
  #seen: CompiledRules | null = null;
  #isActive = true;
  /** Whether the unit in an answer is the window of the limit. */
  #tellsWindows = true;
  /** Encoded requests. Repeated calls of a caller pass the same object. */
  readonly #encoded = new WeakMap<ApiCall, Uint8Array>();

  /** @param rules returns the rules that the decider uses; null before the first rules are loaded */
  constructor(decider: Decider, rules: () => CompiledRules | null, clock: Clock) {
    this.#decider = decider;
    this.#rules = rules;
    this.#deadlines = new ReplyDeadlines(clock);
  }

  get active(): boolean {
    const rules = this.#rules();
    if (rules !== this.#seen) {
      this.#seen = rules;
      this.#isActive = rules === null || rules.domainLevel(DOMAIN_BYTES, 0, DOMAIN_BYTES.length) !== -1;
      this.#tellsWindows = rules === null || !this.#isActive || !rules.hasTermsIn(API_DOMAIN);
    }
    return this.#isActive;
  }

  /** @throws (rejects with) Fault if the decision fails, or is not made in time */
  ask(call: ApiCall): Promise<ApiLimitVerdict> {
    const request = this.#requestOf(call);
    return new Promise((resolve, reject) => {
      const reply = new VerdictReply(this.#deadlines, this.#tellsWindows, { resolve, reject });
      this.#deadlines.add(reply);
      this.#decider.decide(request, 'protobuf', reply);
    });
  }

  #requestOf(call: ApiCall): Uint8Array {
    const known = this.#encoded.get(call);
    if (known !== undefined) return known;
    const request = encodeRateLimitRequest({
      domain: API_DOMAIN,
      descriptors: descriptorsOf(call),
      hitsAddend: 1,
    });
    this.#encoded.set(call, request);
    return request;
  }
}

/**
 * Returns the descriptors `(tenant, method)`, `(tenant, method, span: burst)` for rules with a shorter window, and
 * `(tenant, user)`. Calls without a valid token only have the last one: anybody can make them, so they must not use up
 * the limits of the tenant. Calls for accounts have no tenant and use the tenant name `accounts`; those of the operator
 * only have the last one as well, because anybody can use up the others.
 */
function descriptorsOf({ tenant, kind, user, onlyAsks }: ApiCall): readonly RequestDescriptor[] {
  const method = { tenant, method: kind };
  const hitsAddend = onlyAsks === true ? 0 : null;
  const caller = descriptor({ tenant, user: user === '' ? ANONYMOUS : user }, hitsAddend);
  if ((user === '' && tenant !== 'accounts') || user === OPERATOR) return [caller];
  return [descriptor(method, hitsAddend), descriptor({ ...method, span: 'burst' }, hitsAddend), caller];
}

function descriptor(
  entries: Readonly<Record<string, string>>,
  hitsAddend: RequestDescriptor['hitsAddend'],
): RequestDescriptor {
  return {
    entries: Object.entries(entries).map(([key, value]) => ({ key, value })),
    limit: null,
    hitsAddend,
  };
}

interface VerdictListener {
  resolve(verdict: ApiLimitVerdict): void;
  reject(fault: Fault): void;
}

class VerdictReply implements DecisionReply {
  /** Whether the verdict comes too late. */
  gone = false;
  readonly #deadlines: ReplyDeadlines;
  readonly #tellsWindow: boolean;
  readonly #listener: VerdictListener;

  constructor(deadlines: ReplyDeadlines, tellsWindow: boolean, listener: VerdictListener) {
    this.#deadlines = deadlines;
    this.#tellsWindow = tellsWindow;
    this.#listener = listener;
  }

  answered(response: Uint8Array, overLimit: boolean): void {
    this.#deadlines.answered(this);
    const nearest = nearestOf(decodeRateLimitResponse(response).statuses);
    const windowSeconds = this.#tellsWindow ? (nearest?.windowSeconds ?? null) : null;
    this.#listener.resolve({ allowed: !overLimit, nearest: nearest && { ...nearest, windowSeconds } });
  }

  refused(fault: Fault): void {
    this.#deadlines.answered(this);
    this.#listener.reject(fault);
  }

  expired(fault: Fault): void {
    this.gone = true;
    this.#listener.reject(fault);
  }
}

const OVER_LIMIT = 2;

/**
 * Returns the limit with the smallest remaining share. If limits are exceeded, the one that resets last is returned.
 */
function nearestOf(statuses: readonly DescriptorStatus[]): ApiLimitVerdict['nearest'] {
  let nearest: ApiLimitVerdict['nearest'] = null;
  let leastLeft = Number.POSITIVE_INFINITY;
  for (const { code, currentLimit, limitRemaining, durationUntilReset } of statuses) {
    if (currentLimit === null) continue;
    // A token bucket can get its next token within a second.
    const resetSeconds = Math.ceil(durationUntilReset ?? 0);
    const limit = currentLimit.requestsPerUnit;
    const left = code === OVER_LIMIT ? -1 - resetSeconds : limitRemaining / Math.max(limit, 1);
    if (left >= leastLeft) continue;
    leastLeft = left;
    const windowSeconds = UNIT_SECONDS[currentLimit.unit] ?? 0;
    nearest = { limit, remaining: limitRemaining, windowSeconds, resetSeconds };
  }
  return nearest;
}
