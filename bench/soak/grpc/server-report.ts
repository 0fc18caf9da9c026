/** What the server counts; without clients all are 0. */
export const COUNTERS = [
  'connectionCount',
  'streamCount',
  'deadlineCount',
  'heldBytes',
  'queuedBytes',
] as const;
export type Counters = Readonly<Record<(typeof COUNTERS)[number], number>>;

/** What the server's process says once a second, after a garbage collection. */
export interface ServerReport {
  readonly counters: Counters;
  /** Timers of the server that wait. */
  readonly timers: number;
  /** Open sockets, listening or connected, as Node.js counts them. */
  readonly sockets: number;
  /** Calls that the methods have not answered, and streams that they hold open. */
  readonly pendingInMethods: number;
  /** Lines that the server has logged as errors or warnings so far. */
  readonly loggedFaults: number;
  readonly heapBytes: number;
  /** Memory of buffers. */
  readonly bufferBytes: number;
  readonly rssBytes: number;
}

/** Objects that live in the heap, by class: counted by the garbage collector, not by the server's own books. */
export type Census = Readonly<Record<string, number>>;

/** What the soak asks the server's process. */
export type SoakServerAnswers = {
  readonly report: () => ServerReport;
  readonly census: () => Census;
  /** Stops the server. */
  readonly stop: () => Promise<void>;
  /** The first few of the lines logged as errors or warnings. */
  readonly faultLines: () => readonly string[];
};

export interface SoakServerReady {
  readonly port: number;
}
