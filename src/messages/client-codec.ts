import { ByteWriter } from '../base/bytes.ts';
import type { JsonObject } from '../base/json.ts';
import { LEASE_FIELD } from './lease-message.ts';
import { readStruct } from './struct.ts';
import { readerOf, type WireReader, writeBytes, writeText, writeUint } from './wire.ts';

/** A key and value pair of a descriptor. */
export interface DescriptorEntry {
  readonly key: string;
  readonly value: string;
}

/** `envoy.extensions.common.ratelimit.v3.RateLimitDescriptor`. */
export interface RequestDescriptor {
  readonly entries: readonly DescriptorEntry[];
  /** A limit that overrides the configured rules; null for none. */
  readonly limit: LimitOverride | null;
  /** Hits of this descriptor, 0 to 2^53 - 1. 0 checks the limit without counting; null uses the hits of the request. */
  readonly hitsAddend: number | null;
  /** Whether the hits are subtracted from the count, which never falls below 0. */
  readonly isNegativeHits?: boolean;
  /** What the call says about the lease of a holder. Absent or null for a call that names the holder in an entry only. */
  readonly lease?: RequestLease | null;
}

/** `sluice.v1.Lease`. */
export interface RequestLease {
  readonly id: string;
  /** A number of `LEASE_ACTIONS`, or 0. */
  readonly action: number;
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
  /** Hits of each descriptor without hits of its own, 0 to 2^32 - 1. Services treat 0 as 1. */
  readonly hitsAddend: number;
}

/** The parts of `envoy.service.ratelimit.v3.RateLimitResponse` that rate limit services fill. */
export interface RateLimitResponse {
  /** Index into {@link CODE_NAMES}. It may be out of range, because the enum is open. */
  readonly overallCode: number;
  /** One per descriptor, in the order of the request. */
  readonly statuses: readonly DescriptorStatus[];
  readonly responseHeadersToAdd: readonly HeaderValue[];
  /** The body of a refusal as text; empty if the response has none. */
  readonly rawBody: string;
  /** Null if the response has none. */
  readonly dynamicMetadata: JsonObject | null;
}

export interface DescriptorStatus {
  readonly code: number;
  /** Null if no limit applied. */
  readonly currentLimit: CurrentLimit | null;
  /** 0 to 2^32 - 1; unlimited rules have 2^32 - 1. */
  readonly limitRemaining: number;
  /** Seconds until the limit resets, with fractions; null if no limit applied. */
  readonly durationUntilReset: number | null;
}

interface CurrentLimit {
  /** Empty if the limit has no name. */
  readonly name: string;
  readonly requestsPerUnit: number;
  /** A number of `RateLimitResponse.RateLimit.Unit`, which is an open enum. */
  readonly unit: number;
}

interface HeaderValue {
  readonly key: string;
  readonly value: string;
}

/** `RateLimitResponse.Code` by number. */
export const CODE_NAMES = ['UNKNOWN', 'OK', 'OVER_LIMIT'] as const;

/** Path of the method `RateLimitService.ShouldRateLimit`. */
export const SHOULD_RATE_LIMIT_PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';

/** Encodes a request in protobuf wire format. For clients and tools; does not validate numbers. */
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
  const { lease = null } = descriptor;
  if (lease === null) return;
  writeMessage(writer, LEASE_FIELD, nested => {
    writeText(nested, 1, lease.id);
    writeUint(nested, 2, lease.action);
  });
}

/** Writes a message field even if the message is empty, because its presence is significant. */
function writeMessage(writer: ByteWriter, field: number, write: (nested: ByteWriter) => void): void {
  const nested = new ByteWriter();
  write(nested);
  writeBytes(writer, field, nested.view());
}

/**
 * Decodes a response in protobuf wire format. Ignores fields that rate limit services do not fill (quota, raw body,
 * request headers, raw header values, fractions of seconds). If a singular field is repeated, the last one counts.
 *
 * @throws WireFault if the bytes are not a valid message
 */
export function decodeRateLimitResponse(bytes: Uint8Array): RateLimitResponse {
  const reader = readerOf(bytes);
  let overallCode = 0;
  const statuses: DescriptorStatus[] = [];
  const responseHeadersToAdd: HeaderValue[] = [];
  let rawBody = '';
  let dynamicMetadata: JsonObject | null = null;
  while (reader.next()) {
    if (reader.field === 1) overallCode = reader.uint32();
    else if (reader.field === 2) statuses.push(reader.nested(readStatus));
    else if (reader.field === 3) responseHeadersToAdd.push(reader.nested(readHeader));
    else if (reader.field === 5) rawBody = reader.text();
    else if (reader.field === 6) dynamicMetadata = reader.nested(readStruct);
    else reader.skip();
  }
  return { overallCode, statuses, responseHeadersToAdd, rawBody, dynamicMetadata };
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

/** The seconds of a `google.protobuf.Duration`, with fractions. */
function readSeconds(reader: WireReader): number {
  let seconds = 0;
  let nanos = 0;
  while (reader.next()) {
    if (reader.field === 1) seconds = reader.uint64();
    else if (reader.field === 2) nanos = reader.uint32();
    else reader.skip();
  }
  return seconds + nanos / 1e9;
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
