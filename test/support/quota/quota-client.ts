import { dialled } from '../asking.ts';
import { GrpcClient, type Talk } from '../grpc-client.ts';
import type { Teardown } from '../temp-directory.ts';
import { bucketId, type ReadAction, readActions, usageReports } from './model-proxy.ts';

const METHOD = '/envoy.service.rate_limit_quota.v3.RateLimitQuotaService/StreamRateLimitQuotas';

/** What a proxy reports of a bucket. */
export interface Reported {
  readonly entries: readonly (readonly [key: string, value: string])[];
  readonly allowed?: number;
  readonly denied?: number;
}

/** A proxy with a stream to a running service. */
export class QuotaClient {
  readonly #client: GrpcClient;
  readonly #talk: Talk;
  readonly #domain: string;

  /** @param address `host:port` of the gRPC port, or the path of its unix socket */
  constructor(t: Teardown, address: string, domain: string) {
    this.#client = new GrpcClient(dialled(address));
    this.#talk = this.#client.talk(METHOD);
    this.#domain = domain;
    t.teardown(() => this.close());
  }

  /** Sends a report, and returns the next actions that come back. */
  async report(...buckets: readonly Reported[]): Promise<ReadAction[]> {
    this.send(...buckets);
    return await this.next();
  }

  /** Sends a report. */
  send(...buckets: readonly Reported[]): void {
    const usages = buckets.map(({ entries, allowed = 0, denied = 0 }) => ({
      id: bucketId(entries),
      allowed,
      denied,
    }));
    this.#talk.send(usageReports(this.#domain, usages));
  }

  /** The next actions that come back. */
  async next(): Promise<ReadAction[]> {
    return readActions(await this.#talk.next());
  }

  close(): void {
    this.#talk.cancel();
    this.#client.close();
  }
}
