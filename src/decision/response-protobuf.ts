import { ByteWriter } from '../base/bytes.ts';
import { SECOND_MS } from '../base/clock.ts';
import { MOST_IN_RESPONSE, writeCurrentLimit } from '../messages/current-limit.ts';
import { writeStruct } from '../messages/struct.ts';
import { WIRE, writeBytes, writeText } from '../messages/wire.ts';
import { LIMIT } from '../rules/layout.ts';
import { isLimited, KIND } from './batch.ts';
import { hasLimitOfRule, headerPairs, mayHaveHeaders, overrideLimit, type Response } from './response.ts';

/** Tags of `RateLimitResponse` and `DescriptorStatus`. */
const OVERALL_CODE = 1 * 8 + WIRE.varint;
const STATUSES = 2 * 8 + WIRE.bytes;
const STATUS_CODE = 1 * 8 + WIRE.varint;
const LIMIT_REMAINING = 3 * 8 + WIRE.varint;
const DURATION_UNTIL_RESET = 4 * 8 + WIRE.bytes;
const DURATION_SECONDS = 1 * 8 + WIRE.varint;
const DURATION_NANOS = 2 * 8 + WIRE.varint;
const NANOS_OF_MS = 1_000_000;
const RESPONSE_HEADERS_FIELD = 3;
const DYNAMIC_METADATA_FIELD = 6;

const part = new ByteWriter();

/** Appends a `RateLimitResponse` in protobuf wire format. */
export function writeProtobufResponse(to: ByteWriter, response: Response): void {
  const { batch, request } = response;
  const first = batch.requests.firstDescriptor[request];
  const end = first + batch.requests.descriptorCount[request];
  to.byte(OVERALL_CODE);
  to.byte(response.overallCode);
  for (let row = first; row < end; row++) {
    to.byte(STATUSES);
    // One byte is reserved for the length, which is enough for nearly every status.
    const lengthAt = to.length;
    to.byte(0);
    writeStatus(to, response, row);
    fillLength(to, lengthAt);
  }
  if (mayHaveHeaders(response)) writeHeaders(to, response);
  const { additions } = response;
  if (additions !== null) {
    to.copy(additions.headers.bytes, 0, additions.headers.length);
    to.copy(additions.rest.bytes, 0, additions.rest.length);
  }
  if (response.metadata !== null) {
    part.reset();
    writeStruct(part, response.metadata);
    writeBytes(to, DYNAMIC_METADATA_FIELD, part.view());
  }
}

/** Writes the length of the content after the byte at `at` into that byte, and moves the content if it needs more. */
function fillLength(to: ByteWriter, at: number): void {
  const start = at + 1;
  const length = to.length - start;
  if (length < 128) {
    to.bytes[at] = length;
    return;
  }
  part.reset();
  part.copy(to.bytes, start, to.length);
  to.length = at;
  to.varint(length);
  to.copy(part.bytes, 0, length);
}

function writeStatus(to: ByteWriter, response: Response, row: number): void {
  const { batch, rules } = response;
  const { decisions } = batch;
  to.byte(STATUS_CODE);
  to.byte(decisions.code[row]);
  const limited = isLimited(decisions.kind[row]);
  if (limited) {
    if (hasLimitOfRule(decisions, row)) {
      const limit = decisions.limit[row];
      const start = rules.limit(limit, LIMIT.protobuf);
      to.copy(rules.pool, start, start + rules.limit(limit, LIMIT.protobufLength));
    } else writeCurrentLimit(to, overrideLimit(response, row));
  }
  if (decisions.remaining[row] > 0) {
    to.byte(LIMIT_REMAINING);
    to.varint(Math.min(decisions.remaining[row], MOST_IN_RESPONSE));
  }
  if (limited || decisions.kind[row] === KIND.banned) {
    to.byte(DURATION_UNTIL_RESET);
    writeDuration(to, decisions.resetMs[row]);
  }
}

/** Appends a `Duration` with its length. */
function writeDuration(to: ByteWriter, ms: number): void {
  const seconds = Math.floor(ms / SECOND_MS);
  const nanos = (ms - seconds * SECOND_MS) * NANOS_OF_MS;
  to.byte(fieldBytes(seconds) + fieldBytes(nanos));
  if (seconds > 0) {
    to.byte(DURATION_SECONDS);
    to.varint(seconds);
  }
  if (nanos > 0) {
    to.byte(DURATION_NANOS);
    to.varint(nanos);
  }
}

/** Bytes of a varint field with a tag of one byte; 0 is left out. */
function fieldBytes(value: number): number {
  if (value === 0) return 0;
  let bytes = 2;
  for (let bound = 0x80; value >= bound; bound *= 0x80) bytes++;
  return bytes;
}

function writeHeaders(to: ByteWriter, response: Response): void {
  for (const [name, value] of headerPairs(response)) {
    part.reset();
    writeText(part, 1, name);
    writeText(part, 2, value);
    writeBytes(to, RESPONSE_HEADERS_FIELD, part.view());
  }
}
