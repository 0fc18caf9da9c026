import { ByteWriter } from '../../base/bytes.ts';
import { SECOND_MS } from '../../base/clock.ts';
import type { JsonObject } from '../../base/json.ts';
import { HEADER_END } from '../../messages/http-response.ts';
import { writeStruct } from '../../messages/struct.ts';
import { WIRE, writeBytes } from '../../messages/wire.ts';
import { ANSWER } from '../../rules/domain-answers.ts';
import { type DecisionTable, PENALIZED } from '../batch.ts';
import type { ResponseFormat } from '../decider.ts';
import type { EncodedAdditions } from '../response.ts';
import { MOST_IN_HEADER, writePolicy } from './policies.ts';
import type { ShownLimits } from './shown-limits.ts';

/** What additions say. */
interface AdditionsContent {
  readonly decisions: DecisionTable;
  readonly limits: ShownLimits;
  /** Bits of `ANSWER`, only those that apply to the answer. */
  readonly shown: number;
  /** `matched_rule`, with its keys in the order of their names; null if it is not shown. */
  readonly matched: JsonObject | null;
}

/** Tags of `RateLimitResponse`. */
const RESPONSE_HEADERS = 3 * 8 + WIRE.bytes;
const RAW_BODY_FIELD = 5;
const DYNAMIC_METADATA_FIELD = 6;
/** Tags of `HeaderValue`. */
const KEY_FIELD = 1;
const VALUE = 2 * 8 + WIRE.bytes;

/** The start of a `HeaderValue` with a name, up to its value. */
interface HeaderStart {
  /** Up to the length of the value. */
  readonly protobuf: Uint8Array;
  readonly json: string;
  /** The name and what ends it. */
  readonly http: string;
}

function headerStart(name: string): HeaderStart {
  const protobuf = new ByteWriter();
  writeBytes(protobuf, KEY_FIELD, Buffer.from(name));
  protobuf.byte(VALUE);
  return {
    protobuf: protobuf.take(),
    json: `{"key":"${name}","value":"`,
    http: `${name}${HEADER_END}`,
  };
}

const POLICY_HEADER = headerStart('RateLimit-Policy');
const LIMIT_HEADER = headerStart('RateLimit');
const RETRY_HEADER = headerStart('Retry-After');
const TYPE_HEADER = headerStart('Content-Type');
const PROBLEM_TYPE = 'application/problem+json';

/**
 * RFC 9457, with the type of draft-ietf-httpapi-ratelimit-headers-10 for exceeded quotas. `retry-after` is an extension for
 * clients that do not see the header.
 */
const QUOTA_PROBLEM =
  '{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",' +
  '"title":"Quota exceeded","status":429,"violated-policies":[';

/** Of a ban, which violates no policy. A problem of this type is no more than its status (RFC 9457 section 4.2.1). */
const BAN_PROBLEM = '{"type":"about:blank","title":"Too Many Requests","status":429';

/** Tells a caller that waiting for the next window is not enough. */
const PENALTY_DETAIL =
  ',"detail":"The limit was exceeded repeatedly. All requests are rejected until the penalty ends."';

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const LIST_END = 93;

/** Encodes additions. The result is in buffers that the next call uses again. */
export class AdditionsEncoder {
  readonly #headers = new ByteWriter(512);
  readonly #rest = new ByteWriter(512);
  readonly #value = new ByteWriter(512);

