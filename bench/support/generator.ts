import type { LoadWindow, WatchedProcesses } from './load-window.ts';

/** What every kind of load has. */
export interface Load {
  readonly port: number;
  readonly connections: number;
  /** Calls open on each connection at any time; for a paced load they are of no meaning. */
  readonly streamsPerConnection: number;
  readonly watched: WatchedProcesses;
}

/** What a load did from its first call to its last. */
export interface LoadTotals {
  /** Calls that got an answer. */
  readonly answered: number;
  /** Calls begun; more than answered where the generator leaves without waiting for the last answers. */
  readonly begun: number;
}

/** What a bench asks the process of a generator. Each fails once a call has gone wrong. */
export type GeneratorAnswers<L extends Load> = {
  /** Begins a load, and resolves when its first calls are in progress. */
  readonly start: (load: L) => Promise<void>;
  /** What happened since the last mark or the start. */
  readonly mark: () => LoadWindow;
  /** Ends the load: no new calls, and those that are open are waited for. */
  readonly finish: () => Promise<LoadTotals>;
};
