import { answerBench } from '../../support/control-channel.ts';

/** What a server's process says of itself. */
export interface ServerSample {
  /** A clock of its own; differences count. */
  readonly atMs: number;
  /** Processor time of all threads, in user and system, since the process began. */
  readonly cpuMs: number;
  /** Calls answered. */
  readonly calls: number;
  readonly rssBytes: number;
  /** Memory of JavaScript objects and of buffers outside of the heap. */
  readonly heapBytes: number;
}

/** What the bench asks a server's process. */
export type ContestantAnswers = {
  readonly sample: () => ServerSample;
  /** A sample right after a full garbage collection. */
  readonly collectedSample: () => ServerSample;
};

/** What it says once it listens. */
export interface ContestantReady {
  readonly port: number;
}

let calls = 0;

/** To be called by the handler for each call that it answers. */
export function countCall(): void {
  calls++;
}

/** Runs a server in this process. `start` resolves with its port on 127.0.0.1. */
export async function contest(start: () => Promise<number>): Promise<void> {
  const ready: ContestantReady = { port: await start() };
  const answers: ContestantAnswers = {
    sample,
    collectedSample: () => {
      if (globalThis.gc === undefined)
        throw new Error('the process was started without --expose-gc, so it cannot collect garbage');
      globalThis.gc();
      return sample();
    },
  };
  answerBench(ready, answers);
}

function sample(): ServerSample {
  const cpu = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  return {
    atMs: performance.now(),
    cpuMs: (cpu.user + cpu.system) / 1_000,
    calls,
    rssBytes: rss,
    heapBytes: heapUsed + external,
  };
}
