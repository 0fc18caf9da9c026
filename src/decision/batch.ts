import { ByteWriter, doubleColumns, empty } from '../base/bytes.ts';
import { Fault } from '../base/fault.ts';
import { CounterBatch } from '../counters/batch.ts';
import type { FingerprintKey } from '../counters/fingerprint.ts';
import { RequestTable } from '../messages/request-table.ts';
import { WireFault } from '../messages/wire.ts';
import type { DecisionReply, ResponseFormat } from './decider.ts';
import type { CountingTerms } from './limits/counting-terms.ts';
import { RECORD_HEAD_BYTES, REQUEST_KIND, Records } from './records.ts';
import type { NamedStatistics } from './statistics/named-rows.ts';
import { addTotal } from './statistics/shared-totals.ts';

const INITIAL_ROWS = 64;

/**
 * Whether a limit applies to a descriptor. A limit that is replaced by another limit of the request counts as none.
 *
 * `several`: the matched entry has several limits. Each one has a row of its own; see `DecisionTable.firstPart`. The row
 * of the descriptor shows the one that binds.
 *
 * `banned`, `passed`: a steering record refuses or allows the descriptor, whether or not a rule matches. Nothing is counted
 * in the store.
 */
export const KIND = { none: 0, limited: 1, unlimited: 2, several: 3, banned: 4, passed: 5 } as const;

/** A bit beside those of `LIMIT_FLAG`: a steering record has replaced `requestsPerUnit`. */
export const OVERRIDDEN = 1 << 16;

/** A bit beside those of `LIMIT_FLAG`: the limit is exceeded because the key is penalized. */
export const PENALIZED = 1 << 17;

/** Whether a row has a limit to report. */
export function isLimited(kind: number): boolean {
  return kind === KIND.limited || kind === KIND.several;
}

/** `RateLimitResponse.Code`. */
export const CODE = { ok: 1, overLimit: 2 } as const;

/**
 * The decision about each descriptor of a batch, in columns. Rows are those of the `RequestTable`; rows for the limits of
 * entries with several limits follow them.
 * `plan` fills the columns before the store is asked, except `code`, `isOver`, `remaining` and `binding`, which `evaluate`
 * fills.
 */
export class DecisionTable {
  /** Number of rows, once all requests are planned. */
  rows = 0;
  /** {@link KIND}. */
  kind = new Uint8Array(INITIAL_ROWS);
  /** Number of the rule's limit; -1 for an override, and for a ban without a rule. */
  limit = new Int32Array(INITIAL_ROWS);
  requestsPerUnit = new Float64Array(INITIAL_ROWS);
  unit = new Uint8Array(INITIAL_ROWS);
  /** `LIMIT_FLAG` bits of the rule, none for an override; {@link OVERRIDDEN} and {@link PENALIZED}. */
  flags = new Int32Array(INITIAL_ROWS);
  hits = new Float64Array(INITIAL_ROWS);
  /** How the limit counts; null for a plain limit. */
  terms: (CountingTerms | null)[] = [];
  /** The range of the cache key in the keys of the batch. */
  keyStart = new Int32Array(INITIAL_ROWS);
  keyEnd = new Int32Array(INITIAL_ROWS);
  /** The op that counts the descriptor; -1 if the local cache has it as over its limit. */
  op = new Int32Array(INITIAL_ROWS);
  /** The mark of the key in `RefundMarks` before the store was asked. Set only with a local cache. */
  mark = new Int32Array(INITIAL_ROWS);
  /** The row of statistics: totals (see `shared-totals.ts`), and the first slot of the row. */
  statistics: Int32Array[] = [];
  statisticsBase = new Int32Array(INITIAL_ROWS);
  /**
   * Only for limits that have further rows of statistics: the first slot of the row of the class, of the hits that pass after
   * the limit, or of the first row for leases, in `DecisionBatch.ruleTotals`.
   */
  extraBase = new Int32Array(INITIAL_ROWS);
  /**
   * Only for limits with leases: where the name of the holder is in the bytes of the requests, empty for none, and what the
   * request says about the lease (`ACTION`).
   */
  holderStart = new Int32Array(INITIAL_ROWS);
  holderEnd = new Int32Array(INITIAL_ROWS);
  leaseAction = new Uint8Array(INITIAL_ROWS);
  /** Only for `KIND.several`: the row of the first limit, the number of limits, and the row of the limit that binds. */
  firstPart = new Int32Array(INITIAL_ROWS);
  partCount = new Int32Array(INITIAL_ROWS);
  binding = new Int32Array(INITIAL_ROWS);
  /** Milliseconds until the limit resets. */
  resetMs = new Float64Array(INITIAL_ROWS);

