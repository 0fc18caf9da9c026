import type { Columns } from './columns.ts';
import { type KeyText, readKeyText, TEXT_BYTES } from './key-text.ts';
import { bucketOfRule } from './span-sketch.ts';

/** Number of records that all rules share, and of those that the rules of one bucket keep in addition. */
const SHARED_RECORDS = 512;
const RULE_RECORDS = 4;
const RULE_BUCKETS = 128;
const RECORDS = SHARED_RECORDS + RULE_RECORDS * RULE_BUCKETS;

/** Bytes of the path of a rule, of the address of a peer, and of a trace id. Longer texts are cut. */
const PATH_BYTES = 160;
const PEER_BYTES = 64;
const TRACE_BYTES = 40;

/** How a request was rejected. */
const MARK = { shadow: 1, penalized: 2, banned: 4 } as const;

/** A limit that was exceeded by a request. */
export interface Refusal extends Pick<KeyText, 'domain' | 'entries'> {
  /** When it was decided, in milliseconds since the epoch. */
  readonly timeMs: number;
  /** The path of the rule, as configured; empty for an override. The end of a long path is cut off. */
  readonly path: string;
  /** The entries of the descriptor, as `key=value, key=value`. It may contain control characters. */
  readonly key: string;
  readonly hits: number;
  /** Hits in the window, after those of the request; null if the local cache refused the request, or without a store. */
  readonly count: number | null;
  /** The part of `count` that leases hold; null if the limit has none. */
  readonly held: number | null;
  readonly requestsPerUnit: number;
  /** The most hits that the limit admits: the burst of a token bucket, else `requestsPerUnit`. */
  readonly most: number;
  /** True if the limit is in shadow mode, so that it did not refuse the request. */
  readonly isShadow: boolean;
  /** True if the key is penalized, so that the request was rejected without counting it. */
  readonly isPenalized: boolean;
  /** True if an operator has banned the key, so that no limit was asked. */
  readonly isBanned: boolean;
  /** The address of the caller, and the trace ID that it sent; null if they are not known. */
  readonly peer: string | null;
  readonly traceId: string | null;
}

/** Words of a keyed hash of the path of the rule. */
interface RuleWords {
  readonly ruleA: number;
  readonly ruleB: number;
}

/** A refusal, as it is recorded. */
interface RefusalRecord extends Omit<Refusal, 'key' | 'domain' | 'entries' | 'count' | 'held'>, RuleWords {
  /** Of `TEXT_BYTES`. */
  readonly text: Uint8Array;
  /** NaN if it is not known. */
  readonly count: number;
  /** NaN if the limit has no leases. */
  readonly held: number;
}

/** A refusal, as read from shared memory. */
export interface ReadRefusal extends RuleWords {
  readonly number: number;
  readonly refusal: Refusal;
}

/**
 * The last refusals. They are in a ring of all rules, and in a small ring of the rules of a bucket. So refusals of a rule
 * with few of them are kept while another rule refuses everything.
 */
export class RefusalTable {
  /** [0]: number of recorded refusals; then, by bucket of rules, the number of those of the bucket. */
  readonly #counts: Float64Array;
  readonly #number: Float64Array;
  readonly #timeMs: Float64Array;
  readonly #hits: Float64Array;
  readonly #count: Float64Array;
  readonly #held: Float64Array;
  readonly #requestsPerUnit: Float64Array;
  readonly #most: Float64Array;
  readonly #ruleA: Int32Array;
  readonly #ruleB: Int32Array;
  /** {@link MARK} bits. */
  readonly #marks: Uint8Array;
  readonly #text: Uint8Array;
  readonly #path: Uint8Array;
  readonly #peer: Uint8Array;
  readonly #trace: Uint8Array;

  constructor(columns: Columns) {
    this.#counts = columns.float64(1 + RULE_BUCKETS);
    this.#number = columns.float64(RECORDS);
    this.#timeMs = columns.float64(RECORDS);
    this.#hits = columns.float64(RECORDS);
    this.#count = columns.float64(RECORDS);
    this.#held = columns.float64(RECORDS);
    this.#requestsPerUnit = columns.float64(RECORDS);
    this.#most = columns.float64(RECORDS);
    this.#ruleA = columns.int32(RECORDS);
    this.#ruleB = columns.int32(RECORDS);
    this.#marks = columns.bytes(RECORDS);
    this.#text = columns.bytes(RECORDS * TEXT_BYTES);
    this.#path = columns.bytes(RECORDS * PATH_BYTES);
    this.#peer = columns.bytes(RECORDS * PEER_BYTES);
    this.#trace = columns.bytes(RECORDS * TRACE_BYTES);
  }

