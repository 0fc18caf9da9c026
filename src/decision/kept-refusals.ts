import type { CompiledRules } from '../rules/compiled-rules.ts';
import { type DecisionBatch, KIND, OVERRIDDEN, PENALIZED } from './batch.ts';
import type { ResponseFormat } from './decider.ts';

/** Number of answers that are kept, which is even. Limits that share a place replace each other. */
const PLACES = 1_024;

/** Longer answers are not kept, so that the answers of a thread use at most 2 MiB. */
const MAX_BYTES = 2_048;

const NO_BYTES = new Uint8Array(0);

/** The answer to requests that a limit refuses in a second. */
class KeptRefusal {
  /** Number of the limit; -1 for none. */
  limit = -1;
  nowS = 0;
  format: ResponseFormat = 'protobuf';
  /** The response, encoded. */
  bytes: Uint8Array = NO_BYTES;
  /** See `DecisionReply.answered`. */
  retryAfterS = 0;
}

/**
 * Keeps encoded refusals. All requests with one descriptor that the same limit refuses in the same second get the same
 * answer, whatever their keys are. Copying an answer costs much less than encoding it, above all if it explains itself.
 */
export class KeptRefusals {
  readonly #places = Array.from({ length: PLACES }, () => new KeptRefusal());
  #rules: CompiledRules | null = null;

  /** The kept answer to a refused request; null if none was kept. Its bytes are valid until the next {@link keep}. */
  find(batch: DecisionBatch, request: number, rules: CompiledRules): Readonly<KeptRefusal> | null {
    const row = rowOf(batch, request);
    if (row < 0 || rules !== this.#rules) return null;
    const limit = batch.decisions.limit[row];
    const format = batch.formats[request];
    const kept = this.#placeOf(limit, format);
    return kept.limit === limit && kept.nowS === batch.nowS && kept.format === format ? kept : null;
  }

  /** Keeps a copy of the answer to a refused request, if other requests will get the same one. */
  keep(
    batch: DecisionBatch,
    request: number,
    { rules, bytes, retryAfterS }: Pick<KeptRefusal, 'bytes' | 'retryAfterS'> & { rules: CompiledRules },
  ): void {
    const row = rowOf(batch, request);
    if (row < 0 || bytes.length > MAX_BYTES) return;
    if (rules !== this.#rules) {
      for (const place of this.#places) place.limit = -1;
      this.#rules = rules;
    }
    const limit = batch.decisions.limit[row];
    const format = batch.formats[request];
    const kept = this.#placeOf(limit, format);
    kept.limit = limit;
    kept.nowS = batch.nowS;
    kept.format = format;
    // Answers of the next second mostly have the same length.
    if (kept.bytes.length === bytes.length) kept.bytes.set(bytes);
    else kept.bytes = bytes.slice();
    kept.retryAfterS = retryAfterS;
  }

  /** Answers over HTTP have the odd places. */
  #placeOf(limit: number, format: ResponseFormat): KeptRefusal {
    return this.#places[(limit * 2 + (format === 'protobuf' ? 0 : 1)) % PLACES];
  }
}

/**
 * The row of the descriptor of a refused request whose answer follows from its limit and the time in seconds; -1 if the
 * answer also depends on the request or its key.
 */
function rowOf({ requests, decisions }: DecisionBatch, request: number): number {
  if (requests.descriptorCount[request] !== 1) return -1;
  const row = requests.firstDescriptor[request];
  if (decisions.kind[row] !== KIND.limited || decisions.limit[row] < 0) return -1;
  if (decisions.remaining[row] > 0 || (decisions.flags[row] & (OVERRIDDEN | PENALIZED)) !== 0) return -1;
  // Sliding windows, token buckets and leases reset at another time for each key, and answers name the class.
  const terms = decisions.terms[row];
  if (terms === null || terms.admission === null) return row;
  return terms.isFixed && terms.classes === null && terms.holders === null ? row : -1;
}
