import type { Fault } from '../../../../src/base/fault.ts';
import type { DecisionBatch } from '../../../../src/decision/batch.ts';
import type { DecisionReply } from '../../../../src/decision/decider.ts';
import type { RateLimitRequest, RateLimitResponse } from '../../../../src/messages/client-codec.ts';
import type { RuleSet } from '../../../../src/rules/rule-set.ts';
import type { SteeringRecord } from '../../../../src/steering/record.ts';
import type { CountedAt } from '../checks/expected-counts.ts';
import type { ExpectedRequest } from '../checks/expected-request.ts';

/** A request of a caller, and all answers that it has got. */
export interface Call {
  readonly instance: string;
  readonly request: RateLimitRequest;
  readonly isGone: boolean;
  readonly askedMs: number;
  readonly answers: Answer[];
  /** Its instance has died, so that its connection was lost. */
  isLost: boolean;
}

export type Answer = { readonly atMs: number } & (
  | { readonly response: RateLimitResponse }
  | { readonly fault: Fault }
);

/** A batch, from the moment at which it is decided to that at which its requests have their answers. */
export interface Round {
  /** The name of the instance. */
  readonly instance: string;
  readonly calls: readonly Call[];
  /** When it was planned, by the clock of the history and by that of the instance. */
  readonly plannedMs: number;
  readonly nowMs: number;
  /** The rules that were published before it was planned. */
  readonly rules: RuleSet;
  /** The records of operators that were published before. */
  readonly records: readonly SteeringRecord[];
  readonly batch: DecisionBatch;
  /** What must become of each request; empty until it is planned. */
  readonly expected: ExpectedRequest[];
  /** The instance has lost the store a moment ago, and need not ask it yet. */
  readonly isExcused: boolean;
  /** What has become of its call of the store: `unasked` if there was none. */
  store: 'unasked' | 'asked' | 'answered' | 'failed';
}

/** Is told what happens to batches. */
export interface RoundWatcher {
  /** The engine knows which limits it asks the store about. */
  planned(round: Round): void;
  /** The store counts the requests of a batch, except keys for which `isUncountable` is true. */
  counted(round: Round, at: CountedAt, isUncountable: (key: string) => boolean): void;
  /** The instance counts itself what the store did not. */
  countedLocally(round: Round): void;
  /** All requests have their answers. */
  answered(round: Round): void;
}

/** The call that waits for a reply. */
export interface CallReply extends DecisionReply {
  readonly call: Call;
}
