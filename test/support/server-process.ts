import { Child, type ChildOptions } from './child-process.ts';
import { freePort } from './free-port.ts';
import { makeTempDirectory, removeDirectory } from './temp-directory.ts';

/** Longest wait for a server to start or to stop. */
export const PATIENCE_MS = 10_000;
/** How often another free port is tried when somebody took the one before. */
const PORT_TRIES = 5;

interface Program extends Pick<ChildOptions, 'user'> {
  readonly command: string;
  readonly args: readonly string[];
  /** The line that says that it takes connections. */
  readonly ready: RegExp;
}

/** A real server of a test's own, in a process and a directory of its own. */
export abstract class ServerProcess {
  readonly port: number;
  protected readonly directory = makeTempDirectory();
  #child: Child | undefined;

  constructor(port: number) {
    this.port = port;
  }

  protected abstract program(): Program;

  /** The process id, or -1 while it is stopped. */
  get pid(): number {
    return this.#child?.pid ?? -1;
  }

  /** Starts the process, which must not run, and waits until it takes connections. */
  async start(): Promise<void> {
    const { ready, ...program } = this.program();
    const child = new Child({ ...program, env: process.env });
    this.#child = child;
    try {
      await child.line(line => (ready.test(line) ? true : undefined), PATIENCE_MS);
    } catch (failure) {
      await this.kill();
      throw failure;
    }
  }

  /** Ends it as an operator would, with SIGTERM, and removes its files. A second call is harmless. */
  async stop(): Promise<void> {
    await this.end('SIGTERM');
    removeDirectory(this.directory);
  }

  /** Ends it at once, without a word to its clients, as a crash would. `start` brings it back, empty. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** Stops it, if it runs, and starts it again at the same address, empty. */
  async restart(): Promise<void> {
    await this.end('SIGTERM');
    await this.start();
  }

  /** Sends SIGSTOP: connections stay open and nothing answers, until {@link thaw}. */
  freeze(): void {
    this.#child?.freeze();
  }

  thaw(): void {
    this.#child?.signal('SIGCONT');
  }

  protected async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.pid < 0) return;
    const ended = child.end(signal, PATIENCE_MS);
    // A frozen process does not act on SIGTERM before it is thawed.
    child.signal('SIGCONT');
    await ended;
  }
}

/** Starts a server on this port, or on a free one; another one is tried when somebody took it meanwhile. */
export async function startOn<S extends ServerProcess>(
  port: number | undefined,
  make: (port: number) => S,
): Promise<S> {
  for (let tried = 1; ; tried++) {
    const server = make(port ?? (await freePort()));
    try {
      await server.start();
      return server;
    } catch (failure) {
      await server.stop();
      const isTaken =
        failure instanceof Error && /address already in use|failed to listen/i.test(failure.message);
      if (port !== undefined || tried === PORT_TRIES || !isTaken) throw failure;
    }
  }
}

/** What has been started for a test, which it ends with. */
export async function during<S extends { stop(): unknown }>(
  t: { teardown(run: () => unknown): void },
  starting: Promise<S>,
): Promise<S> {
  const started = await starting;
  t.teardown(() => started.stop());
  return started;
}
