import { join } from 'node:path';
import { Child } from '../../../test/support/child-process.ts';
import { repositoryRoot } from '../../../test/support/repository.ts';

/** How long the service may take to start with the largest rules, and to do what a line of its log tells. */
const PATIENCE_MS = 30_000;
const STOP_MS = 10_000;
/** Of the lines that the service logs as errors or warnings, so many are kept. */
const FAULT_LINES = 10;

export interface Ports {
  readonly grpc: number;
  readonly http: number;
  readonly debug: number;
}

/** The service as its users start it: by its launcher, with settings in the environment, on ports that are free. */
export class BenchService {
  readonly #child: Child;
  readonly #ports = new Map<string, number>();
  /** The first lines that it logged as errors or warnings. */
  readonly faultLines: string[] = [];

  private constructor(env: Readonly<Record<string, string>>, root: string) {
    this.#child = new Child({
      command: join(root, 'bin/sluice'),
      args: ['serve'],
      env: {
        PATH: process.env['PATH'],
        TMPDIR: process.env['TMPDIR'],
        HOST: '127.0.0.1',
        PORT: '0',
        GRPC_HOST: '127.0.0.1',
        GRPC_PORT: '0',
        DEBUG_HOST: '127.0.0.1',
        DEBUG_PORT: '0',
        LOG_FORMAT: 'json',
        LOG_LEVEL: 'info',
        ...env,
      },
    });
    this.#child.onLine(line => {
      const { name, address, level } = fieldsOf(line);
      const isFault = level === 'error' || level === 'warning';
      if (isFault && this.faultLines.length < FAULT_LINES) this.faultLines.push(line);
      if (name !== undefined && address !== undefined)
        this.#ports.set(String(name), Number(String(address).split(':').at(-1)));
    });
  }

  /**
   * Resolves when all three ports are open.
   *
   * @param root folder of the build
   */
  static async start(env: Readonly<Record<string, string>>, root = repositoryRoot()): Promise<BenchService> {
    const service = new BenchService(env, root);
    try {
      await service.#child.line(() => (service.#ports.size === 3 ? true : undefined), PATIENCE_MS);
      return service;
    } catch (failure) {
      await service.stop();
      throw failure;
    }
  }

  get pid(): number {
    return this.#child.pid;
  }

  get ports(): Ports {
    const of = (name: string): number => this.#ports.get(name) ?? 0;
    return { grpc: of('grpc'), http: of('http'), debug: of('debug') };
  }

  /** The end of what it wrote. */
  get output(): string {
    return this.#child.output;
  }

  /** Resolves when the service logs this message from now on. */
  async logged(message: string): Promise<void> {
    await this.#child.line(line => (fieldsOf(line)['@message'] === message ? true : undefined), PATIENCE_MS);
  }

  /** A page of the debug port. */
  async page(path: string): Promise<string> {
    return await (await fetch(`http://127.0.0.1:${this.ports.debug}${path}`)).text();
  }

  async stop(): Promise<void> {
    await this.#child.end('SIGTERM', STOP_MS);
  }
}

function fieldsOf(line: string): Record<string, unknown> {
  if (!line.startsWith('{')) return {};
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}
