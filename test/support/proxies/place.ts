import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { repositoryRoot } from '../repository.ts';
import { type ServiceProcess, startService } from '../service.ts';
import type { Teardown } from '../temp-directory.ts';

/** One place where Sluice runs: its ports stay the same when it is started again. */
export class Place {
  readonly #t: Teardown;
  readonly #env: Readonly<Record<string, string>>;
  #service: ServiceProcess | null = null;

  private constructor(t: Teardown, env: Readonly<Record<string, string>>) {
    this.#t = t;
    this.#env = env;
  }

  /** A place that serves decisions by the sample rules, until its test ends. */
  static async open(t: Teardown, env: Readonly<Record<string, string>> = {}): Promise<Place> {
    const place = new Place(t, {
      RUNTIME_ROOT: join(repositoryRoot(), 'ops/quickstart'),
      RUNTIME_WATCH_ROOT: 'false',
      DISABLE_STATS: 'true',
      PORT: String(await freePort()),
      GRPC_PORT: String(await freePort()),
      ...env,
    });
    await place.start();
    return place;
  }

  async start(): Promise<void> {
    const service = await startService({ env: this.#env });
    // It may have a long time to shut down in.
    this.#t.teardown(() => service.terminate('SIGKILL'));
    this.#service = service;
  }

  get service(): ServiceProcess {
    if (this.#service === null) throw new Error('the service has not been started');
    return this.#service;
  }

  get http(): string {
    return this.service.http;
  }

  get grpc(): string {
    return this.service.grpc;
  }
}
