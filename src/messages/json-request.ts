import type { ByteWriter } from '../base/bytes.ts';
import { type DescribedRequest, readDescribedRequest } from './described-request.ts';
import { beginLength, endLength } from './field-lengths.ts';
import { jsonFault } from './json-fault.ts';
import { JsonReader, NO_FIELD, nameTable } from './json-reader.ts';
import { INT32, UINT32, UINT64 } from './json-values.ts';
import { LEASE_ACTIONS, LEASE_FIELD } from './lease-message.ts';
import {
  MAX_DESCRIPTORS,
  MAX_ENTRIES,
  RequestTable,
  TOO_MANY_DESCRIPTORS,
  TOO_MANY_ENTRIES,
} from './request-table.ts';
import { WIRE, writeTag, writeUint } from './wire.ts';

// The fields of each message are bits, so that a number can hold the fields that were seen. In the proto3 JSON mapping
// both spellings of a name are the same field.

const DOMAIN = 1;
const DESCRIPTORS = 2;
const HITS_ADDEND = 4;
const REQUEST = 8;
const REQUEST_FIELDS = nameTable({
  domain: DOMAIN,
  descriptors: DESCRIPTORS,
  hitsAddend: HITS_ADDEND,
  hits_addend: HITS_ADDEND,
  request: REQUEST,
});

const ENTRIES = 1;
const LIMIT = 2;
const IS_NEGATIVE_HITS = 8;
const LEASE = 16;
const DESCRIPTOR_FIELDS = nameTable({
  entries: ENTRIES,
  limit: LIMIT,
  hitsAddend: HITS_ADDEND,
  hits_addend: HITS_ADDEND,
  isNegativeHits: IS_NEGATIVE_HITS,
  is_negative_hits: IS_NEGATIVE_HITS,
  lease: LEASE,
});

const ID = 1;
const ACTION = 2;
const LEASE_FIELDS = nameTable({ id: ID, action: ACTION });

const ACTIONS = nameTable(LEASE_ACTIONS);

const KEY = 1;
const VALUE = 2;
const ENTRY_FIELDS = nameTable({ key: KEY, value: VALUE });

const REQUESTS_PER_UNIT = 1;
const UNIT = 2;
const LIMIT_FIELDS = nameTable({
  requestsPerUnit: REQUESTS_PER_UNIT,
  requests_per_unit: REQUESTS_PER_UNIT,
  unit: UNIT,
});

/**
 * The names of `envoy.type.v3.RateLimitUnit`. WEEK is not among them: only the response has that name. Callers use the
 * number 7 for weeks.
 */
const UNITS = nameTable({ UNKNOWN: 0, SECOND: 1, MINUTE: 2, HOUR: 3, DAY: 4, MONTH: 5, YEAR: 6 });

const BOTH = DESCRIPTORS | REQUEST;
const ONE_OF_BOTH = 'a request is described by `descriptors` or by `request`: write one of them';

/** A request without descriptors: the rules of its domain say what they are. */
export interface UnmappedRequest {
  readonly domain: string;
  readonly request: DescribedRequest;
}

/**
 * Converts a `RateLimitRequest` from proto3 JSON to protobuf wire format and appends it. Fields keep the order of the
 * document, which protobuf allows.
 *
 * @returns null, or the `request` that the document has instead of descriptors, which can be appended
 * @throws JsonFault if the document is not valid; the writer is then unchanged
 */
export function jsonToRequest(body: Uint8Array, writer: ByteWriter): UnmappedRequest | null {
  if (body.length === 0) throw jsonFault(body, 0, 'is empty: send {"domain": "...", "descriptors": [...]}');
  const before = writer.length;
  try {
    const reader = new JsonReader(body);
    const request = readRequest(reader, writer);
    reader.endDocument();
    return request === null
      ? null
      : { domain: exactDomain(writer.bytes.subarray(before, writer.length)), request };
  } catch (thrown) {
    writer.length = before;
    throw thrown;
  }
}

function readRequest(reader: JsonReader, writer: ByteWriter): DescribedRequest | null {
  let seen = 0;
  let described: DescribedRequest | null = null;
  let field = reader.firstField(REQUEST_FIELDS);
  for (; field !== NO_FIELD; field = reader.nextField(REQUEST_FIELDS, seen)) {
    seen |= field;
    if (reader.takeNull()) continue;
    if (field === DOMAIN) readText(reader, writer, 1);
    else if (field === HITS_ADDEND) writeUint(writer, 3, Number(reader.integer(UINT32)));
    else if ((seen & BOTH) === BOTH) throw reader.refuse(ONE_OF_BOTH);
    else if (field === DESCRIPTORS) readDescriptors(reader, writer);
    else described = readDescribedRequest(reader);
  }
  return described;
}

/** Reads one request after the other. */
const domains = new RequestTable();

