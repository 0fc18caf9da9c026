import { SECOND_MS } from '../base/clock.ts';
import { MAX_RECORD_BYTES, MAX_RECORDS, type SteeringRecord } from './record.ts';
import { SteeringTable } from './steering-table.ts';

/**
 * The words before the text: the version, which is odd while the text is written; the length of the text in bytes; and how many
 * milliseconds the clock of the store is ahead.
 */
const VERSION = 0;
const LENGTH = 1;
const AHEAD_MS = 2;
const HEAD_BYTES = 12;
/** The greatest difference between two clocks: 24 days. */
const MAX_AHEAD_MS = 2 ** 31 - 1;
/** Fields without a value, which stored records lack, and a comma or bracket. */
const MAX_MORE_BYTES = 256;
/** The memory is reserved, and used only as far as there are records. */
const MAX_TEXT_BYTES = MAX_RECORDS * (MAX_RECORD_BYTES + MAX_MORE_BYTES);

/**
 * The records of the process in shared memory, as JSON. The primary thread publishes them, and all threads that decide
 * read them with a {@link SharedRecordsReader}. When `publish` returns, every batch that starts is decided with them.
 */
export class SharedRecords {
  readonly buffer = new SharedArrayBuffer(HEAD_BYTES + MAX_TEXT_BYTES);
  readonly #words = new Int32Array(this.buffer, 0, HEAD_BYTES / 4);
  readonly #bytes = new Uint8Array(this.buffer, HEAD_BYTES);

  /** @param records at most {@link MAX_RECORDS} */
  publish(records: readonly SteeringRecord[]): void {
    const text = Buffer.from(JSON.stringify(records));
    Atomics.add(this.#words, VERSION, 1);
    this.#bytes.set(text);
    Atomics.store(this.#words, LENGTH, text.length);
    Atomics.add(this.#words, VERSION, 1);
  }

  /** @param aheadMs how many milliseconds the clock by which records end is ahead of that of this process */
  publishAhead(aheadMs: number): void {
    Atomics.store(this.#words, AHEAD_MS, Math.min(Math.max(aheadMs, -MAX_AHEAD_MS), MAX_AHEAD_MS));
  }
}

/** The records of the process, as one thread uses them. Without records, each batch reads one word. */
export class SharedRecordsReader {
  readonly #words: Int32Array;
  readonly #bytes: Uint8Array;
  #version = 0;
  #records: readonly SteeringRecord[] = [];
  #table: SteeringTable | null = null;
  /** The seconds for which the table is complete: `[sinceS, untilS)`. */
  #sinceS = 0;
  #untilS = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.#words = new Int32Array(buffer, 0, HEAD_BYTES / 4);
    this.#bytes = new Uint8Array(buffer, HEAD_BYTES);
  }

  /**
   * The records that have not ended at a time, compiled; null if there are none.
   * @param nowMs by the clock of this process
   */
  at(nowMs: number): SteeringTable | null {
    if (Atomics.load(this.#words, VERSION) !== this.#version) this.#read();
    if (this.#records.length === 0) return null;
    const aheadMs = Atomics.load(this.#words, AHEAD_MS);
    const nowS = Math.floor((nowMs + aheadMs) / SECOND_MS);
    if (nowS < this.#sinceS || nowS >= this.#untilS) this.#compile(nowS);
    if (this.#table !== null) this.#table.aheadMs = aheadMs;
    return this.#table;
  }

  /** Copies the text. If it changes meanwhile, the next batch tries again. */
  #read(): void {
    const version = Atomics.load(this.#words, VERSION);
    if (version % 2 !== 0) return;
    const text = Buffer.from(this.#bytes.slice(0, Atomics.load(this.#words, LENGTH))).toString();
    if (Atomics.load(this.#words, VERSION) !== version) return;
    this.#version = version;
    // Written by this process, so there is nothing to check: this takes time from a batch.
    this.#records = JSON.parse(text) as SteeringRecord[];
    this.#untilS = 0;
  }

  #compile(nowS: number): void {
    const active = this.#records.filter(({ untilS }) => untilS > nowS);
    this.#table = active.length === 0 ? null : new SteeringTable(active);
    this.#sinceS = nowS;
    this.#untilS = active.reduce((first, { untilS }) => Math.min(first, untilS), Number.POSITIVE_INFINITY);
  }
}
