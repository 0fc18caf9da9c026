import { isUtf8 } from 'node:buffer';
import { doubled, grownCapacity } from '../base/bytes.ts';
import { Fault } from '../base/fault.ts';
import { LEASE_ACTIONS, LEASE_FIELD } from './lease-message.ts';
import { readerOf, WireFault, WireReader } from './wire.ts';

// Limits of a `RateLimitRequest` in protobuf and JSON. The protocol has none, but a message of a few megabytes could
// otherwise request a million decisions. Proxies send a handful.

/** Maximum number of descriptors of a request. */
export const MAX_DESCRIPTORS = 4096;

/** Maximum number of entries of a descriptor. */
export const MAX_ENTRIES = 256;

/** Maximum number of bytes of the id of a lease. */
const MAX_LEASE_ID_BYTES = 4096;

/** Error message for requests beyond {@link MAX_DESCRIPTORS}. */
export const TOO_MANY_DESCRIPTORS = `a request may hold at most ${MAX_DESCRIPTORS} descriptors: send the rest in another request`;

const UNKNOWN_ACTION = 'the `action` of a lease must be from 0 to 4: see proto/sluice/v1/lease.proto';

/** Error message for descriptors beyond {@link MAX_ENTRIES}. */
export const TOO_MANY_ENTRIES = `a descriptor may hold at most ${MAX_ENTRIES} entries: split it into several descriptors`;

/** Tags (field number × 8 + wire type) of the messages in a `RateLimitRequest`. */
const REQUEST_TAG = { domain: 10, descriptors: 18, hitsAddend: 24 } as const;
const DESCRIPTOR_TAG = {
  entries: 10,
  limit: 18,
  hitsAddend: 26,
  isNegativeHits: 32,
  lease: LEASE_FIELD * 8 + 2,
} as const;
const ENTRY_TAG = { key: 10, value: 18 } as const;
const OVERRIDE_TAG = { requestsPerUnit: 8, unit: 16 } as const;
const WRAPPER_TAG = { value: 8 } as const;
/** `sluice.v1.Lease`. */
const LEASE_TAG = { id: 10, action: 16 } as const;

const INITIAL_ROWS = 64;
const INITIAL_BYTES = 16_384;
const NO_BYTES = new Uint8Array(0);

/**
 * The requests of a batch, decoded into columns. Texts are not copied out of `bytes`, which is either a buffer of the
 * table (`add`) or memory of the caller (`attach` and `decode`).
 *
 * Request rows refer to their descriptor rows, and descriptor rows to their entry rows, by first row and count. Once
 * the columns have grown to the size of the load, decoding a request allocates nothing.
 */
export class RequestTable {
  /** Holds all messages. */
  bytes: Uint8Array = NO_BYTES;
  byteCount = 0;

  requestCount = 0;
  domainStart = new Int32Array(INITIAL_ROWS);
  domainEnd = new Int32Array(INITIAL_ROWS);
  firstDescriptor = new Int32Array(INITIAL_ROWS);
  descriptorCount = new Int32Array(INITIAL_ROWS);
  /** `hits_addend` of the request; 0 if it is not set. */
  requestHits = new Float64Array(INITIAL_ROWS);

  descriptorRows = 0;
  firstEntry = new Int32Array(INITIAL_ROWS);
  entryCount = new Int32Array(INITIAL_ROWS);
  /** `hits_addend` of the descriptor; -1 if it is not set. */
  descriptorHits = new Float64Array(INITIAL_ROWS);
  /** 1 if the descriptor refunds its hits (`is_negative_hits`). */
  isRefund = new Uint8Array(INITIAL_ROWS);
  /** 1 if the descriptor has a `limit`. */
  hasOverride = new Uint8Array(INITIAL_ROWS);
  overrideRequestsPerUnit = new Float64Array(INITIAL_ROWS);
  overrideUnit = new Float64Array(INITIAL_ROWS);
  /** Number of descriptors of the table with a `lease`. While it is 0, the next columns are not set. */
  leaseCount = 0;
  /** `sluice.v1.Lease.Action` of the descriptor, and where the id of its lease is. */
  leaseAction = new Uint8Array(INITIAL_ROWS);
  leaseStart = new Int32Array(INITIAL_ROWS);
  leaseEnd = new Int32Array(INITIAL_ROWS);