  /** {@link CODE} of the status. */
  code = new Uint8Array(INITIAL_ROWS);
  /** 1 if the limit is exceeded, also in shadow mode. */
  isOver = new Uint8Array(INITIAL_ROWS);
  remaining = new Float64Array(INITIAL_ROWS);

  /** Reserves memory for `rows` rows. */
  reserve(rows: number): void {
    while (this.kind.length < rows) {
      doubleColumns(this, [
        'kind',
        'limit',
        'requestsPerUnit',
        'unit',
        'flags',
        'hits',
        'keyStart',
        'keyEnd',
      ]);
      doubleColumns(this, ['op', 'mark', 'statisticsBase', 'firstPart', 'partCount', 'binding', 'resetMs']);
      doubleColumns(this, ['code', 'isOver', 'remaining', 'extraBase']);
      doubleColumns(this, ['holderStart', 'holderEnd', 'leaseAction']);
    }
  }
}

/** Most batches are much smaller. A larger batch comes from a burst, and its memory is released. */
const KEPT_BYTES = 262_144;
const KEPT_ROWS = 4_096;

const NO_TOTALS = new Int32Array(0);

const CALLER_GONE = new Fault('cancelled', 'the call ended before it was decided; nothing was counted');

/** Requests that are decided together, with all intermediate results. Reused. */
export class DecisionBatch {
  /** The encoded requests, unchanged until the batch is done. */
  readonly records = new Records();
  readonly requests = new RequestTable();
  readonly decisions = new DecisionTable();
  readonly counters: CounterBatch;
  /** Cache keys of all descriptors; see `DecisionTable.keyStart`. */
  readonly keys = new ByteWriter(1_024);
  /** By request: the recipient of the response. */
  readonly replies: DecisionReply[] = [];
  /** By request, after decoding: the encoding of its response, and the fault if it is rejected (else null). */
  readonly formats: ResponseFormat[] = [];
  readonly faults: (Fault | null)[] = [];
  /** By request, after planning: whether the store is asked for it. */
  readonly asksStore: boolean[] = [];
  /** The statistics with names made from request values. */
  readonly named: NamedStatistics;
  /** The statistics of the active rules; empty without rules. */
  ruleTotals: Int32Array = NO_TOTALS;
  /** Milliseconds that this thread spent on the batch, if measured. */
  spentMs = 0;
  /** When the batch began, by a monotonic clock in milliseconds, and how long the store took; 0 if not measured. */
  figuresFromMs = 0;
  storeMs = 0;
  /** Seconds since the epoch, the same for all keys, windows and resets of the batch. */
  nowS = 0;
  /** The same time in whole milliseconds. */
  nowMs = 0;

  constructor(fingerprintKey: FingerprintKey, named: NamedStatistics) {
    this.named = named;
    this.counters = new CounterBatch(fingerprintKey);
  }

  /** Adds a request. Its bytes are copied. */
  add(request: Uint8Array, format: ResponseFormat, reply: DecisionReply): void {
    this.records.add(REQUEST_KIND[format], request);
    this.replies.push(reply);
  }

  /**
   * Takes over a request without copying it, as the only one of the batch.
   * @param request from `ownRecord`
   */
  take(request: Uint8Array<ArrayBuffer>, reply: DecisionReply): void {
    this.records.take(request.buffer, request.buffer.byteLength, 1);
    this.replies.push(reply);
  }

  get size(): number {
    return this.records.count;
  }

  /** Bytes of the requests. */
  get requestBytes(): number {
    return this.records.length - this.records.count * RECORD_HEAD_BYTES;
  }

  /** Whether the batch uses much more memory than most batches. */
  get isLarge(): boolean {
    const { requests, decisions, keys, counters } = this;
    const rows = Math.max(decisions.kind.length, counters.opSlots.length, requests.keyStart.length / 2);
    return rows > KEPT_ROWS || Math.max(keys.bytes.length, counters.keys.bytes.length) > KEPT_BYTES;
  }

  /** Sets `requests`, `formats` and `faults` from the records. Skips calls that were canceled or whose deadline has passed. */
  decode(): void {
    const { records, requests } = this;
    requests.reset();
    requests.attach(records.bytes);
    let at = 0;
    for (let request = 0; request < records.count; request++) {
      const kind = records.kindAt(at);
      const start = at + RECORD_HEAD_BYTES;
      at = start + records.sizeAt(at);
      this.formats[request] =
        kind === REQUEST_KIND.json ? 'json' : kind === REQUEST_KIND.http ? 'http' : 'protobuf';
      this.faults[request] =
        kind === REQUEST_KIND.cancelled || this.replies[request].gone
          ? this.#leaveOut(CALLER_GONE)
          : this.#decodeOne(start, at);
    }
  }

