import { ByteWriter } from '../../base/bytes.ts';
import { SECOND_MS } from '../../base/clock.ts';
import { UNIT_SECONDS } from '../../messages/current-limit.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { quotedPolicyName } from '../../rules/policy-names.ts';
import { type DecisionBatch, type DecisionTable, mostHits, OVERRIDDEN } from '../batch.ts';
import { keysOf } from '../metric-key.ts';

/** Maximum number of limits whose texts are kept. They are created again when they are needed. */
const MAX_KEPT = 4_096;

/** Integers of structured fields have at most 15 digits (RFC 9651 section 3.3.1). */
export const MOST_IN_HEADER = 999_999_999_999_999;

/** A limit as the headers of draft-ietf-httpapi-ratelimit-headers-10 describe it. */
export interface Policy {
  /** The name with its quotes: a String of RFC 9651, and of JSON. */
  readonly name: string;
  /** The same as ASCII. */
  readonly nameBytes: Uint8Array;
  /** The item of `RateLimit-Policy`; null if its window has no fixed length. */
  readonly item: Uint8Array | null;
}

/** The policies of the limits of a set of rules. Created on first use. */
export class Policies {
  readonly #kept = new Map<number, Policy>();
  #rules: CompiledRules | null = null;

  /** The policy of a row with a limit of the rules. */
  of(decisions: DecisionTable, row: number, rules: CompiledRules): Policy {
    const limit = decisions.limit[row];
    if (rules !== this.#rules) {
      this.#kept.clear();
      this.#rules = rules;
    }
    if (hasOwnQuota(decisions, row)) return this.#create(decisions, row, rules);
    let policy = this.#kept.get(limit);
    if (policy === undefined) {
      if (this.#kept.size === MAX_KEPT) this.#kept.clear();
      policy = this.#create(decisions, row, rules);
      this.#kept.set(limit, policy);
    }
    return policy;
  }

  #create(decisions: DecisionTable, row: number, rules: CompiledRules): Policy {
    const { offset, length } = rules.policyName(decisions.limit[row]);
    return policyNamed(rules.text(offset, length), decisions, row);
  }
}

/** The policy of a limit that a request brings. It is named after the keys of its descriptor. */
export function overridePolicy(batch: DecisionBatch, request: number, row: number): Policy {
  const name = quotedPolicyName(keysOf(batch.requests, request, row));
  return policyNamed(name, batch.decisions, row);
}

function policyNamed(name: string, decisions: DecisionTable, row: number): Policy {
  const nameBytes = Buffer.from(name);
  if (hasCalendar(decisions, row)) return { name, nameBytes, item: null };
  const item = new ByteWriter();
  writeItem(item, nameBytes, decisions, row);
  return { name, nameBytes, item: item.take() };
}

/** Appends the item of `RateLimit-Policy` for a row: `"shop.user";q=100;w=60`. */
export function writePolicy(
  to: ByteWriter,
  { nameBytes, item }: Policy,
  decisions: DecisionTable,
  row: number,
): void {
  if (item === null) writeItem(to, nameBytes, decisions, row);
  else to.copy(item, 0, item.length);
}

function writeItem(to: ByteWriter, name: Uint8Array, decisions: DecisionTable, row: number): void {
  to.copy(name, 0, name.length);
  to.ascii(';q=');
  to.decimal(Math.min(quotaOf(decisions, row), MOST_IN_HEADER));
  if (decisions.terms[row]?.isConcurrency === true) {
    to.ascii(';qu="concurrent-requests"');
    return;
  }
  to.ascii(';w=');
  to.decimal(windowSOf(decisions, row));
}

/** Whether a steering record has replaced the limit of the rule. */
function hasOwnQuota({ flags }: DecisionTable, row: number): boolean {
  return (flags[row] & OVERRIDDEN) !== 0;
}

/** Whether the limit counts in windows of a calendar, whose lengths differ. */
function hasCalendar({ terms }: DecisionTable, row: number): boolean {
  return terms[row]?.window.lengthS === 0;
}

/**
 * Seconds in which a client may use its quota. Of a calendar, the length of the current window. Of a token bucket, the time
 * in which an empty bucket becomes full, so that quota and window give the rate of the tokens.
 */
export function windowSOf({ terms, unit }: DecisionTable, row: number): number {
  const counting = terms[row];
  if (counting === null) return UNIT_SECONDS[unit[row]];
  const { window, total, admission } = counting;
  if (window.lengthS === 0) return window.endS - window.startS;
  if (window.terms.algorithm !== 'token_bucket' || total === 0) return window.lengthS;
  return Math.max(Math.ceil(admission!.capacity / (admission!.drain * SECOND_MS)), 1);
}

/** The most that the unused limit admits, of all classes, in the unit of `requestsPerUnit`. */
export function quotaOf(decisions: DecisionTable, row: number): number {
  return mostHits(decisions, row) / (decisions.terms[row]?.scale ?? 1);
}
