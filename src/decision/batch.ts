import { ByteWriter } from '../base/bytes.ts';
import type { Fault } from '../base/fault.ts';
import { CounterBatch } from '../counters/batch.ts';
import type { FingerprintKey } from '../counters/fingerprint.ts';
import { RequestTable } from '../messages/request-table.ts';
import type { DecisionReply, ResponseFormat } from './decider.ts';
import { DecisionTable } from './decision-table.ts';

/** Requests that are decided together, with all that is worked out about them. Used again and again. */
export class DecisionBatch {
  readonly requests = new RequestTable();
  readonly decisions = new DecisionTable();
  readonly counters: CounterBatch;
  /** Cache keys of all descriptors; see `DecisionTable.keyStart`. */
  readonly keys = new ByteWriter(16_384);
  /** By request: where the answer goes, in which encoding, and why there is none (null while there is one). */
  readonly replies: DecisionReply[] = [];
  readonly formats: ResponseFormat[] = [];
  readonly faults: (Fault | null)[] = [];
  /** Whole seconds since the epoch: one reading of the clock for keys, windows and resets of the batch. */
  nowS = 0;

  constructor(fingerprintKey: FingerprintKey) {
    this.counters = new CounterBatch(fingerprintKey);
  }

  /** @throws WireFault when the bytes are no `RateLimitRequest`; nothing is added. */
  add(request: Uint8Array, format: ResponseFormat, reply: DecisionReply): void {
    this.requests.add(request);
    this.replies.push(reply);
    this.formats.push(format);
    this.faults.push(null);
  }

  get size(): number {
    return this.requests.requestCount;
  }

  reset(): void {
    this.requests.reset();
    this.keys.reset();
    this.replies.length = 0;
    this.formats.length = 0;
    this.faults.length = 0;
    // Rows of statistics would keep rules alive that are long replaced.
    this.decisions.statistics.length = 0;
  }
}
