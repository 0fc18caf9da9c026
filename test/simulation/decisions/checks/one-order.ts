import { CODE_NAMES } from '../../../../src/messages/client-codec.ts';
import { MOST_IN_RESPONSE } from '../../../../src/messages/current-limit.ts';
import type { FrontAnswer } from '../../../support/exactness/fronts.ts';
import type { AskedHits, Counter } from '../../../support/exactness/load.ts';
import { examineCalls } from '../../../support/exactness/model.ts';
import type { History } from '../steps/step.ts';
import type { Call } from '../world/round.ts';
import type { ExpectedDescriptor, ExpectedRequest } from './expected-request.ts';
import type { Report } from './violations.ts';

/**
 * Looks at plain limits from outside alone, without knowing in which order the store has counted: the answers must be those
 * of requests that were made one after the other. Requests without an answer may have been counted or not.
 */
export class OneOrderChecks {
  readonly #holdsBack: boolean;
  readonly #calls: { readonly call: Call; readonly asked: readonly AskedHits[] }[] = [];
  readonly #counters = new Map<string, Counter>();
  /** Whether the history has only what the model of calls knows. */
  #isPlain: boolean;

  constructor({ failureMode, modes, holdsBack, store, steps }: History) {
    this.#holdsBack = holdsBack;
    const isSetBack = store === 'threads' && steps.some(step => step.do === 'clock' && step.byMs < 0);
    this.#isPlain = failureMode === 'error' && !modes.shadow && !modes.quota && !isSetBack;
  }

  /** A request is going to be decided. */
  planned(call: Call, expected: ExpectedRequest): void {
    this.#isPlain &&= expected.descriptors.every(isPlain);
    if (!this.#isPlain) return;
    const asked = expected.descriptors.map(descriptor => this.#askedOf(descriptor));
    // The model does not know what is held back of a request that hits one counter twice.
    const counted = asked.flatMap(({ counter }) => (counter === null ? [] : [counter]));
    if (this.#holdsBack && new Set(counted).size < counted.length) this.#isPlain = false;
    this.#calls.push({ call, asked });
  }

  /** To be asked when nothing happens any more. Returns whether the history was one that the model knows. */
  finish(report: Report): boolean {
    if (!this.#isPlain || this.#calls.length === 0) return false;
    const calls = this.#calls.map(({ call, asked }, caller) => ({ caller, asked, answer: answerTo(call) }));
    const { contradictions } = examineCalls(calls, { holdsBack: this.#holdsBack });
    for (const text of contradictions) report('one order explains all answers', text);
    return true;
  }

  #askedOf({ parts, hits }: ExpectedDescriptor): AskedHits {
    const [limit] = parts.map(part => part.limit);
    if (limit === undefined || limit.isUnlimited) return { text: '', counter: null, hits };
    const counter = this.#counters.get(limit.key) ?? {
      text: limit.key,
      rule: limit.metric,
      limit: limit.most,
    };
    this.#counters.set(limit.key, counter);
    // Rules were loaded with another limit for the same counter.
    if (counter.limit !== limit.most) this.#isPlain = false;
    return { text: limit.key, counter, hits };
  }
}

function isPlain({ parts, isRefund, isSeveral, steered }: ExpectedDescriptor): boolean {
  if (isRefund || isSeveral || steered !== null) return false;
  return parts.every(
    ({ limit, op }) =>
      op.terms === undefined &&
      limit.afterLimit === 0 &&
      !limit.isShadow &&
      !limit.isQuota &&
      limit.most <= MOST_IN_RESPONSE,
  );
}

function answerTo({ answers }: Call): FrontAnswer {
  const [answer] = answers;
  if (answer === undefined || 'fault' in answer) return { status: null, error: 'no answer' };
  const { overallCode, statuses } = answer.response;
  const told = statuses.map(({ code, limitRemaining }) => ({
    code: CODE_NAMES[code],
    remaining: limitRemaining,
  }));
  return { overall: CODE_NAMES[overallCode], told };
}
