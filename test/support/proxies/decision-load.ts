import { askOverGrpc, askOverHttp, dialled } from '../asking.ts';
import { request } from '../decisions.ts';
import { GrpcClient } from '../grpc-client.ts';
import type { Fronts } from './front.ts';
import { Load } from './load.ts';

/** A descriptor of the sample rules that is never over its limit. */
const PARTNER = { domain: 'demo', descriptors: [{ entries: [{ key: 'plan', value: 'partner' }] }] };

/** Callers that ask for decisions through a proxy, over HTTP and gRPC. */
export class DecisionLoad extends Load {
  readonly #client: GrpcClient;

  constructor({ decisions, grpc }: Fronts) {
    const client = new GrpcClient(dialled(grpc));
    const overHttp = async () => {
      const { status } = await askOverHttp(decisions, PARTNER);
      if (status !== 200) throw new Error(`/json was answered ${status}`);
    };
    super([overHttp, () => askOverGrpc(client, request('demo', 'plan=partner'))]);
    this.#client = client;
  }

  override async end(): Promise<void> {
    await super.end();
    this.#client.close();
  }
}
