import { SECOND_MS } from '../../base/clock.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { LIMIT_FLAG } from '../../rules/layout.ts';
import {
  CODE,
  type DecisionBatch,
  type DecisionTable,
  endOfLimits,
  firstLimit,
  isLimited,
  KIND,
} from '../batch.ts';
import { bindsMore } from '../binding-limit.ts';
import { type GlobalModes, isQuota } from '../overall-code.ts';
import { overridePolicy, Policies, type Policy } from './policies.ts';

/** Maximum number of policies of an answer, so that its headers stay short. Violated policies come first. */
export const MAX_POLICIES = 8;

/** Which policies an answer shows. */
export const SHOWN = { none: 0, violated: 1, all: 2 } as const;

/**
 * The limits that an answer shows. Filled for one answer at a time.
 *
 * Limits in shadow mode are no policies: callers need not comply with them.
 */
export class ShownLimits {
  /** The first `count` rows have policies with different names. The first `violatedCount` of them are violated. */
  readonly rows = new Int32Array(MAX_POLICIES);
  readonly policies: Policy[] = [];
  count = 0;
  violatedCount = 0;
  /** The descriptor whose limit or ban decides the answer; -1 if there is none. */
  deciding = -1;
  /** Whole seconds until all violated limits reset and all bans end, at least 1; 0 if the request is allowed. */
  retryAfterS = 0;
  readonly #modes: GlobalModes;
  readonly #ofRules = new Policies();
  #allQuotasOver = false;

  constructor(modes: GlobalModes) {
    this.#modes = modes;
  }

  /** Finds what decides an answer: {@link deciding} and {@link retryAfterS}. */
  decide(batch: DecisionBatch, request: number, isRefused: boolean): void {
    const { requests, decisions } = batch;
    const first = requests.firstDescriptor[request];
    const end = first + requests.descriptorCount[request];
    this.deciding = -1;
    let quotas = 0;
    let quotasOver = 0;
    let regularMs = 0;
    let quotaMs = Number.POSITIVE_INFINITY;
    for (let row = first; row < end; row++) {
      const isOver = decisions.code[row] === CODE.overLimit;
      const isOfQuota = isQuota(batch, row, this.#modes);
      if (isOfQuota) quotas++;
      if (!isLimited(decisions.kind[row]) && decisions.kind[row] !== KIND.banned) continue;
      if (this.deciding < 0 || bindsMore(decisions, row, this.deciding)) this.deciding = row;
      if (!isOver) continue;
      if (isOfQuota) {
        quotasOver++;
        quotaMs = Math.min(quotaMs, decisions.resetMs[row]);
      } else regularMs = Math.max(regularMs, decisions.resetMs[row]);
    }
    this.#allQuotasOver = quotas > 0 && quotas === quotasOver;
    // One quota that resets is enough.
    const waitMs = Math.max(regularMs, this.#allQuotasOver ? quotaMs : 0);
    this.retryAfterS = isRefused ? Math.max(Math.ceil(waitMs / SECOND_MS), 1) : 0;
  }

  /** Chooses the policies, after {@link decide}. @param shown see {@link SHOWN} */
  choosePolicies(batch: DecisionBatch, request: number, rules: CompiledRules, shown: number): void {
    this.count = 0;
    this.violatedCount = 0;
    if (shown === SHOWN.none) return;
    const isRefused = this.retryAfterS > 0;
    if (isRefused) this.#addAll(batch, request, rules, true);
    this.violatedCount = this.count;
    if (shown === SHOWN.all) this.#addAll(batch, request, rules, false);
  }

  #addAll(batch: DecisionBatch, request: number, rules: CompiledRules, violated: boolean): void {
    const { requests, decisions } = batch;
    const first = requests.firstDescriptor[request];
    const end = first + requests.descriptorCount[request];
    for (let row = first; row < end && this.count < MAX_POLICIES; row++) {
      const endPart = endOfLimits(decisions, row);
      for (let part = firstLimit(decisions, row); part < endPart; part++) {
        if (!this.#isShown(decisions, part, violated)) continue;
        const isOverride = decisions.limit[part] < 0;
        const policy = isOverride
          ? overridePolicy(batch, request, row)
          : this.#ofRules.of(decisions, part, rules);
        this.#add(decisions, part, policy);
      }
    }
  }

  #isShown(decisions: DecisionTable, row: number, violated: boolean): boolean {
    if (decisions.kind[row] !== KIND.limited || (decisions.flags[row] & LIMIT_FLAG.shadow) !== 0)
      return false;
    if (!violated) return true;
    const isOfQuota = this.#modes.quota || (decisions.flags[row] & LIMIT_FLAG.quota) !== 0;
    return decisions.code[row] === CODE.overLimit && (!isOfQuota || this.#allQuotasOver);
  }

  /** Adds a policy. Of several with the same name, the tighter one is shown, and a violated one rather than another. */
  #add(decisions: DecisionTable, row: number, policy: Policy): void {
    for (let i = 0; i < this.count; i++) {
      if (this.policies[i].name !== policy.name) continue;
      if (i >= this.violatedCount && isTighter(decisions, row, this.rows[i])) this.#set(i, row, policy);
      return;
    }
    if (this.count < MAX_POLICIES) this.#set(this.count++, row, policy);
  }

  #set(at: number, row: number, policy: Policy): void {
    this.rows[at] = row;
    this.policies[at] = policy;
  }
}

function isTighter({ remaining, resetMs }: DecisionTable, row: number, other: number): boolean {
  return (
    remaining[row] < remaining[other] ||
    (remaining[row] === remaining[other] && resetMs[row] > resetMs[other])
  );
}
