import { join } from 'node:path';
import { loadSync } from '@grpc/proto-loader';
import { repositoryRoot } from '../../support/repository.ts';
import type { ReadRequest } from './read-table.ts';

/** The independent codec: protobufjs on the same contract. */
const definition = loadSync('envoy/service/ratelimit/v3/rls.proto', {
  includeDirs: [join(repositoryRoot(), 'proto')],
  longs: String,
  enums: Number,
  defaults: true,
  oneofs: true,
});

interface Method {
  requestDeserialize(bytes: Buffer): unknown;
  responseDeserialize(bytes: Buffer): unknown;
}
const service = definition['envoy.service.ratelimit.v3.RateLimitService'] as unknown as Record<
  string,
  Method
>;

/** `RateLimitRequest` as protobufjs shows it, with 64-bit numbers as texts. */
interface LoadedRequest {
  readonly domain: string;
  readonly descriptors: readonly {
    readonly entries: readonly { readonly key: string; readonly value: string }[];
    readonly limit: { readonly requestsPerUnit: number; readonly unit: number } | null;
    readonly hitsAddend: { readonly value: string } | null;
    readonly isNegativeHits: boolean;
  }[];
  readonly hitsAddend: number;
}

/** A request as protobufjs reads it, in the form that a table is read back in. Throws what protobufjs throws. */
export function readIndependently(bytes: Uint8Array): ReadRequest {
  const loaded = service['ShouldRateLimit'].requestDeserialize(Buffer.from(bytes)) as LoadedRequest;
  return {
    domain: loaded.domain,
    descriptors: loaded.descriptors.map(({ entries, limit, hitsAddend, isNegativeHits }) => ({
      entries: entries.map(({ key, value }) => ({ key, value })),
      // Enums are signed there.
      limit: limit === null ? null : { requestsPerUnit: limit.requestsPerUnit, unit: limit.unit >>> 0 },
      hits: hitsAddend === null ? null : Math.min(Number(hitsAddend.value), Number.MAX_SAFE_INTEGER),
      isRefund: isNegativeHits,
    })),
    hits: loaded.hitsAddend,
  };
}

/** The `dynamic_metadata` of response bytes as protobufjs shows it: maps of fields of values of one kind. */
export function metadataIndependently(response: Uint8Array): unknown {
  const loaded = service['ShouldRateLimit'].responseDeserialize(Buffer.from(response));
  return (loaded as { readonly dynamicMetadata: unknown }).dynamicMetadata;
}
