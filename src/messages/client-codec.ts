import { ByteWriter } from '../base/bytes.ts';
import type { JsonObject } from '../base/json.ts';
import { readStruct } from './struct.ts';
import { WireReader, writeBytes, writeText, writeUint } from './wire.ts';

/** A key and value pair of a descriptor. */
export interface DescriptorEntry {
  readonly key: string;
  readonly value: string;
}

/** `envoy.extensions.common.ratelimit.v3.RateLimitDescriptor`. */
export interface RequestDescriptor {
  readonly entries: readonly DescriptorEntry[];
  /** A limit that takes the place of the configured rules; null for none. */
  readonly limit: LimitOverride | null;
  /** Hits of this descriptor, 0 to 2^53 - 1; 0 only asks. Null: the hits of the request count. */
  readonly hitsAddend: number | null;
  /** The hits are given back: they come off the count, which never falls below 0. */
  readonly isNegativeHits?: boolean;
}

interface LimitOverride {
  /** 0 to 2^32 - 1. */
  readonly requestsPerUnit: number;
  /** A number of `envoy.type.v3.RateLimitUnit`; 7 is a week. */
  readonly unit: number;
}

/** `envoy.service.ratelimit.v3.RateLimitRequest`. */
export interface RateLimitRequest {
  readonly domain: string;
  readonly descriptors: readonly RequestDescriptor[];
  /** Hits of each descriptor that brings none of its own, 0 to 2^32 - 1; services read 0 as 1. */
  readonly hitsAddend: number;
}

/** The parts of `envoy.service.ratelimit.v3.RateLimitResponse` that rate limit services fill. */
export interface RateLimitResponse {
  /** Index into {@link CODE_NAMES}; the protocol leaves the enum open, so it may lie beyond. */
  readonly overallCode: number;
  /** One per descriptor, in the order of the request. */
  readonly statuses: readonly DescriptorStatus[];
  readonly responseHeadersToAdd: readonly HeaderValue[];
  /** Null when the response has none. */
  readonly dynamicMetadata: JsonObject | null;
}

export interface DescriptorStatus {
  readonly code: number;
  /** Null when no limit applied. */
  readonly currentLimit: CurrentLimit | null;
  /** 0 to 2^32 - 1, the latter for unlimited rules. */
  readonly limitRemaining: number;
  /** Whole seconds until the window ends; null when no limit applied. */
  readonly durationUntilReset: number | null;
}

interface CurrentLimit {
  /** Empty when the limit has none. */
  readonly name: string;
  readonly requestsPerUnit: number;
  /** A number of `RateLimitResponse.RateLimit.Unit`; an open enum too. */
  readonly unit: number;
}

interface HeaderValue {
  readonly key: string;
  readonly value: string;
}

/** `RateLimitResponse.Code` by number. */
export const CODE_NAMES = ['UNKNOWN', 'OK', 'OVER_LIMIT'] as const;

/** The path of the one decision method. */
export const SHOULD_RATE_LIMIT_PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

/** Encodes a request in protobuf wire format. For clients and tools; numbers are taken as given. */
export function encodeRateLimitRequest(request: RateLimitRequest): Uint8Array {
  const writer = new ByteWriter();
  writeText(writer, 1, request.domain);
  for (const descriptor of request.descriptors) {
    writeMessage(writer, 2, nested => writeDescriptor(nested, descriptor));
  }
  writeUint(writer, 3, request.hitsAddend);
  return writer.take();
}

function writeDescriptor(writer: ByteWriter, descriptor: RequestDescriptor): void {
  for (const entry of descriptor.entries) {
    writeMessage(writer, 1, nested => {
      writeText(nested, 1, entry.key);
      writeText(nested, 2, entry.value);
    });
  }
  const { limit, hitsAddend } = descriptor;
  if (limit !== null) {
    writeMessage(writer, 2, nested => {
      writeUint(nested, 1, limit.requestsPerUnit);
      writeUint(nested, 2, limit.unit);
    });
  }
  if (hitsAddend !== null) writeMessage(writer, 3, nested => writeUint(nested, 1, hitsAddend));
  if (descriptor.isNegativeHits === true) writeUint(writer, 4, 1);
}

/** Writes a message field, also when the message is empty: being there says something. */
function writeMessage(writer: ByteWriter, field: number, write: (nested: ByteWriter) => void): void {
  const nested = new ByteWriter();
  write(nested);
  writeBytes(writer, field, nested.view());
}

/**
 * Decodes a response in protobuf wire format. Fields that no rate limit service fills (quota, raw body, request
 * headers, raw header values, fractions of seconds) are passed over. Where a single field comes twice, the
 * last one counts.
 *
 * @throws WireFault when the bytes are not such a message
 */
export function decodeRateLimitResponse(bytes: Uint8Array): RateLimitResponse {
  const reader = new WireReader();
  reader.open(bytes, 0, bytes.length);
  let overallCode = 0;
  const statuses: DescriptorStatus[] = [];
  const responseHeadersToAdd: HeaderValue[] = [];
  let dynamicMetadata: JsonObject | null = null;
  while (reader.next()) {
    if (reader.field === 1) overallCode = reader.uint32();
    else if (reader.field === 2) statuses.push(reader.nested(readStatus));
    else if (reader.field === 3) responseHeadersToAdd.push(reader.nested(readHeader));
    else if (reader.field === 6) dynamicMetadata = reader.nested(readStruct);
    else reader.skip();
  }
  return { overallCode, statuses, responseHeadersToAdd, dynamicMetadata };
}

function readStatus(reader: WireReader): DescriptorStatus {
  let code = 0;
  let currentLimit: CurrentLimit | null = null;
  let limitRemaining = 0;
  let durationUntilReset: number | null = null;
  while (reader.next()) {
    if (reader.field === 1) code = reader.uint32();
    else if (reader.field === 2) currentLimit = reader.nested(readLimit);
    else if (reader.field === 3) limitRemaining = reader.uint32();
    else if (reader.field === 4) durationUntilReset = reader.nested(readSeconds);
    else reader.skip();
  }
  return { code, currentLimit, limitRemaining, durationUntilReset };
}

function readLimit(reader: WireReader): CurrentLimit {
  let name = '';
  let requestsPerUnit = 0;
  let unit = 0;
  while (reader.next()) {
    if (reader.field === 1) requestsPerUnit = reader.uint32();
    else if (reader.field === 2) unit = reader.uint32();
    else if (reader.field === 3) name = reader.text();
    else reader.skip();
  }
  return { name, requestsPerUnit, unit };
}

/** The seconds of a `google.protobuf.Duration`. */
function readSeconds(reader: WireReader): number {
  let seconds = 0;
  while (reader.next()) {
    if (reader.field === 1) seconds = reader.uint64();
    else reader.skip();
  }
  return seconds;
}

function readHeader(reader: WireReader): HeaderValue {
  let key = '';
  let value = '';
  while (reader.next()) {
    if (reader.field === 1) key = reader.text();
    else if (reader.field === 2) value = reader.text();
    else reader.skip();
  }
  return { key, value };
}
