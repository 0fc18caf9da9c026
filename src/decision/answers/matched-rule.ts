import type { JsonObject } from '../../base/json.ts';
import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { LIMIT_FLAG } from '../../rules/layout.ts';
import { type DecisionBatch, type DecisionTable, KIND, PENALIZED } from '../batch.ts';
import { keysOf, nameOfLimit } from '../metric-key.ts';
import type { GlobalModes } from '../overall-code.ts';

/** The lengths of the units as rule files write windows, by `RateLimitResponse.RateLimit.Unit`. */
const WINDOWS: readonly string[] = ['', '1s', '1m', '1h', '1d', '30d', '365d', '1w'];

/** A row with a limit, and what its answer depends on. */
interface MatchedRow {
  readonly request: number;
  readonly row: number;
  readonly rules: CompiledRules;
  readonly modes: GlobalModes;
}

/**
 * `matched_rule` of the dynamic metadata, for access logs: the rule whose limit decides an answer. Its keys are in the order
 * of their names. `code` is that of the limit: with `shadow_mode`, an exceeded limit has not refused the request.
 */
export function matchedRule({ requests, decisions }: DecisionBatch, matched: MatchedRow): JsonObject {
  const { request, row, rules, modes } = matched;
  const limit = decisions.limit[row];
  const isShadow = modes.shadow || (decisions.flags[row] & LIMIT_FLAG.shadow) !== 0;
  const name = limit < 0 ? '' : nameOfLimit(rules, limit);
  const isBan = decisions.kind[row] === KIND.banned;
  return {
    ...(isBan ? { ban: true } : {}),
    ...classOf(decisions, row),
    code: decisions.isOver[row] === 1 ? 'OVER_LIMIT' : 'OK',
    ...(name === '' ? {} : { name }),
    // A limit that the request brings has no rule, and a ban needs none.
    ...(limit < 0 && !isBan ? { override: true } : {}),
    ...((decisions.flags[row] & PENALIZED) !== 0 ? { penalized: true } : {}),
    rule: limit < 0 ? keysOf(requests, request, row) : rules.path(limit),
    ...(isShadow ? { shadow_mode: true } : {}),
    ...(isBan ? {} : { window: decisions.terms[row]?.window.terms.window ?? WINDOWS[decisions.unit[row]] }),
  };
}

/** The class of a request for a limit with classes, if it has one of them. */
function classOf({ terms }: DecisionTable, row: number): JsonObject {
  const counting = terms[row];
  const name = counting?.classes?.name(counting.classNumber) ?? null;
  return name === null ? {} : { class: name };
}
