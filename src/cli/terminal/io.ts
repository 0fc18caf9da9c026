import { createInterface } from 'node:readline';
import { DEFAULT_COLUMNS } from './layout.ts';

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
  /** Width that tables have to fit; null if standard output is no terminal, so that programs read whole lines. */
  readonly columns: number | null;
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
 * - `refused`: it did, and the answer is no: rules with faults, or over limit where the caller asked to be told
 * - `failed`: it could not do it: wrong arguments, nothing to read, nobody to ask
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

/** The arguments are wrong. The text names the argument and says what to write instead. */
export class UsageFault extends CommandFault {
  /** The command whose help says more, after `sluice`; null: the one that was called. */
  readonly command: string | null;

  constructor(message: string, command: string | null = null) {
    super(message);
    this.name = 'UsageFault';
    this.command = command;
  }
}

/** Standard input, as far as commands read it. */
interface CliInput {
  /** True when somebody sits there who can answer. */
  readonly isTerminal: boolean;
  /** The next line, without its end; null when there is none. The question goes to standard error. */
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

/** Who started this process and listens on its IPC channel, as PM2 and `node:cluster` do. */
interface Supervisor {
  /** The ports are open: processes that this one replaces may end now (PM2, `wait_ready`). */
  ready(): void;
  /** Lets go of the channel, which would keep a process alive that has nothing left to do. */
  leave(): void;
}

/** A process as its supervisor has it; `send` is there when it was started with a channel. */
export interface Supervised {
  readonly connected: boolean;
  send?(message: unknown, done: (failure: Error | null) => void): boolean;
  disconnect(): void;
}

/** The one of this process; undefined when nobody listens. */
export function processSupervisor(supervised: Supervised = process): Supervisor | undefined {
  if (supervised.send === undefined) return undefined;
  return {
    // It may have ended meanwhile. Without a callback that would be an exception that nobody catches.
    ready: () => void supervised.send?.('ready', () => {}),
    leave: () => {
      if (supervised.connected) supervised.disconnect();
    },
  };
}
