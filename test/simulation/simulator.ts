/** A history, of which steps can be left out. */
export interface AnyHistory {
  readonly steps: readonly object[];
}

/** A promise of the documentation that a history breaks. */
export interface AnyViolation {
  readonly promise: string;
  readonly text: string;
}

/** What became of a history. */
export interface AnyPlayed {
  readonly violations: readonly AnyViolation[];
  /** How many events there were: messages that arrived, and timers. */
  readonly events: number;
  /** How often everything happened that can happen. */
  readonly coverage: ReadonlyMap<string, number>;
  /** Two runs of one history have the same. */
  readonly digest: string;
}

/** What has happened in many histories. */
export interface SeenInAll {
  add(coverage: ReadonlyMap<string, number>): void;
  /** Lines for a person. */
  lines(): string[];
}

/** One of the services with everything around it, in one thread. */
export interface Simulator<H extends AnyHistory> {
  readonly name: 'tasks' | 'decisions';
  /** A history that follows from its seed alone. */
  randomHistory(seed: number): H;
  play(history: H): Promise<AnyPlayed>;
  /** Simpler settings for a history. Each is tried on its own. */
  readonly simpler: readonly Partial<H>[];
  /** Whether a history with these settings is no simpler than another one. */
  isLarger(history: H, than: H): boolean;
  newCoverage(): SeenInAll;
}
