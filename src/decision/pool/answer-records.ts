import { Fault, type FaultCode } from '../../base/fault.ts';
import type { DecisionReply } from '../decider.ts';
import { RECORD_HEAD_BYTES, Records, ReusedViews } from '../records.ts';

/**
 * Kinds of answer records: a response, or the text of a fault; then the kind is `fault` plus the index of its code. With
 * `overLimitFor`, the response is preceded by the seconds of `Retry-After`.
 */
const ANSWER_KIND = { ok: 0, overLimit: 1, overLimitFor: 2, fault: 3 } as const;

/** Bytes of the seconds: an unsigned number, little-endian. */
const SECONDS_BYTES = 4;
const MOST_SECONDS = 2 ** 32 - 1;

const FAULT_CODES = [
  'bad_request',
  'unparseable',
  'too_large',
  'unimplemented',
  'no_rules',
  'store_failed',
  'overloaded',
  'cancelled',
  'internal',
] as const satisfies readonly FaultCode[];

/** Collects the answers of a batch, in order, for another thread. */
export class AnswerWriter implements DecisionReply {
  readonly gone = false;
  readonly records = new Records();

  answered(response: Uint8Array, overLimit: boolean, retryAfterS = 0): void {
    if (retryAfterS === 0) this.records.add(overLimit ? ANSWER_KIND.overLimit : ANSWER_KIND.ok, response);
    else this.records.add(ANSWER_KIND.overLimitFor, withSeconds(response, retryAfterS));
  }

  refused(fault: Fault): void {
    const kind = ANSWER_KIND.fault + FAULT_CODES.indexOf(fault.code as (typeof FAULT_CODES)[number]);
    this.records.add(kind, Buffer.from(fault.message));
  }
}

/** Delivers the answers from another thread to the replies. */
export class AnswerReader {
  readonly #records = new Records();
  readonly #views = new ReusedViews();
  /** Answers are copied here, which is faster than creating a view of each one. */
  readonly #one = new Uint8Array(1_024);

  /**
   * Answers all replies, in order. Errors that a reply throws are passed to `failed`; the other replies are still answered.
   * @returns the memory of the answers
   */
  deliver(
    answers: { readonly memory: ArrayBuffer; readonly length: number },
    replies: readonly DecisionReply[],
    failed: (thrown: unknown) => void,
  ): ArrayBuffer {
    const records = this.#records;
    records.take(answers.memory, answers.length, replies.length);
    let at = 0;
    for (const reply of replies) {
      const kind = records.kindAt(at);
      const start = at + RECORD_HEAD_BYTES;
      at = start + records.sizeAt(at);
      try {
        if (kind < ANSWER_KIND.overLimitFor)
          reply.answered(this.#content(start, at), kind === ANSWER_KIND.overLimit);
        else if (kind === ANSWER_KIND.overLimitFor)
          reply.answered(this.#content(start + SECONDS_BYTES, at), true, secondsAt(records.bytes, start));
        else reply.refused(new Fault(FAULT_CODES[kind - ANSWER_KIND.fault], this.#text(start, at)));
      } catch (thrown) {
        failed(thrown);
      }
    }
    return records.release();
  }

  #content(start: number, end: number): Uint8Array {
    const { bytes } = this.#records;
    const size = end - start;
    const one = this.#one;
    if (size > one.length) return bytes.subarray(start, end);
    if (size <= 64) for (let i = 0; i < size; i++) one[i] = bytes[start + i];
    else one.set(bytes.subarray(start, end));
    return this.#views.of(one, size);
  }

  #text(start: number, end: number): string {
    return Buffer.from(this.#records.bytes.buffer, start, end - start).toString('utf8');
  }
}

function withSeconds(response: Uint8Array, seconds: number): Uint8Array {
  const content = Buffer.allocUnsafe(SECONDS_BYTES + response.length);
  content.writeUInt32LE(Math.min(seconds, MOST_SECONDS));
  content.set(response, SECONDS_BYTES);
  return content;
}

function secondsAt(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset + at, SECONDS_BYTES).getUint32(0, true);
}
