import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import type { RateLimitRequest } from '../../src/messages/client-codec.ts';
import { askOverGrpc, dialled } from './asking.ts';
import { GrpcClient } from './grpc-client.ts';

export interface ReloadLoadOptions {
  /** `host:port` of the HTTP front. */
  readonly http: string;
  /** `host:port` of the gRPC front. */
  readonly grpc: string;
  /** What is asked, over both. */
  readonly json: unknown;
  readonly message: RateLimitRequest;
}

/** Callers that ask one request after the other, half of them over HTTP keep-alive connections and half over gRPC. */
const CALLERS = 8;

/** Load on a service whose processes are replaced meanwhile, which must not fail a call. */
export class ReloadLoad {
  /** How many calls were answered. */
  answered = 0;
  /** What went wrong, a text for each call. */
  readonly failures: string[] = [];
  readonly #options: ReloadLoadOptions;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #clients: readonly GrpcClient[];

  constructor(options: ReloadLoadOptions) {
    this.#options = options;
    this.#clients = Array.from({ length: CALLERS / 2 }, () => new GrpcClient(dialled(options.grpc)));
  }

  /** Keeps calling while `work` is done. */
  async during(work: () => Promise<unknown>): Promise<void> {
    let going = true;
    const callers = this.#clients.flatMap(client => [
      this.#callWhile(
        () => going,
        'gRPC',
        () => askOverGrpc(client, this.#options.message),
      ),
      this.#callWhile(
        () => going,
        'HTTP',
        () => this.#askOverHttp(),
      ),
    ]);
    try {
      await work();
    } finally {
      going = false;
      await Promise.all(callers);
    }
  }

  close(): void {
    for (const client of this.#clients) client.close();
    this.#agent.destroy();
  }

  async #callWhile(holds: () => boolean, front: string, call: () => Promise<unknown>): Promise<void> {
    while (holds()) {
      try {
        await call();
        this.answered++;
      } catch (failure) {
        this.failures.push(`${front}: ${(failure as Error).message}`);
      }
    }
  }

  /** Not `fetch`, which may ask again when a connection that it kept was closed. */
  async #askOverHttp(): Promise<void> {
    const asking = request(`http://${this.#options.http}/json`, { method: 'POST', agent: this.#agent });
    asking.end(JSON.stringify(this.#options.json));
    const [response] = (await once(asking, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
  }
}
