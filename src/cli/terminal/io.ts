import { type CliInput, processInput } from './input.ts';
import { processSupervisor, type Supervisor } from './supervisor.ts';

/** What a command sees of the process, so that it can run inside another one. */
export interface CliIo {
  /** Writes text as it is: callers end their own lines. */
  stdout(text: string): void;
  stderr(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Standard input; undefined where there is none. */
  readonly input?: CliInput | undefined;
  /** True when standard output is a terminal: somebody reads it. */
  readonly isTerminal: boolean;
  /** Who is told that the service is ready, and left when it has ended; undefined when there is nobody. */
  readonly supervisor?: Supervisor | undefined;
  /** Ends the process after this time, should something that nobody could end keep it alive until then. */
  endWithin?(ms: number): void;
}

/**
 * The streams and the environment of this process. What can no longer be written, because its reader has gone (EPIPE)
 * or the disk is full, has nobody left to be told; without a listener it would end the process, and with it a service
 * whose banner nobody wanted to read.
 */
export function processIo(): CliIo {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  return {
    stdout: text => void process.stdout.write(text),
    stderr: text => void process.stderr.write(text),
    env: process.env,
    // The caller of the program may have closed it, so only commands that need it open it.
    get input() {
      return processInput();
    },
    isTerminal: process.stdout.isTTY === true,
    supervisor: processSupervisor(),
    endWithin: ms => void setTimeout(() => process.exit(), ms).unref(),
  };
}

/**
 * Exit statuses of every command.
 *
 * - `done`: the command did what it was asked for
 * - `refused`: it did, and the answer is no: rules with faults, or over limit where the caller asked to be told
 * - `failed`: it could not do it: wrong arguments, nothing to read, nobody to ask
 */
export const EXIT = { done: 0, refused: 1, failed: 2 } as const;