  /** Marks the records of canceled calls, for a thread that decodes them without the replies. */
  markGone(): void {
    const { records, replies } = this;
    let at = 0;
    for (let request = 0; request < records.count; request++) {
      if (replies[request].gone) records.markAt(at, REQUEST_KIND.cancelled);
      at += RECORD_HEAD_BYTES + records.sizeAt(at);
    }
  }

  reset(): void {
    if (this.records.bytes.length > KEPT_BYTES) this.records.release();
    this.records.reset();
    this.keys.reset();
    this.counters.timedCall = null;
    empty(this.replies);
    // Rows of statistics and terms would retain rules that were replaced.
    this.ruleTotals = NO_TOTALS;
    empty(this.decisions.statistics);
    empty(this.decisions.terms);
  }

  #decodeOne(start: number, end: number): Fault | null {
    try {
      this.requests.decode(start, end);
      return null;
    } catch (fault) {
      if (fault instanceof Fault) return this.#leaveOut(fault);
      if (!(fault instanceof WireFault)) throw fault;
      return this.#leaveOut(new Fault('unparseable', `not a RateLimitRequest: ${fault.message}`));
    }
  }

  #leaveOut(fault: Fault): Fault {
    this.requests.addNothing();
    return fault;
  }
}

/**
 * The hits to count or give back: `hits_addend` of the descriptor, else of the request, else 1. A descriptor can set 0 to
 * check its limit without counting.
 */
export function hitsOf({ requests }: DecisionBatch, request: number, row: number): number {
  const own = requests.descriptorHits[row];
  if (own >= 0) return own;
  const shared = requests.requestHits[request];
  return shared === 0 ? 1 : shared;
}

/** The row of the first limit of a descriptor: its own row, unless the rule has several limits. */
export function firstLimit({ kind, firstPart }: DecisionTable, row: number): number {
  return kind[row] === KIND.several ? firstPart[row] : row;
}

/** The row after those of the limits of a descriptor that start at {@link firstLimit}. */
export function endOfLimits({ kind, firstPart, partCount }: DecisionTable, row: number): number {
  return kind[row] === KIND.several ? firstPart[row] + partCount[row] : row + 1;
}

/** The most hits that the limit of a row admits: those that its requests are worth, or the burst of a bucket. */
export function mostHits({ terms, requestsPerUnit }: DecisionTable, row: number): number {
  return terms[row]?.total ?? requestsPerUnit[row];
}

/**
 * What counts against the limit of a row, after the request, in the unit of `requestsPerUnit`; NaN if the store did not
 * count. Only a limit with a scale can have used a part of a unit.
 */
export function usedAfter({ decisions, counters }: DecisionBatch, row: number): number {
  const op = decisions.op[row];
  if (op < 0) return Number.NaN;
  const terms = decisions.terms[row];
  const after = counters.opAfters[op];
  if (terms === null) return after;
  return (terms.admission === null ? after : terms.usedAt(after)) / terms.scale;
}

/**
 * The part of {@link usedAfter} that leases hold; NaN if the limit has none of its own, or if the store did not count. Of
 * several requests of a batch with one key, each is told what is held after the last one.
 */
export function heldAfter(batch: DecisionBatch, row: number): number {
  const { decisions, counters } = batch;
  const terms = decisions.terms[row];
  if (terms === null || !terms.hasLeases) return Number.NaN;
  const used = usedAfter(batch, row);
  if (Number.isNaN(used) || terms.isConcurrency) return used;
  const slot = counters.opSlots[decisions.op[row]];
  return Math.min(counters.leases.slotHeld[slot] / terms.scale, used);
}

/** The first slot of the statistics of the class of a row, in `DecisionBatch.ruleTotals`; -1 if its limit has no classes. */
export function classBase({ terms, extraBase }: DecisionTable, row: number): number {
  const counting = terms[row];
  return counting === null || counting.classes === null ? -1 : extraBase[row];
}

/** Adds hits to a statistic of the class of a row, if its limit has classes. */
export function countInClass(
  { decisions, ruleTotals }: DecisionBatch,
  row: number,
  statistic: number,
  hits: number,
): void {
  const base = classBase(decisions, row);
  if (base >= 0) addTotal(ruleTotals, base + statistic, hits);
}
