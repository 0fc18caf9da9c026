import type { ByteWriter } from '../base/bytes.ts';
import { windowStartS } from '../counters/window.ts';
import type { RequestTable } from '../messages/request-table.ts';
import { type DecisionBatch, KIND } from './batch.ts';

/**
 * Cache keys, byte for byte those of envoyproxy/ratelimit, so that both can share a store:
 *
 *     <prefix><domain>_<key>_<value>_<key>_<value>_…<start of the window in seconds>
 *
 * Nothing is escaped, and the unit is not part of the key. `Matcher` writes the part of the entries.
 */
export class CacheKeys {
  readonly #prefix: Uint8Array;
  /** By unit: the start of the current window as decimal text, computed once a second. */
  readonly #starts: Uint8Array[] = [];
  #startsAtS = -1;

  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix);
  }

  /** Appends the part before the entries. */
  begin(key: ByteWriter, table: RequestTable, request: number): void {
    key.copy(this.#prefix, 0, this.#prefix.length);
    key.copy(table.bytes, table.domainStart[request], table.domainEnd[request]);
    key.byte(95);
  }

  /** Appends the start of the window that contains `nowS`. */
  end(key: ByteWriter, unit: number, nowS: number): void {
    if (nowS !== this.#startsAtS) {
      this.#startsAtS = nowS;
      for (let each = 1; each <= 7; each++)
        this.#starts[each] = Buffer.from(String(windowStartS(each, nowS)));
    }
    const start = this.#starts[unit];
    key.copy(start, 0, start.length);
  }
}

/** Length of the end of the cache key of a row that names the window. */
export function windowBytes({ decisions, nowS }: DecisionBatch, row: number): number {
  if (decisions.kind[row] !== KIND.limited) return 0;
  const terms = decisions.terms[row];
  return terms === null ? digits(windowStartS(decisions.unit[row], nowS)) : terms.window.keyEnd.length;
}

/** Nearly all times since the epoch have ten digits. */
function digits(number: number): number {
  return number >= 1e9 && number < 1e10 ? 10 : String(number).length;
}