  add(refusal: RefusalRecord): void {
    const counts = this.#counts;
    const bucket = bucketOfRule(refusal.ruleA) % RULE_BUCKETS;
    const inBucket = counts[1 + bucket]++ % RULE_RECORDS;
    const shared = counts[0]++ % SHARED_RECORDS;
    this.#write(shared, refusal);
    this.#write(SHARED_RECORDS + bucket * RULE_RECORDS + inBucket, refusal);
  }

  #write(record: number, refusal: RefusalRecord): void {
    this.#number[record] = this.#counts[0];
    this.#timeMs[record] = refusal.timeMs;
    this.#hits[record] = refusal.hits;
    this.#count[record] = refusal.count;
    this.#held[record] = refusal.held;
    this.#requestsPerUnit[record] = refusal.requestsPerUnit;
    this.#most[record] = refusal.most;
    this.#ruleA[record] = refusal.ruleA;
    this.#ruleB[record] = refusal.ruleB;
    this.#marks[record] =
      (refusal.isShadow ? MARK.shadow : 0) |
      (refusal.isPenalized ? MARK.penalized : 0) |
      (refusal.isBanned ? MARK.banned : 0);
    this.#text.set(refusal.text, record * TEXT_BYTES);
    writeText(this.#path, record, PATH_BYTES, refusal.path);
    writeText(this.#peer, record, PEER_BYTES, refusal.peer ?? '');
    writeText(this.#trace, record, TRACE_BYTES, refusal.traceId ?? '');
  }

  /** The recorded refusals that are still there, from a time on in milliseconds since the epoch, each once, in no order. */
  since(timeMs: number): ReadRefusal[] {
    const read = new Map<number, ReadRefusal>();
    for (let record = 0; record < RECORDS; record++) {
      const number = this.#number[record];
      if (number === 0 || this.#timeMs[record] < timeMs || read.has(number)) continue;
      read.set(number, this.#read(record, number));
    }
    return [...read.values()];
  }

  #read(record: number, number: number): ReadRefusal {
    const { key, domain, entries } = readKeyText(this.#text, record * TEXT_BYTES);
    const refusal = {
      timeMs: this.#timeMs[record],
      path: readText(this.#path, record, PATH_BYTES),
      key,
      domain,
      entries,
      hits: this.#hits[record],
      count: Number.isNaN(this.#count[record]) ? null : this.#count[record],
      held: Number.isNaN(this.#held[record]) ? null : this.#held[record],
      requestsPerUnit: this.#requestsPerUnit[record],
      most: this.#most[record],
      isShadow: (this.#marks[record] & MARK.shadow) !== 0,
      isPenalized: (this.#marks[record] & MARK.penalized) !== 0,
      isBanned: (this.#marks[record] & MARK.banned) !== 0,
      peer: readText(this.#peer, record, PEER_BYTES) || null,
      traceId: readText(this.#trace, record, TRACE_BYTES) || null,
    };
    return { number, ruleA: this.#ruleA[record], ruleB: this.#ruleB[record], refusal };
  }
}

/** The first byte is the length. */
function writeText(column: Uint8Array, record: number, size: number, text: string): void {
  const start = record * size;
  if (text === '') {
    column[start] = 0;
    return;
  }
  const bytes = Buffer.from(text);
  const length = Math.min(bytes.length, size - 1);
  column[start] = length;
  column.set(length < bytes.length ? bytes.subarray(0, length) : bytes, start + 1);
}

function readText(column: Uint8Array, record: number, size: number): string {
  const start = record * size;
  const length = Math.min(column[start], size - 1);
  const text = Buffer.from(column.slice(start + 1, start + 1 + length)).toString('utf8');
  return text.replace(/\ufffd+$/, '');
}
