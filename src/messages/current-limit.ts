import { ByteWriter } from '../base/bytes.ts';
import { WIRE, writeText, writeUint } from './wire.ts';

/** The greatest number of the 32-bit fields of responses. They also say it where the truth is greater. */
export const MOST_IN_RESPONSE = 0xffff_ffff;

/** The content of `DescriptorStatus.current_limit`. `unit` is a number of `RateLimit.Unit`. */
interface CurrentLimit {
  readonly requestsPerUnit: number;
  readonly unit: number;
  readonly unitName: string;
  readonly name: string;
}

/** Field 2 of `DescriptorStatus`. */
const CURRENT_LIMIT_TAG = 2 * 8 + WIRE.bytes;

const message = new ByteWriter();

/** Appends `current_limit` with tag and length, in protobuf wire format. */
export function writeCurrentLimit(to: ByteWriter, limit: CurrentLimit): void {
  message.reset();
  writeUint(message, 1, Math.min(limit.requestsPerUnit, MOST_IN_RESPONSE));
  writeUint(message, 2, limit.unit);
  writeText(message, 3, limit.name);
  to.byte(CURRENT_LIMIT_TAG);
  to.varint(message.length);
  to.copy(message.bytes, 0, message.length);
}

/**
 * Appends `"currentLimit":{…}` in proto3 JSON: the name first, in declaration order, and without zero values. A number of
 * JSON has no width, so limits beyond 32 bits are told as they are.
 */
export function writeCurrentLimitJson(to: ByteWriter, limit: CurrentLimit): void {
  const fields: string[] = [];
  if (limit.name !== '') fields.push(`"name":${JSON.stringify(limit.name)}`);
  if (limit.requestsPerUnit !== 0) fields.push(`"requestsPerUnit":${limit.requestsPerUnit}`);
  if (limit.unit !== 0) fields.push(`"unit":"${limit.unitName}"`);
  to.text(`"currentLimit":{${fields.join(',')}}`);
}

/** Names of `RateLimitResponse.RateLimit.Unit` by number. */
export const UNIT_NAMES = ['UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR', 'WEEK'] as const;

/**
 * Lengths of the units in seconds, by `RateLimitResponse.RateLimit.Unit`, as envoyproxy/ratelimit counts them: a month has
 * 30 days, a year 365.
 */
export const UNIT_SECONDS: readonly number[] = [0, 1, 60, 3_600, 86_400, 2_592_000, 31_536_000, 604_800];
