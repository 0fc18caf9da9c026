import { join } from 'node:path';
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader';
import { repositoryRoot } from './repository.ts';

/** The independent codec: protobufjs on the contracts of xDS. */
export const XDS_DEFINITIONS = loadSync(
  ['ratelimit/config/ratelimit/v3/rls_conf.proto', 'envoy/service/discovery/v3/ads.proto'],
  { includeDirs: [join(repositoryRoot(), 'proto')], keepCase: true, enums: Number, defaults: true },
);

export const CONFIG_TYPE_URL = 'type.googleapis.com/ratelimit.config.ratelimit.v3.RateLimitConfig';

/** `RateLimitUnit`. */
export const UNIT = { second: 1, minute: 2, hour: 3, day: 4, month: 5, year: 6, week: 7 } as const;

/** A `RateLimitConfig` as a control plane would fill it in. */
export interface ConfigMessage {
  readonly name?: string;
  readonly domain?: string;
  readonly descriptors?: readonly DescriptorMessage[];
}

export interface DescriptorMessage {
  readonly key?: string;
  readonly value?: string;
  readonly rate_limit?: PolicyMessage;
  readonly descriptors?: readonly DescriptorMessage[];
  readonly shadow_mode?: boolean;
  readonly detailed_metric?: boolean;
  readonly quota_mode?: boolean;
  /** A `google.protobuf.Struct`. */
  readonly metadata?: { readonly fields: Readonly<Record<string, unknown>> };
}

export interface PolicyMessage {
  readonly unit?: number;
  readonly requests_per_unit?: number;
  readonly unlimited?: boolean;
  readonly name?: string;
  readonly replaces?: readonly { readonly name?: string }[];
}

export function encodeConfig(config: ConfigMessage): Buffer {
  return messageType('ratelimit.config.ratelimit.v3.RateLimitConfig').serialize(config);
}

/** A resource with one rule: so many requests an hour for each value of `key`. */
export function hourly(domain: string, key: string, requestsPerUnit: number): ConfigMessage {
  return {
    name: `${domain}-limits`,
    domain,
    descriptors: [{ key, rate_limit: { unit: UNIT.hour, requests_per_unit: requestsPerUnit } }],
  };
}

/** A message type by its full name. */
export function messageType(name: string): MessageTypeDefinition<object, object> {
  return XDS_DEFINITIONS[name] as MessageTypeDefinition<object, object>;
}
