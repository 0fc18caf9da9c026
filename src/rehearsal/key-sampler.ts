import { doubled } from '../base/bytes.ts';
import { Fingerprinter, type FingerprintKey } from '../counters/fingerprint.ts';
import { type DecisionBatch, type DecisionTable, KIND } from '../decision/batch.ts';
import { windowBytes } from '../decision/cache-key.ts';
import type { RowSelection } from '../decision/plan.ts';
import type { RequestTable } from '../messages/request-table.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import { ENTRY, ENTRY_FLAG, HEADER, LIMIT } from '../rules/layout.ts';
import type { SteeringTable } from '../steering/steering-table.ts';

const INITIAL_ROWS = 64;

/**
 * Chooses a share of the keys: all requests with one counter are decided, or none of them, so that the counts of a chosen
 * key are complete.
 *
 * Usually, descriptors are chosen by their texts, and the others need not be matched to rules. If descriptors can influence
 * each other or share counters, all of them are matched first, and those with one counter are chosen together.
 */
export class KeySampler implements RowSelection {
  readonly #print: Fingerprinter;
  /** Hashes below this number are chosen. */
  readonly #below: number;
  readonly #hasPatterns: boolean;
  readonly #isApart: boolean;
  /** The descriptors of the current batch are chosen before they are matched. */
  #isEarly = false;
  /** By row: 1 if the descriptor is not chosen. */
  #leftOut = new Uint8Array(INITIAL_ROWS);

  /** @param share above 0 and below 1 */
  constructor(key: FingerprintKey, share: number, rules: CompiledRules) {
    this.#print = new Fingerprinter(key);
    this.#below = share * 0x1_0000_0000;
    this.#hasPatterns = hasPatterns(rules);
    this.#isApart = !this.#hasPatterns && !hasReplaces(rules);
  }

  /** Call before the requests of a batch are planned. Takes away the entries of descriptors that are not chosen already. */
  begin({ requests }: DecisionBatch, steering: SteeringTable | null): void {
    while (this.#leftOut.length < requests.descriptorRows) this.#leftOut = doubled(this.#leftOut, Uint8Array);
    // With a ban, the other descriptors of the request are not counted.
    this.#isEarly = this.#isApart && steering === null;
    if (!this.#isEarly) return;
    for (let row = 0; row < requests.descriptorRows; row++) {
      if (!this.#mark(row, this.#hashOfText(requests, row))) continue;
      requests.entryCount[row] = 0;
      requests.hasOverride[row] = 0;
    }
  }

  select(batch: DecisionBatch, first: number, end: number): void {
    if (this.#isEarly) return;
    for (let row = first; row < end; row++) {
      if (this.#mark(row, this.#hashOf(batch, row))) batch.decisions.kind[row] = KIND.none;
    }
  }

  isLeftOut(row: number): boolean {
    return this.#leftOut[row] === 1;
  }

  /** Returns whether the descriptor with a hash is left out. */
  #mark(row: number, hash: number): boolean {
    const isLeftOut = hash >>> 0 >= this.#below;
    this.#leftOut[row] = isLeftOut ? 1 : 0;
    return isLeftOut;
  }

  #hashOf(batch: DecisionBatch, row: number): number {
    const { decisions, keys, requests } = batch;
    const counted = this.#hasPatterns ? countedRow(decisions, row) : -1;
    if (counted < 0) return this.#hashOfText(requests, row);
    const end = decisions.keyEnd[counted] - windowBytes(batch, counted);
    this.#print.take(keys.bytes, decisions.keyStart[counted], end);
    return this.#print.a;
  }

  #hashOfText(requests: RequestTable, row: number): number {
    const first = requests.firstEntry[row];
    let hash = 0;
    for (let entry = first; entry < first + requests.entryCount[row]; entry++) {
      this.#print.take(requests.bytes, requests.keyStart[entry], requests.keyEnd[entry]);
      hash = Math.imul(hash ^ this.#print.a, 0x9e3779b1);
      this.#print.take(requests.bytes, requests.valueStart[entry], requests.valueEnd[entry]);
      hash = Math.imul(hash ^ this.#print.b, 0x85ebca6b) ^ (hash >>> 15);
    }
    return hash;
  }
}

/** The row whose cache key identifies the counters of a descriptor; -1 if it has none. */
function countedRow({ kind, firstPart, partCount }: DecisionTable, row: number): number {
  if (kind[row] === KIND.limited) return row;
  if (kind[row] !== KIND.several) return -1;
  const first = firstPart[row];
  for (let part = first; part < first + partCount[row]; part++) if (kind[part] === KIND.limited) return part;
  return -1;
}

/** Whether values can share a counter: those of a pattern or a group, or of an entry that is not part of the key. */
function hasPatterns({ words }: CompiledRules): boolean {
  const first = words[HEADER.entries];
  const end = first + words[HEADER.entryCount] * ENTRY.words;
  for (let entry = first; entry < end; entry += ENTRY.words) {
    if (
      (words[entry + ENTRY.flags] & (ENTRY_FLAG.shareThreshold | ENTRY_FLAG.grouped | ENTRY_FLAG.aside)) !==
      0
    )
      return true;
  }
  return false;
}

/** Whether the limit of a descriptor can depend on the other descriptors of its request. */
function hasReplaces(rules: CompiledRules): boolean {
  for (let limit = 0; limit < rules.limitCount; limit++) {
    if (rules.limit(limit, LIMIT.replaceCount) > 0) return true;
  }
  return false;
}