/** The domain of a request without descriptors. */
function exactDomain(request: Uint8Array): string {
  domains.reset();
  domains.add(request);
  return domains.text(domains.domainStart[0], domains.domainEnd[0]);
}

function readDescriptors(reader: JsonReader, writer: ByteWriter): void {
  let count = 0;
  for (let more = reader.firstItem(); more; more = reader.nextItem()) {
    if (++count > MAX_DESCRIPTORS) throw reader.refuse(TOO_MANY_DESCRIPTORS, 'too_large');
    const content = beginLength(writer, 2);
    readDescriptor(reader, writer);
    endLength(writer, content);
  }
}

function readDescriptor(reader: JsonReader, writer: ByteWriter): void {
  let seen = 0;
  let field = reader.firstField(DESCRIPTOR_FIELDS);
  for (; field !== NO_FIELD; field = reader.nextField(DESCRIPTOR_FIELDS, seen)) {
    seen |= field;
    if (reader.takeNull()) continue;
    if (field === ENTRIES) readEntries(reader, writer);
    else if (field === LIMIT) readLimit(reader, writer);
    else if (field === LEASE) readLease(reader, writer);
    else if (field === IS_NEGATIVE_HITS) writeUint(writer, 4, reader.boolean() ? 1 : 0);
    else readOwnHits(reader, writer);
  }
}

function readEntries(reader: JsonReader, writer: ByteWriter): void {
  let count = 0;
  for (let more = reader.firstItem(); more; more = reader.nextItem()) {
    if (++count > MAX_ENTRIES) throw reader.refuse(TOO_MANY_ENTRIES, 'too_large');
    const content = beginLength(writer, 1);
    readEntry(reader, writer);
    endLength(writer, content);
  }
}

function readEntry(reader: JsonReader, writer: ByteWriter): void {
  let seen = 0;
  let field = reader.firstField(ENTRY_FIELDS);
  for (; field !== NO_FIELD; field = reader.nextField(ENTRY_FIELDS, seen)) {
    seen |= field;
    if (reader.takeNull()) continue;
    readText(reader, writer, field === KEY ? 1 : 2);
  }
}

/** Reads the limit of a descriptor. An empty limit is written as well, because its presence overrides the rules. */
function readLimit(reader: JsonReader, writer: ByteWriter): void {
  const content = beginLength(writer, 2);
  let seen = 0;
  let field = reader.firstField(LIMIT_FIELDS);
  for (; field !== NO_FIELD; field = reader.nextField(LIMIT_FIELDS, seen)) {
    seen |= field;
    if (reader.takeNull()) continue;
    if (field === REQUESTS_PER_UNIT) writeUint(writer, 1, Number(reader.integer(UINT32)));
    else writeSigned(writer, 2, reader.nameOrInteger(UNITS, INT32));
  }
  endLength(writer, content);
}

/** Reads what a descriptor says about a lease. */
function readLease(reader: JsonReader, writer: ByteWriter): void {
  writeTag(writer, LEASE_FIELD, WIRE.bytes);
  writer.byte(0);
  const content = writer.length;
  let seen = 0;
  let field = reader.firstField(LEASE_FIELDS);
  for (; field !== NO_FIELD; field = reader.nextField(LEASE_FIELDS, seen)) {
    seen |= field;
    if (reader.takeNull()) continue;
    if (field === ID) readText(reader, writer, 1);
    else writeUint(writer, 2, reader.nameOrInteger(ACTIONS, UINT32));
  }
  endLength(writer, content);
}

/** Reads the `hits_addend` of a descriptor, a `UInt64Value`. 0 is written as an empty message, not omitted. */
function readOwnHits(reader: JsonReader, writer: ByteWriter): void {
  const hits = reader.integer(UINT64);
  const content = beginLength(writer, 3);
  if (typeof hits === 'number') writeUint(writer, 1, hits);
  else {
    writeTag(writer, 1, WIRE.varint);
    writeVarint64(writer, hits);
  }
  endLength(writer, content);
}

/** Reads a string into a text field. An empty string is omitted, as in proto3. */
function readText(reader: JsonReader, writer: ByteWriter, field: number): void {
  const before = writer.length;
  const content = beginLength(writer, field);
  reader.stringInto(writer);
  if (writer.length === content) writer.length = before;
  else endLength(writer, content);
}

/** Writes an enum or int32 field. Protobuf encodes negative numbers in 64-bit form with ten bytes. */
function writeSigned(writer: ByteWriter, field: number, value: number): void {
  if (value >= 0) writeUint(writer, field, value);
  else {
    writeTag(writer, field, WIRE.varint);
    writeVarint64(writer, BigInt.asUintN(64, BigInt(value)));
  }
}

function writeVarint64(writer: ByteWriter, value: bigint): void {
  let rest = value;
  for (; rest > 127n; rest >>= 7n) writer.byte(Number(rest & 127n) | 128);
  writer.byte(Number(rest));
}
