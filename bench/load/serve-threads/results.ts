import { median, medianRatio } from '../../support/statistics.ts';
import type { Store } from '../decisions/contestants.ts';
import type { Figures } from '../decisions/figures.ts';
import type { Scenario } from '../decisions/scenario.ts';
import type { ThreadWork } from './balance.ts';

/** One round of one number of threads. */
export interface ThreadsRound extends Figures {
  /** Empty if the service does not report serving threads. */
  readonly threads: readonly ThreadWork[];
}

/** What a store did under one load with each number of threads. */
export interface ThreadsResult {
  readonly store: Store;
  readonly scenario: Scenario;
  /** The same steady rate for all numbers of threads; null if each call follows on an answer. */
  readonly callsPerSecond: number | null;
  /** The numbers of threads, in their order on the command line. */
  readonly counts: readonly number[];
  /** The rounds of each of these numbers. */
  readonly rounds: readonly ThreadsRound[][];
}

export type ThreadsFigure = (round: ThreadsRound) => number;

/** The median of a figure over the rounds of one number of threads. */
export function medianOf({ counts, rounds }: ThreadsResult, count: number, figure: ThreadsFigure): number {
  return median((rounds[counts.indexOf(count)] ?? []).map(figure));
}

/** How many times the figure of `under` threads is that of `over`: the median of the ratios within each round. */
export function ratioBetween(
  { counts, rounds }: ThreadsResult,
  { over, under }: { readonly over: number; readonly under: number },
  figure: ThreadsFigure,
): number {
  const of = (count: number): number[] => (rounds[counts.indexOf(count)] ?? []).map(figure);
  return medianRatio(of(over), of(under));
}
