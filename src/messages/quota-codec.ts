import { ByteWriter } from '../base/bytes.ts';
import { Fault } from '../base/fault.ts';
import type { DescriptorEntry } from './client-codec.ts';
import { readerOf, WIRE, type WireReader, writeBytes, writeTag, writeUint } from './wire.ts';

/** Bounds on a message: the reports in it, and the size of an id in bytes. */
const MAX_USAGES = 100_000;
const MAX_ID_BYTES = 65_536;

/** Larger numbers of requests in a report are read as this one, so that sums stay exact. No proxy has that many requests. */
const MOST_REQUESTS = 2 ** 32;

/** What a proxy has done in a bucket since its previous report of the bucket: `BucketQuotaUsage`. */
interface BucketUsage {
  /** `BucketId` in wire format. Its entries have no order. Valid as long as the message. */
  readonly id: Uint8Array;
  /** Number of requests, at most 2^32. */
  readonly allowed: number;
  readonly denied: number;
}

/** `RateLimitQuotaUsageReports`, without the time since the previous report, which proxies send in whole seconds. */
export interface UsageReports {
  /** Empty if the message has none, as all messages of a stream but the first one may. */
  readonly domain: string;
  readonly usages: readonly BucketUsage[];
}

/**
 * Reads a message of the stream of a proxy.
 *
 * @throws WireFault if the bytes are not a valid message
 * @throws Fault `too_large` if it has too many reports, or an id that is too large
 */
export function decodeUsageReports(bytes: Uint8Array): UsageReports {
  const reader = readerOf(bytes);
  const usages: BucketUsage[] = [];
  let domain = '';
  while (reader.next()) {
    if (reader.field === 1) domain = reader.checkedText();
    else if (reader.field !== 2) reader.skip();
    else {
      if (usages.length === MAX_USAGES)
        throw new Fault(
          'too_large',
          `a message reports more than ${MAX_USAGES} buckets; send the others in another message`,
        );
      usages.push(reader.nested(readUsage));
    }
  }
  return { domain, usages };
}

const NO_ID = new Uint8Array(0);

function readUsage(reader: WireReader): BucketUsage {
  let id: Uint8Array = NO_ID;
  let allowed = 0;
  let denied = 0;
  while (reader.next()) {
    if (reader.field === 1) id = reader.view();
    else if (reader.field === 3) allowed = Math.min(reader.uint64(), MOST_REQUESTS);
    else if (reader.field === 4) denied = Math.min(reader.uint64(), MOST_REQUESTS);
    else reader.skip();
  }
  if (id.length > MAX_ID_BYTES)
    throw new Fault('too_large', `the id of a bucket has ${id.length} bytes; send at most ${MAX_ID_BYTES}`);
  return { id, allowed, denied };
}

/**
 * Reads the entries of a `BucketId`. Of several entries with one key, the last one counts, as in all maps of protobuf.
 *
 * @throws WireFault if the bytes are not a valid message
 */
export function decodeBucketId(id: Uint8Array): readonly DescriptorEntry[] {
  const reader = readerOf(id);
  const entries = new Map<string, string>();
  while (reader.next()) {
    if (reader.field === 1) reader.nested(entry => readEntry(entry, entries));
    else reader.skip();
  }
  return [...entries].map(([key, value]) => ({ key, value }));
}

function readEntry(reader: WireReader, entries: Map<string, string>): void {
  let key = '';
  let value = '';
  while (reader.next()) {
    if (reader.field === 1) key = reader.checkedText();
    else if (reader.field === 2) value = reader.checkedText();
    else reader.skip();
  }
  entries.set(key, value);
}

/**
 * What a proxy does with the requests of a bucket: `RateLimitStrategy`. A token bucket has as many tokens at most as each
 * fill adds.
 */
export type QuotaStrategy =
  | { readonly kind: 'allow_all' | 'deny_all' }
  | { readonly kind: 'token_bucket'; readonly tokens: number; readonly intervalS: number };

/** `RateLimitStrategy.BlanketRule`. */
const BLANKET = { allow_all: 0, deny_all: 1 } as const;

/** `AbandonAction`, which has no fields. */
const NOTHING = new ByteWriter(0);

/** Writes `RateLimitQuotaResponse`s: the actions of one stream, until they are taken. */
export class QuotaActions {
  readonly #message = new ByteWriter(1_024);
  readonly #assignment = new ByteWriter(64);

  /** Bytes of the message so far. */
  get length(): number {
    return this.#message.length;
  }

  /**
   * Adds an assignment.
   *
   * @param id `BucketId` in wire format
   * @param ttlS how long the assignment lasts from its arrival on, in whole seconds
   */
  assign(id: Uint8Array, strategy: QuotaStrategy, ttlS: number): void {
    const assignment = this.#assignment;
    assignment.reset();
    writeSeconds(assignment, 2, ttlS);
    const start = beginShort(assignment, 3);
    writeStrategy(assignment, strategy);
    endShort(assignment, start);
    this.#add(id, 2, assignment);
  }

  /** Tells the proxy to forget a bucket. */
  abandon(id: Uint8Array): void {
    this.#add(id, 3, NOTHING);
  }

  /** Returns the message, and begins the next one. The bytes are valid until an action is added. */
  take(): Uint8Array {
    const message = this.#message.view();
    this.#message.reset();
    return message;
  }

  #add(id: Uint8Array, field: number, action: ByteWriter): void {
    const message = this.#message;
    writeTag(message, 1, WIRE.bytes);
    message.varint(1 + varintBytes(id.length) + id.length + 2 + action.length);
    writeBytes(message, 1, id);
    writeTag(message, field, WIRE.bytes);
    message.byte(action.length);
    message.copy(action.bytes, 0, action.length);
  }
}

function writeStrategy(writer: ByteWriter, strategy: QuotaStrategy): void {
  if (strategy.kind !== 'token_bucket') {
    // Also 0, because the field is one of several.
    writeTag(writer, 1, WIRE.varint);
    writer.varint(BLANKET[strategy.kind]);
    return;
  }
  const { tokens, intervalS } = strategy;
  const bucket = beginShort(writer, 3);
  writeUint(writer, 1, tokens);
  const perFill = beginShort(writer, 2);
  writeUint(writer, 1, tokens);
  endShort(writer, perFill);
  writeSeconds(writer, 3, intervalS);
  endShort(writer, bucket);
}

/** `google.protobuf.Duration`. */
function writeSeconds(writer: ByteWriter, field: number, seconds: number): void {
  const start = beginShort(writer, field);
  writeUint(writer, 1, seconds);
  endShort(writer, start);
}

/** Begins a message of less than 128 bytes, whose length is one byte. Returns where its content begins. */
function beginShort(writer: ByteWriter, field: number): number {
  writeTag(writer, field, WIRE.bytes);
  writer.byte(0);
  return writer.length;
}

function endShort(writer: ByteWriter, start: number): void {
  writer.bytes[start - 1] = writer.length - start;
}

function varintBytes(value: number): number {
  return value < 0x80 ? 1 : value < 0x4000 ? 2 : 3;
}
