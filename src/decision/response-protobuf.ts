import { ByteWriter } from '../base/bytes.ts';
import { secondsUntilReset } from '../counters/window.ts';
import { writeCurrentLimit } from '../messages/current-limit.ts';
import { writeStruct } from '../messages/struct.ts';
import { WIRE, writeBytes, writeText } from '../messages/wire.ts';
import { LIMIT } from '../rules/layout.ts';
import { KIND } from './batch.ts';
import { headerPairs, overrideLimit, type Response } from './response.ts';

/** Tags of `RateLimitResponse` and `DescriptorStatus`. */
const OVERALL_CODE = 1 * 8 + WIRE.varint;
const STATUSES = 2 * 8 + WIRE.bytes;
const STATUS_CODE = 1 * 8 + WIRE.varint;
const LIMIT_REMAINING = 3 * 8 + WIRE.varint;
const DURATION_UNTIL_RESET = 4 * 8 + WIRE.bytes;
const DURATION_SECONDS = 1 * 8 + WIRE.varint;
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
  if (response.headerNames !== null && response.reported >= 0) writeHeaders(to, response);
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
  const limited = decisions.kind[row] === KIND.limited;
  if (limited) {
    const limit = decisions.limit[row];
    if (limit >= 0) {
      const start = rules.limit(limit, LIMIT.protobuf);
      to.copy(rules.pool, start, start + rules.limit(limit, LIMIT.protobufLength));
    } else writeCurrentLimit(to, overrideLimit(response, row));
  }
  if (decisions.remaining[row] > 0) {
    to.byte(LIMIT_REMAINING);
    to.varint(decisions.remaining[row]);
  }
  if (limited) {
    const seconds = secondsUntilReset(decisions.unit[row], batch.nowS);
    to.byte(DURATION_UNTIL_RESET);
    // The length of the Duration: its tag and a varint of one to four bytes.
    to.byte(seconds < 0x80 ? 2 : seconds < 0x4000 ? 3 : seconds < 0x20_0000 ? 4 : 5);
    to.byte(DURATION_SECONDS);
    to.varint(seconds);
  }
}

function writeHeaders(to: ByteWriter, response: Response): void {
  const { batch, reported } = response;
  const reset = secondsUntilReset(batch.decisions.unit[reported], batch.nowS);
  for (const [name, value] of headerPairs(response, reset)) {
    part.reset();
    writeText(part, 1, name);
    writeText(part, 2, value);
    writeBytes(to, RESPONSE_HEADERS_FIELD, part.view());
  }
}