  encode(content: AdditionsContent, format: ResponseFormat): EncodedAdditions {
    this.#headers.reset();
    this.#rest.reset();
    this.#writeHeaders(content, format);
    if ((content.shown & ANSWER.problemBody) !== 0) {
      this.#writeProblem(content);
      writeBody(this.#rest, this.#value, format);
    }
    if (content.matched !== null) writeMetadata(this.#rest, { matched_rule: content.matched }, format);
    return { headers: this.#headers, rest: this.#rest };
  }

  #writeHeaders({ decisions, limits, shown }: AdditionsContent, format: ResponseFormat): void {
    const value = this.#value;
    if ((shown & ANSWER.ratelimitHeaders) !== 0 && limits.count > 0) {
      value.reset();
      for (let i = 0; i < limits.count; i++) {
        if (i > 0) value.ascii(', ');
        writePolicy(value, limits.policies[i], decisions, limits.rows[i]);
      }
      this.#endHeader(POLICY_HEADER, format);
      value.reset();
      for (let i = 0; i < limits.count; i++) {
        if (i > 0) value.ascii(', ');
        writeServiceLimit(value, limits.policies[i].nameBytes, decisions, limits.rows[i]);
      }
      this.#endHeader(LIMIT_HEADER, format);
    }
    if ((shown & ANSWER.retryAfter) !== 0) {
      value.reset();
      value.decimal(limits.retryAfterS);
      this.#endHeader(RETRY_HEADER, format);
    }
    // The type of the body of an HTTP response is known.
    if ((shown & ANSWER.problemBody) !== 0 && format !== 'http') {
      value.reset();
      value.ascii(PROBLEM_TYPE);
      this.#endHeader(TYPE_HEADER, format);
    }
  }

  /** Appends a header with the value in `#value`. */
  #endHeader({ protobuf, json, http }: HeaderStart, format: ResponseFormat): void {
    const to = this.#headers;
    const value = this.#value;
    if (format === 'http') {
      to.ascii(http);
      to.copy(value.bytes, 0, value.length);
      to.byte(0);
      return;
    }
    if (format === 'json') {
      if (to.length > 0) to.byte(COMMA);
      to.ascii(json);
      escapeInto(to, value);
      to.ascii('"}');
      return;
    }
    to.byte(RESPONSE_HEADERS);
    to.varint(protobuf.length + varintBytes(value.length) + value.length);
    to.copy(protobuf, 0, protobuf.length);
    to.varint(value.length);
    to.copy(value.bytes, 0, value.length);
  }

  /** Sets `#value` to the body of a refusal. */
  #writeProblem({ decisions, limits }: AdditionsContent): void {
    const { policies, rows, violatedCount, retryAfterS } = limits;
    let isPenalized = false;
    const value = this.#value;
    value.reset();
    value.ascii(violatedCount > 0 ? QUOTA_PROBLEM : BAN_PROBLEM);
    for (let i = 0; i < violatedCount; i++) {
      if (i > 0) value.byte(COMMA);
      const { nameBytes } = policies[i];
      value.copy(nameBytes, 0, nameBytes.length);
      isPenalized ||= (decisions.flags[rows[i]] & PENALIZED) !== 0;
    }
    if (violatedCount > 0) value.byte(LIST_END);
    if (isPenalized) value.ascii(PENALTY_DETAIL);
    value.ascii(',"retry-after":');
    value.decimal(retryAfterS);
    value.ascii('}');
  }
}

/** Appends the item of `RateLimit` for a row: `"shop.user";r=0;t=30`. Seconds are rounded up. */
function writeServiceLimit(to: ByteWriter, name: Uint8Array, decisions: DecisionTable, row: number): void {
  to.copy(name, 0, name.length);
  to.ascii(';r=');
  to.decimal(Math.min(decisions.remaining[row], MOST_IN_HEADER));
  to.ascii(';t=');
  to.decimal(Math.ceil(decisions.resetMs[row] / SECOND_MS));
}

function writeBody(to: ByteWriter, body: ByteWriter, format: ResponseFormat): void {
  if (format === 'protobuf') writeBytes(to, RAW_BODY_FIELD, body.view());
  else if (format === 'http') to.copy(body.bytes, 0, body.length);
  else to.ascii(`,"rawBody":"${Buffer.from(body.view()).toString('base64')}"`);
}

function writeMetadata(to: ByteWriter, metadata: JsonObject, format: ResponseFormat): void {
  if (format === 'json') {
    to.text(`,"dynamicMetadata":${JSON.stringify(metadata)}`);
    return;
  }
  const struct = new ByteWriter();
  writeStruct(struct, metadata);
  writeBytes(to, DYNAMIC_METADATA_FIELD, struct.view());
}

/** Appends ASCII text within a JSON string. */
function escapeInto(to: ByteWriter, { bytes, length }: ByteWriter): void {
  for (let i = 0; i < length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE || byte === BACKSLASH) to.byte(BACKSLASH);
    to.byte(byte);
  }
}

/** Bytes of a varint below 2^21. */
function varintBytes(value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : 3;
}
