import { createInterface } from 'node:readline';
import { DEFAULT_COLUMNS } from './layout.ts';

/** The process as a command sees it, so that a command can run inside another process. */
export interface CliIo {
  /** Writes text as it is: callers end their own lines. */
  stdout(text: string): void;
  stderr(text: string): void;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Standard input; undefined without one. */
  readonly input?: CliInput | undefined;
  /** True when standard output is a terminal: somebody reads it. */
  readonly isTerminal: boolean;
  /** Width that tables have to fit; null if standard output is no terminal, so that programs read whole lines. */
  readonly columns: number | null;
  /** The process manager that started this process; undefined without one. */
  readonly supervisor?: Supervisor | undefined;
  /** True once nobody reads standard output any more, as after `| head`. */
  isClosed?(): boolean;
  /** Ends the process after this time if something that cannot be stopped still keeps it alive. */
  endWithin?(ms: number): void;
}

/**
 * The streams and the environment of this process. Write errors (the reader has closed the pipe, or the disk is full)
 * are ignored: without a listener they would end the process, and with it a running service.
 */
export function processIo(): CliIo {
  let isClosed = false;
  process.stdout.on('error', () => {
    isClosed = true;
  });
  process.stderr.on('error', () => {});
  return {
    stdout: text => void process.stdout.write(text),
    stderr: text => void process.stderr.write(text),
    env: process.env,
    // The caller may have closed standard input, so only commands that need it open it.
    get input() {
      return processInput();
    },
    isTerminal: process.stdout.isTTY === true,
    isClosed: () => isClosed,
    columns: columnsOf(process.stdout, process.env['COLUMNS']),
    supervisor: processSupervisor(),
    endWithin: ms => void setTimeout(() => process.exit(), ms).unref(),
  };
}

/** The variable `COLUMNS` decides, then the terminal. */
function columnsOf(stream: NodeJS.WriteStream, given = ''): number | null {
  if (/^[1-9]\d{1,4}$/.test(given)) return Number(given);
  return stream.isTTY === true ? stream.columns || DEFAULT_COLUMNS : null;
}

/**
 * Exit statuses of every command.
 *
 * - `done`: the command did what it was asked for
 * - `refused`: it did, and the answer is negative: rules with faults, or over limit with `--fail-over-limit`
 * - `failed`: it could not do it: wrong arguments, unreadable files, or no service
 */
export const EXIT = { done: 0, refused: 1, failed: 2 } as const;

/**
 * A command could not do what it was asked for. The text says why and what to do; `main` prints it and returns
 * the exit status for it, so commands only throw.
 */
export class CommandFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CommandFault';
  }
}

/** The arguments are wrong. The message names the argument and says what to write instead. */
export class UsageFault extends CommandFault {
  /** The command to show the help of, without `sluice`; null for the command that was called. */
  readonly command: string | null;

  constructor(message: string, command: string | null = null) {
    super(message);
    this.name = 'UsageFault';
    this.command = command;
  }
}

/** Standard input of a command. */
interface CliInput {
  /** True if standard input is a terminal, so that a person can answer. */
  readonly isTerminal: boolean;
  /** Prints the question to standard error and returns the next line; null at the end of the input. */
  ask(question: string): Promise<string | null>;
  /**
   * Everything up to the end.
   *
   * @throws CommandFault when it is longer than `maxBytes`
   */
  readAll(maxBytes: number): Promise<string>;
}

/** The standard input of this process. It is not opened before the first call. */
export function processInput(): CliInput {
  return {
    isTerminal: process.stdin.isTTY === true,
    ask(question) {
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      return new Promise(resolve => {
        lines.once('close', () => resolve(null));
        lines.question(question, answer => {
          resolve(answer);
          lines.close();
        });
      });
    },
    async readAll(maxBytes) {
      const chunks: Buffer[] = [];
      let bytes = 0;
      for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw new CommandFault(`standard input has more than ${maxBytes} bytes.`);
        chunks.push(chunk);
      }
      return Buffer.concat(chunks).toString();
    },
  };
}

/** The process manager that started this process with an IPC channel, such as PM2 or `node:cluster`. */
interface Supervisor {
  /** Reports that the ports are open, so that the processes that this one replaces can end (PM2, `wait_ready`). */
  ready(): void;
  /** Closes the channel, which would keep the process alive. */
  leave(): void;
}

/** The part of `process` that has to do with the IPC channel. `send` exists if there is a channel. */
export interface Supervised {
  readonly connected: boolean;
  send?(message: unknown, done: (failure: Error | null) => void): boolean;
  disconnect(): void;
}

/** The process manager of this process; undefined without an IPC channel. */
export function processSupervisor(supervised: Supervised = process): Supervisor | undefined {
  if (supervised.send === undefined) return undefined;
  return {
    // The process manager may have ended. Without a callback, `send` would then throw an uncaught error.
    ready: () => void supervised.send?.('ready', () => {}),
    leave: () => {
      if (supervised.connected) supervised.disconnect();
    },
  };
}
