import type { RulesFeed } from '../../../../src/decision/generations/rules-publisher.ts';

/** Number of publications during the test. */
export const PUBLICATIONS = 200;

/** Words of {@link AskingJob.tally}. */
export const TALLY = { asked: 0, answered: 1, tooOld: 2 } as const;

/** What an asking thread does: asks for decisions on `thread=<index>` in every turn until `end` is not 0. */
export interface AskingJob {
  readonly index: number;
  readonly feed: RulesFeed;
  readonly counters: SharedArrayBuffer;
  /** Number of publications that had returned; the limit of the rules is the number of their publication. */
  readonly publications: Int32Array;
  readonly tally: Int32Array;
  readonly end: Int32Array;
}
