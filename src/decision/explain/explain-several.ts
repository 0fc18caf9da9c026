import type { CompiledRules } from '../../rules/compiled-rules.ts';
import { type DecisionTable, KIND } from '../batch.ts';
import {
  countingOf,
  type DecidedBatch,
  type ExplainedCounting,
  type ExplainedLimit,
  limitOfRule,
} from './explain-limit.ts';
import type { Match, MatchExplainer } from './explain-match.ts';

/** One of several limits of a rule. `key`, `window`, `level` and `count` are absent if the limit is replaced. */
export interface ExplainedPart extends Partial<ExplainedCounting> {
  readonly limit: ExplainedLimit;
  /** - `within`, `over`: the limit is kept or exceeded
   *  - `replaced`: another limit of the request replaces the limit */
  readonly outcome: 'within' | 'over' | 'replaced';
  /** The limit is the one that the status shows. */
  readonly binds: boolean;
  /** Why it binds, or why it is replaced; absent otherwise. */
  readonly why?: string;
}

interface DecidedDescriptor extends DecidedBatch {
  readonly rules: CompiledRules;
  readonly explainer: MatchExplainer;
  readonly match: Match;
  readonly replacements: ReadonlyMap<number, number>;
}

/** Explains the limits of a descriptor with several limits, and returns the one that binds once more. */
export function explainSeveral(
  decided: DecidedDescriptor,
  row: number,
): {
  readonly binding: ExplainedCounting & { readonly limit: ExplainedLimit };
  readonly limits: readonly ExplainedPart[];
} {
  const { batch, rules, explainer, match, replacements } = decided;
  const { decisions } = batch;
  const first = decisions.firstPart[row];
  const binding = decisions.binding[row];
  const limits = Array.from({ length: decisions.partCount[row] }, (_, i): ExplainedPart => {
    const part = first + i;
    const own = { limit: match.limit + i, metricKey: match.metricKeys[i] };
    const limit = { ...limitOfRule(rules, own), requestsPerUnit: decisions.requestsPerUnit[part] };
    if (decisions.kind[part] !== KIND.limited) {
      return { limit, outcome: 'replaced', binds: false, why: explainer.whyReplaced(own, replacements) };
    }
    const outcome = decisions.isOver[part] === 1 ? 'over' : 'within';
    const counting = countingOf(decided, part);
    if (part !== binding) return { limit, outcome, binds: false, ...counting };
    return { limit, outcome, binds: true, why: whyBinds(decisions, row), ...counting };
  });
  const { limit } = limits[binding - first];
  return { binding: { limit, ...countingOf(decided, binding) }, limits };
}

/** Why a limit binds; see `binding-limit.ts`. */
function whyBinds(decisions: DecisionTable, row: number): string {
  const first = decisions.firstPart[row];
  const binding = decisions.binding[row];
  let others = 0;
  let othersOver = 0;
  let othersAlike = 0;
  for (let part = first; part < first + decisions.partCount[row]; part++) {
    if (part === binding || decisions.kind[part] !== KIND.limited) continue;
    others++;
    if (decisions.isOver[part] === 0) continue;
    othersOver++;
    if (decisions.flags[part] === decisions.flags[binding]) othersAlike++;
  }
  if (others === 0) return 'it is the only limit that applies';
  if (decisions.isOver[binding] === 0) return 'it has the smallest share of its hits left';
  if (othersOver === 0) return 'it is the only limit that is exceeded';
  return othersAlike === 0
    ? 'of the exceeded limits, it is the one whose mode has the most effect'
    : 'of the exceeded limits, it is the one that resets last';
}
