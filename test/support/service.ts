import { join } from 'node:path';
import { Child, type ChildEnd } from './child-process.ts';
import { repositoryRoot } from './repository.ts';
import { writeRules } from './rule-files.ts';
import { makeTempDirectory, removeDirectory, type Teardown, tempDirectory } from './temp-directory.ts';

/** A listener of the service, by the name its log line gives it. */
export type Front = 'http' | 'grpc' | 'debug';

export interface ServiceOptions {
  /** Settings. Fronts listen on free loopback ports unless set here; nothing else is taken from this process. Undefined unsets one. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Arguments of the program; without any: `serve`. */
  readonly args?: readonly string[];
  /** Path of another Node.js than the packaged one, for the service to run on as on that of a host. */
  readonly node?: string;
  /** The folder of the installation; without any: the repository. */
  readonly folder?: string;
  /** The fronts to wait for; without any: all three. */
  readonly fronts?: readonly Front[];
  /** Longest wait for the fronts, in milliseconds. */
  readonly withinMs?: number;
}

/** One line of the service's log, as parsed JSON. */
export type LogLine = Readonly<Record<string, unknown>>;

/** How the service ended, and how long that took from the signal on. */
export interface Termination extends ChildEnd {
  readonly elapsedMs: number;
}

/** Longest wait for the service to start, to stop, or to log an awaited line. */
const PATIENCE_MS = 60_000;
const ALL_FRONTS: readonly Front[] = ['http', 'grpc', 'debug'];

/**
 * Starts the built service the way a user does and waits until its fronts listen.
 * Fails, with all that the process wrote, when it ends first or takes too long.
 * Whoever starts it ends it; {@link serviceFor} ends with its test.
 */
export async function startService(options: ServiceOptions = {}): Promise<ServiceProcess> {
  const service = new ServiceProcess(options);
  try {
    await service.listening(options.fronts ?? ALL_FRONTS, options.withinMs ?? PATIENCE_MS);
  } catch (failure) {
    await service.terminate('SIGKILL');
    throw failure;
  }
  return service;
}

/** Options, and rules that it reads: a file, or files by their path below `RUNTIME_ROOT`. */
interface ServiceForTest extends ServiceOptions {
  readonly rules?: string | Readonly<Record<string, string>>;
}

/** A service that ends with the test. */
export async function serviceFor(
  t: Teardown,
  { rules, ...options }: ServiceForTest = {},
): Promise<ServiceProcess> {
  const files = typeof rules === 'string' ? { 'config/rules.yaml': rules } : rules;
  const root = files && { RUNTIME_ROOT: writeRules(tempDirectory(t), files) };
  const service = await startService({ ...options, env: { ...root, ...options.env } });
  t.teardown(() => service.terminate());
  return service;
}

/** A service that has only been launched, and ends with the test. */
export function launched(t: Teardown, options: ServiceOptions): ServiceProcess {
  const service = new ServiceProcess(options);
  t.teardown(() => service.terminate());
  return service;
}

/** The service in a process of its own. */
export class ServiceProcess {
  /** Every JSON line it has logged so far. */
  readonly logs: LogLine[] = [];
  readonly #child: Child;
  readonly #addresses = new Map<unknown, string>();

  constructor(options: ServiceOptions) {
    // The launcher would hand over to the packaged Node.js.
    const program = options.node === undefined ? 'sluice.mjs' : 'program.mjs';
    const launcher = join(options.folder ?? repositoryRoot(), 'ops/launch', program);
    // The quick start would keep its tasks in the working tree.
    const data = options.args?.includes('--quickstart') === true ? makeTempDirectory() : null;
    this.#child = new Child({
      command: options.node ?? process.execPath,
      args: [launcher, ...(options.args ?? ['serve'])],
      env: { ...testSettings(), ...(data !== null && { TASKS_DATA_DIRECTORY: data }), ...options.env },
    });
    this.#child.onLine(line => this.#note(line));
    if (data !== null) this.#child.ended.then(() => removeDirectory(data));
  }

  /** `host:port` of the HTTP front. */
  get http(): string {
    return this.address('http');
  }

  /** `host:port` of the gRPC front, or the path of its unix socket. */
  get grpc(): string {
    return this.address('grpc');
  }

  /** `host:port` of the debug front. */
  get debug(): string {
    return this.address('debug');
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** The end of all that it wrote, to both outputs. */
  get output(): string {
    return this.#child.output;
  }

  /** Resolves when it has ended by itself or by a signal. */
  get ended(): Promise<ChildEnd> {
    return this.#child.ended;
  }

  address(front: Front): string {
    const address = this.#addresses.get(front);
    if (address === undefined)
      throw new Error(`the service does not listen for ${front}. It wrote:\n${this.output}`);
    return address;
  }

  /** Resolves when each of `fronts` listens. */
  async listening(fronts: readonly Front[], withinMs: number): Promise<void> {
    const isUp = () => fronts.every(front => this.#addresses.has(front));
    if (!isUp()) await this.#child.line(() => (isUp() ? true : undefined), withinMs);
  }

  /** Resolves with the first logged line, past or to come, that `matches`. */
  async logged(matches: (line: LogLine) => boolean, withinMs = PATIENCE_MS): Promise<LogLine> {
    const past = this.logs.find(matches);
    if (past !== undefined) return past;
    return await this.#child.line(text => {
      const line = parseLogLine(text);
      return line !== undefined && matches(line) ? line : undefined;
    }, withinMs);
  }

  /** Resolves once all that it wrote so far, to both outputs, matches. */
  async written(pattern: RegExp, withinMs = PATIENCE_MS): Promise<void> {
    const isThere = () => pattern.test(this.output);
    if (!isThere()) await this.#child.line(() => (isThere() ? true : undefined), withinMs);
  }

  /** Sends a signal without waiting for what it does. */
  signal(signal: NodeJS.Signals): void {
    this.#child.signal(signal);
  }

  /** Sends `signal` and waits for the end. A process that does not end is killed, which `signal` then tells. */
  async terminate(signal: NodeJS.Signals = 'SIGTERM'): Promise<Termination> {
    const sentAt = performance.now();
    const end = await this.#child.end(signal, PATIENCE_MS);
    return { ...end, elapsedMs: performance.now() - sentAt };
  }

  /** Runs for each line before anybody who waits for one: it was the first to listen. */
  #note(text: string): void {
    const line = parseLogLine(text);
    if (line === undefined) return;
    this.logs.push(line);
    if (isListening(line)) this.#addresses.set(line['name'], String(line['address']));
  }
}

/** Whether a log line says that a server has opened its port. */
export function isListening(line: LogLine): boolean {
  return / server listening$/.test(String(line['@message'])) && line['address'] !== undefined;
}

function testSettings(): Record<string, string | undefined> {
  return {
    PATH: process.env['PATH'],
    HOST: '127.0.0.1',
    PORT: '0',
    GRPC_HOST: '127.0.0.1',
    GRPC_PORT: '0',
    DEBUG_HOST: '127.0.0.1',
    DEBUG_PORT: '0',
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'info',
  };
}

function parseLogLine(text: string): LogLine | undefined {
  if (!text.startsWith('{')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
