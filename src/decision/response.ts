import type { JsonObject } from '../base/json.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import type { DecisionBatch } from './batch.ts';

/** Names of the three response headers (spec 4.5). */
export interface HeaderNames {
  readonly limit: string;
  readonly remaining: string;
  readonly reset: string;
}

/** What an encoder turns into a `RateLimitResponse`. One object, filled anew for each request. */
export interface Response {
  batch: DecisionBatch;
  request: number;
  rules: CompiledRules;
  overallCode: number;
  /** Row of the descriptor whose headers are added, -1 for none. */
  reported: number;
  /** Null when headers are switched off. */
  headerNames: HeaderNames | null;
  /** `dynamic_metadata`; null when it is switched off. */
  metadata: JsonObject | null;
}

/** The values of the three headers, in the order of {@link HeaderNames}. */
export function headerPairs(response: Response, resetS: number): [string, string][] {
  const { headerNames, reported, batch } = response;
  if (headerNames === null || reported < 0) return [];
  const { decisions } = batch;
  return [
    [headerNames.limit, String(decisions.requestsPerUnit[reported])],
    [headerNames.remaining, String(decisions.remaining[reported])],
    [headerNames.reset, String(resetS)],
  ];
}
