/** What came of the turn of a worker. */
export interface TurnOutcome {
  /** How many tasks were started. */
  readonly started: number;
  /** There is more to start at once. */
  readonly more: boolean;
}

export const NOTHING_STARTED: TurnOutcome = { started: 0, more: false };