  entryRows = 0;
  keyStart = new Int32Array(INITIAL_ROWS);
  keyEnd = new Int32Array(INITIAL_ROWS);
  valueStart = new Int32Array(INITIAL_ROWS);
  valueEnd = new Int32Array(INITIAL_ROWS);

  readonly #reader = new WireReader();

  reset(): void {
    this.byteCount = 0;
    this.requestCount = 0;
    this.descriptorRows = 0;
    this.entryRows = 0;
    if (this.leaseCount > 0) {
      this.leaseCount = 0;
      this.leaseAction.fill(0);
      this.leaseEnd.fill(0);
      this.leaseStart.fill(0);
    }
  }

  /**
   * Copies and decodes one `RateLimitRequest`; it becomes row `requestCount - 1`.
   *
   * @throws WireFault if the bytes are not a valid message, {@link Fault} if it is too large; the table is then
   *   unchanged
   */
  add(message: Uint8Array): void {
    const start = this.byteCount;
    this.#copy(message);
    try {
      this.decode(start, this.byteCount);
    } catch (fault) {
      this.byteCount = start;
      throw fault;
    }
  }

  /** Makes some entries of a descriptor of another table those of row 0, which has nothing else. The bytes are shared. */
  takeEntries(from: RequestTable, descriptor: number, isTaken: (entry: number) => boolean): void {
    const first = from.firstEntry[descriptor];
    this.reset();
    this.attach(from.bytes);
    for (let entry = first; entry < first + from.entryCount[descriptor]; entry++) {
      if (!isTaken(entry)) continue;
      if (this.entryRows === this.keyStart.length) this.#growEntries();
      const own = this.entryRows++;
      this.keyStart[own] = from.keyStart[entry];
      this.keyEnd[own] = from.keyEnd[entry];
      this.valueStart[own] = from.valueStart[entry];
      this.valueEnd[own] = from.valueEnd[entry];
    }
    this.firstEntry[0] = 0;
    this.entryCount[0] = this.entryRows;
  }

  /** Sets the buffer for `decode`. Its content must not change until the next `reset`. */
  attach(bytes: Uint8Array): void {
    this.bytes = bytes;
  }

  /**
   * Decodes the `RateLimitRequest` in `bytes[start, end)`; it becomes row `requestCount - 1`.
   *
   * @throws WireFault if the bytes are not a valid message, {@link Fault} if it is too large; the table is then
   *   unchanged
   */
  decode(start: number, end: number): void {
    if (this.requestCount === this.domainStart.length) this.#growRequests();
    const descriptorRows = this.descriptorRows;
    const entryRows = this.entryRows;
    try {
      this.#request(start, end);
    } catch (fault) {
      this.descriptorRows = descriptorRows;
      this.entryRows = entryRows;
      throw fault;
    }
    this.requestCount++;
  }

  /** Adds a row without domain and descriptors, for a message that is not decided. */
  addNothing(): void {
    this.decode(0, 0);
  }

