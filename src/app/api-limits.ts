import type { Fault } from '../base/fault.ts';
import type { Decider, DecisionReply } from '../decision/decider.ts';
import {
  type DescriptorStatus,
  decodeRateLimitResponse,
  encodeRateLimitRequest,
  type RequestDescriptor,
} from '../messages/client-codec.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import type { ApiCall, ApiLimitVerdict } from '../tasks/rest/http/parts.ts';
import type { EngineLimits } from '../tasks/rest/threads/early-limits.ts';

/** The domain of the rules for calls of the tasks API; `ops/quickstart/config/sluice_api.yaml` is what it can look like. */
const API_DOMAIN = 'sluice_api';
const DOMAIN_BYTES = new TextEncoder().encode(API_DOMAIN);

/** The value of `user` for calls without a valid token: no user has such an id. */
const ANONYMOUS = 'anonymous';

/** Seconds of a unit, by its number in `RateLimitResponse.RateLimit.Unit`. */
const UNIT_SECONDS = [0, 1, 60, 3_600, 86_400, 2_592_000, 31_536_000, 604_800];

/** Asks the decision engine about calls of tenants, as a proxy would ask it about its own. */
export class DecidedApiLimits implements EngineLimits {
  readonly #decider: Decider;
  readonly #rules: () => CompiledRules | null;
  /** The rules that {@link active} looked at last, and what it found. */
  #seen: CompiledRules | null = null;
  #isActive = true;
  /** Callers come again, and then with the same object. */
  readonly #encoded = new WeakMap<ApiCall, Uint8Array>();

  /** @param rules returns the rules that the decider uses; null before the first ones are loaded */
  constructor(decider: Decider, rules: () => CompiledRules | null) {
    this.#decider = decider;
    this.#rules = rules;
  }

  get active(): boolean {
    const rules = this.#rules();
    if (rules !== this.#seen) {
      this.#seen = rules;
      this.#isActive = rules === null || rules.domainLevel(DOMAIN_BYTES, 0, DOMAIN_BYTES.length) !== -1;
    }
    return this.#isActive;
  }

  /** @throws (rejects with) Fault when there is no decision */
  ask(call: ApiCall): Promise<ApiLimitVerdict> {
    const request = this.#requestOf(call);
    return new Promise((resolve, reject) => {
      this.#decider.decide(request, 'protobuf', new VerdictReply(resolve, reject));
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
 * `(tenant, method)`, the same with `span: burst`, which rules with a shorter window can take, and `(tenant, user)`.
 * Calls without a valid token have the last one only: anybody can make them, and would use up what the tenant has.
 * Those that make accounts have no tenant yet, and are counted as one that is called `accounts`.
 */
function descriptorsOf({ tenant, kind, user }: ApiCall): readonly RequestDescriptor[] {
  const method = { tenant, method: kind };
  const caller = descriptor({ tenant, user: user === '' ? ANONYMOUS : user });
  if (user === '' && tenant !== 'accounts') return [caller];
  return [descriptor(method), descriptor({ ...method, span: 'burst' }), caller];
}

function descriptor(entries: Readonly<Record<string, string>>): RequestDescriptor {
  return {
    entries: Object.entries(entries).map(([key, value]) => ({ key, value })),
    limit: null,
    hitsAddend: null,
  };
}

class VerdictReply implements DecisionReply {
  readonly gone = false;
  readonly #resolve: (verdict: ApiLimitVerdict) => void;
  readonly #reject: (fault: Fault) => void;

  constructor(resolve: (verdict: ApiLimitVerdict) => void, reject: (fault: Fault) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  answered(response: Uint8Array, overLimit: boolean): void {
    this.#resolve({ allowed: !overLimit, nearest: nearestOf(decodeRateLimitResponse(response).statuses) });
  }

  refused(fault: Fault): void {
    this.#reject(fault);
  }
}

const OVER_LIMIT = 2;

/** The limit of which the least part is left; of those that are exceeded, the one that lasts longest. */
function nearestOf(statuses: readonly DescriptorStatus[]): ApiLimitVerdict['nearest'] {
  let nearest: ApiLimitVerdict['nearest'] = null;
  let leastLeft = Number.POSITIVE_INFINITY;
  for (const { code, currentLimit, limitRemaining, durationUntilReset } of statuses) {
    if (currentLimit === null) continue;
    const resetSeconds = durationUntilReset ?? 0;
    const limit = currentLimit.requestsPerUnit;
    const left = code === OVER_LIMIT ? -1 - resetSeconds : limitRemaining / Math.max(limit, 1);
    if (left >= leastLeft) continue;
    leastLeft = left;
    const windowSeconds = UNIT_SECONDS[currentLimit.unit] ?? 0;
    nearest = { limit, remaining: limitRemaining, windowSeconds, resetSeconds };
  }
  return nearest;
}
