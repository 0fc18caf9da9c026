import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** How a child process ended. */
export interface ChildEnd {
  /** Exit status, or null when a signal ended it. */
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Runs it as this user; only root can. */
  readonly user?: { readonly uid: number; readonly gid: number };
}

/** Of the output that errors quote, the end counts: older text is dropped beyond this many characters. */
const OUTPUT_KEPT = 64 * 1024;

/** Every child that runs. When the test process ends, however early, none of them is left behind. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A real program run by a test: its output by lines, and its end. */
export class Child {
  /** Resolves when the process has ended and its output is complete. */
  readonly ended: Promise<ChildEnd>;
  readonly #name: string;
  readonly #process: ChildProcess;
  readonly #lineListeners = new Set<(line: string) => void>();
  #output = '';

  constructor(options: ChildOptions) {
    this.#name = options.command.split('/').at(-1) as string;
    this.#process = spawn(options.command, options.args, {
      env: { ...options.env },
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      ...options.user,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(this.#process);
    for (const stream of [this.#process.stdout, this.#process.stderr]) this.#read(stream);
    this.ended = new Promise((resolve, reject) => {
      this.#process.once('error', failure => {
        running.delete(this.#process);
        reject(new Error(`${this.#name} cannot be started: ${failure.message}`, { cause: failure }));
      });
      this.#process.once('close', (status, signal) => {
        running.delete(this.#process);
        resolve({ status, signal });
      });
    });
    // Whoever waits for the end sees the failure; nobody waiting must not end the test process.
    this.ended.catch(() => {});
  }

  /** The process id, or -1 when it could not be started. */
  get pid(): number {
    return this.#process.pid ?? -1;
  }

  /** The end of what it wrote to both of its outputs. */
  get output(): string {
    return this.#output;
  }

  /** Calls `listener` for each line of either output, without its end. Returns the function that ends it. */
  onLine(listener: (line: string) => void): () => void {
    this.#lineListeners.add(listener);
    return () => this.#lineListeners.delete(listener);
  }

  /**
   * Resolves with what `match` makes of the first line, from now on, for which it is not undefined.
   * Fails when the process ends first or after `withinMs`, quoting what it wrote.
   */
  async line<T>(match: (line: string) => T | undefined, withinMs: number): Promise<T> {
    const found = Promise.withResolvers<T>();
    const forget = this.onLine(line => {
      const matched = match(line);
      if (matched !== undefined) found.resolve(matched);
    });
    const timer = setTimeout(
      () => found.reject(this.#failure(`has not written the awaited line after ${withinMs} ms`)),
      withinMs,
    );
    this.ended.then(
      end => found.reject(this.#failure(`ended with ${end.signal ?? `status ${end.status}`}`)),
      failure => found.reject(failure),
    );
    try {
      return await found.promise;
    } finally {
      clearTimeout(timer);
      forget();
    }
  }

  /** Sends `signal`; does nothing once the process has ended. */
  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  /**
   * Stops the process until it gets SIGCONT. On Linux none of its threads runs when this returns: one that runs on
   * another core goes on for a moment after the signal.
   */
  freeze(): void {
    this.signal('SIGSTOP');
    if (process.platform !== 'linux') return;
    const untilMs = performance.now() + 1_000;
    while (!isStopped(Number(this.#process.pid)) && performance.now() < untilMs) {
      // Each look takes as long as a few reads of files.
    }
  }

  /** Sends `signal` and waits for the end; after `withinMs` the process is killed. Harmless once it has ended. */
  async end(signal: NodeJS.Signals, withinMs: number): Promise<ChildEnd> {
    this.#process.kill(signal);
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), withinMs);
    try {
      return await this.ended;
    } finally {
      clearTimeout(timer);
    }
  }

  #failure(what: string): Error {
    return new Error(`${this.#name} ${what}. It wrote:\n${this.#output}`);
  }

  #tell(line: string): void {
    for (const listener of this.#lineListeners) listener(line);
  }

  #read(stream: NodeJS.ReadableStream | null): void {
    let rest = '';
    stream?.setEncoding('utf8');
    stream?.on('data', (text: string) => {
      this.#output = (this.#output + text).slice(-OUTPUT_KEPT);
      const lines = (rest + text).split('\n');
      rest = lines.pop() as string;
      for (const line of lines) this.#tell(line);
    });
    // Not every program ends its last line.
    stream?.once('end', () => {
      if (rest !== '') this.#tell(rest);
    });
  }
}

/** Whether all threads of a process are stopped, or gone; proc(5). */
function isStopped(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).every(thread => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
      return stat[stat.lastIndexOf(')') + 2] === 'T';
    });
  } catch {
    return true;
  }
}
