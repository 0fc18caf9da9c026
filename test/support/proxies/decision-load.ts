import { setTimeout as pause } from 'node:timers/promises';
import { askOverGrpc, askOverHttp, dialled } from '../asking.ts';
import { request } from '../decisions.ts';
import { GrpcClient } from '../grpc-client.ts';
import type { Fronts } from './front.ts';

/** A descriptor of the sample rules that is never over its limit. */
const PARTNER = { domain: 'demo', descriptors: [{ entries: [{ key: 'plan', value: 'partner' }] }] };

/** Between two calls of a caller, in milliseconds: an instance that starts meanwhile needs the machine as well. */
const PACE_MS = 2;

/** Callers that ask for decisions through a proxy, over HTTP and gRPC, one call after the other. */
export class DecisionLoad {
  /** What became of calls that were not decided. */
  readonly failures: string[] = [];
  #calls = 0;
  #isGoing = true;
  #awaited: { readonly calls: number; readonly reached: () => void } | null = null;
  readonly #client: GrpcClient;
  readonly #callers: Promise<unknown>;

  constructor({ decisions, grpc }: Fronts) {
    this.#client = new GrpcClient(dialled(grpc));
    const overHttp = async () => {
      const { status } = await askOverHttp(decisions, PARTNER);
      if (status !== 200) throw new Error(`/json was answered ${status}`);
    };
    const overGrpc = () => askOverGrpc(this.#client, request('demo', 'plan=partner'));
    this.#callers = Promise.all([overHttp, overGrpc].map(ask => this.#repeat(ask)));
  }

  /** Resolves when this many further calls have been answered. */
  goesOn(calls: number): Promise<void> {
    return new Promise(reached => {
      this.#awaited = { calls: this.#calls + calls, reached };
    });
  }

  async end(): Promise<void> {
    this.#isGoing = false;
    await this.#callers;
    this.#client.close();
  }

  async #repeat(ask: () => Promise<unknown>): Promise<void> {
    while (this.#isGoing) {
      await ask().catch(failure => this.failures.push(String(failure)));
      this.#calls++;
      if (this.#calls === this.#awaited?.calls) this.#awaited.reached();
      await pause(PACE_MS);
    }
  }
}