  /** Text between two offsets of `bytes`. */
  text(start: number, end: number): string {
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset + start, end - start).toString('utf8');
  }

  #copy(message: Uint8Array): void {
    const needed = this.byteCount + message.length;
    if (needed > this.bytes.length) {
      const larger = new Uint8Array(grownCapacity(Math.max(this.bytes.length, INITIAL_BYTES), needed));
      larger.set(this.bytes.subarray(0, this.byteCount));
      this.bytes = larger;
    }
    this.bytes.set(message, this.byteCount);
    this.byteCount = needed;
  }

  #request(start: number, end: number): void {
    const row = this.requestCount;
    const reader = this.#reader;
    reader.open(this.bytes, start, end);
    this.domainStart[row] = start;
    this.domainEnd[row] = start;
    this.requestHits[row] = 0;
    this.firstDescriptor[row] = this.descriptorRows;
    while (reader.next()) {
      const tag = reader.field * 8 + reader.wireType;
      if (tag === REQUEST_TAG.descriptors) {
        if (this.descriptorRows - this.firstDescriptor[row] === MAX_DESCRIPTORS) {
          throw new Fault('too_large', TOO_MANY_DESCRIPTORS);
        }
        this.#descriptor(reader.delimited());
      } else if (tag === REQUEST_TAG.domain) {
        const end = reader.delimited();
        this.domainStart[row] = reader.position;
        this.domainEnd[row] = this.#skipText('domain', end);
      } else if (tag === REQUEST_TAG.hitsAddend) this.requestHits[row] = reader.uint32();
      else reader.skip();
    }
    this.descriptorCount[row] = this.descriptorRows - this.firstDescriptor[row];
  }

  #descriptor(end: number): void {
    if (this.descriptorRows === this.firstEntry.length) this.#growDescriptors();
    const row = this.descriptorRows;
    const reader = this.#reader;
    const outer = reader.end;
    reader.end = end;
    this.firstEntry[row] = this.entryRows;
    this.descriptorHits[row] = -1;
    this.isRefund[row] = 0;
    this.hasOverride[row] = 0;
    this.overrideRequestsPerUnit[row] = 0;
    this.overrideUnit[row] = 0;
    // Of a message that was refused.
    if (this.leaseCount > 0) this.leaseAction[row] = this.leaseStart[row] = this.leaseEnd[row] = 0;
    while (reader.next()) {
      const tag = reader.field * 8 + reader.wireType;
      if (tag === DESCRIPTOR_TAG.entries) {
        if (this.entryRows - this.firstEntry[row] === MAX_ENTRIES) {
          throw new Fault('too_large', TOO_MANY_ENTRIES);
        }
        this.#entry(reader.delimited());
      } else if (tag === DESCRIPTOR_TAG.limit) this.#override(row, reader.delimited());
      else if (tag === DESCRIPTOR_TAG.hitsAddend) this.#hits(row, reader.delimited());
      else if (tag === DESCRIPTOR_TAG.isNegativeHits) this.isRefund[row] = reader.bool() ? 1 : 0;
      else if (tag === DESCRIPTOR_TAG.lease) this.#lease(row, reader.delimited());
      else reader.skip();
    }
    this.entryCount[row] = this.entryRows - this.firstEntry[row];
    this.descriptorRows++;
    reader.end = outer;
  }

  #entry(end: number): void {
    if (this.entryRows === this.keyStart.length) this.#growEntries();
    const row = this.entryRows++;
    const reader = this.#reader;
    const outer = reader.end;
    reader.end = end;
    this.keyStart[row] = this.keyEnd[row] = reader.position;
    this.valueStart[row] = this.valueEnd[row] = reader.position;
    while (reader.next()) {
      const tag = reader.field * 8 + reader.wireType;
      if (tag === ENTRY_TAG.key) {
        const stop = reader.delimited();
        this.keyStart[row] = reader.position;
        this.keyEnd[row] = this.#skipText('key', stop);
      } else if (tag === ENTRY_TAG.value) {
        const stop = reader.delimited();
        this.valueStart[row] = reader.position;
        this.valueEnd[row] = this.#skipText('value', stop);
      } else reader.skip();
    }
    reader.end = outer;
  }

  #override(row: number, end: number): void {
    const reader = this.#reader;
    const outer = reader.end;
    reader.end = end;
    this.hasOverride[row] = 1;
    while (reader.next()) {
      const tag = reader.field * 8 + reader.wireType;
      if (tag === OVERRIDE_TAG.requestsPerUnit) this.overrideRequestsPerUnit[row] = reader.uint32();
      else if (tag === OVERRIDE_TAG.unit) this.overrideUnit[row] = reader.uint32();
      else reader.skip();
    }
    reader.end = outer;
  }

  #lease(row: number, end: number): void {
    const reader = this.#reader;
    const outer = reader.end;
    reader.end = end;
    this.leaseCount++;
    while (reader.next()) {
      const tag = reader.field * 8 + reader.wireType;
      if (tag === LEASE_TAG.id) {
        const stop = reader.delimited();
        if (stop - reader.position > MAX_LEASE_ID_BYTES) {
          throw new Fault('too_large', `the id of a lease may have at most ${MAX_LEASE_ID_BYTES} bytes`);
        }
        this.leaseStart[row] = reader.position;
        this.leaseEnd[row] = this.#skipText('id', stop);
      } else if (tag === LEASE_TAG.action) {
        const action = reader.uint32();
        if (action > LEASE_ACTIONS.extend) throw new Fault('bad_request', UNKNOWN_ACTION);
        this.leaseAction[row] = action;
      } else reader.skip();
    }
    if (this.leaseAction[row] > 0 && this.leaseEnd[row] === this.leaseStart[row])
      throw new Fault('bad_request', 'a `lease` with an `action` needs the `id` of the holder');
    reader.end = outer;
  }

  #hits(row: number, end: number): void {
    const reader = this.#reader;
    const outer = reader.end;
    reader.end = end;
    if (this.descriptorHits[row] < 0) this.descriptorHits[row] = 0;
    while (reader.next()) {
      if (reader.field * 8 + reader.wireType === WRAPPER_TAG.value)
        this.descriptorHits[row] = reader.uint64();
      else reader.skip();
    }
    reader.end = outer;
  }

  /** Skips a string, which must be valid UTF-8 in proto3. Pure ASCII is checked without creating a view. */
  #skipText(field: string, end: number): number {
    const bytes = this.bytes;
    const start = this.#reader.position;
    let seen = 0;
    for (let i = start; i < end; i++) seen |= bytes[i];
    if (seen > 127 && !isUtf8(bytes.subarray(start, end))) {
      throw this.#reader.fault(`the text of \`${field}\` is not valid UTF-8`, start);
    }
    this.#reader.position = end;
    return end;
  }

  #growRequests(): void {
    this.domainStart = doubled(this.domainStart, Int32Array);
    this.domainEnd = doubled(this.domainEnd, Int32Array);
    this.firstDescriptor = doubled(this.firstDescriptor, Int32Array);
    this.descriptorCount = doubled(this.descriptorCount, Int32Array);
    this.requestHits = doubled(this.requestHits, Float64Array);
  }

  #growDescriptors(): void {
    this.firstEntry = doubled(this.firstEntry, Int32Array);
    this.entryCount = doubled(this.entryCount, Int32Array);
    this.descriptorHits = doubled(this.descriptorHits, Float64Array);
    this.isRefund = doubled(this.isRefund, Uint8Array);
    this.hasOverride = doubled(this.hasOverride, Uint8Array);
    this.overrideRequestsPerUnit = doubled(this.overrideRequestsPerUnit, Float64Array);
    this.overrideUnit = doubled(this.overrideUnit, Float64Array);
    this.leaseAction = doubled(this.leaseAction, Uint8Array);
    this.leaseStart = doubled(this.leaseStart, Int32Array);
    this.leaseEnd = doubled(this.leaseEnd, Int32Array);
  }

  #growEntries(): void {
    this.keyStart = doubled(this.keyStart, Int32Array);
    this.keyEnd = doubled(this.keyEnd, Int32Array);
    this.valueStart = doubled(this.valueStart, Int32Array);
    this.valueEnd = doubled(this.valueEnd, Int32Array);
  }
}

const DOMAIN_FIELD = 1;

/** Longer domains are truncated in traces. */
const MAX_CHARACTERS = 200;

/** The domain of a `RateLimitRequest`, for traces; empty if it is absent or the bytes are not a valid message. */
export function domainOf(request: Uint8Array): string {
  const reader = readerOf(request);
  let domain = '';
  try {
    while (reader.next()) {
      if (reader.field === DOMAIN_FIELD) domain = reader.text();
      else reader.skip();
    }
  } catch (fault) {
    if (!(fault instanceof WireFault)) throw fault;
    return '';
  }
  return domain.slice(0, MAX_CHARACTERS).toWellFormed();
}
