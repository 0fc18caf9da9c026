import { ByteWriter } from '../base/bytes.ts';
import { RequestTable } from '../messages/request-table.ts';
import type { CompiledRules } from '../rules/compiled-rules.ts';
import { Matcher } from '../rules/matching/matcher.ts';
import type { SteeringRecord } from './record.ts';
import { PRECEDENCE, type SteeringTable } from './steering-table.ts';

/** Where a descriptor is: its request, and its row. */
interface Place {
  readonly request: number;
  readonly row: number;
}

/**
 * Finds the records for descriptors of a request whose domain is selected in the table.
 *
 * A limit with classes reads an entry that is not part of its path. A record without this entry applies to the descriptors
 * of all classes, and one with the entry takes precedence over another one of the same kind.
 */
export class RecordFinder {
  readonly #matcher = new Matcher();
  readonly #key = new ByteWriter();
  /** The path of a descriptor: its entries without those that are not part of it. */
  readonly #path = new RequestTable();

  /**
   * Finds the record that steers a descriptor.
   *
   * @param rules null before the first load
   * @returns null if no record does
   */
  find(
    table: SteeringTable,
    rules: CompiledRules | null,
    requests: RequestTable,
    place: Place,
  ): SteeringRecord | null {
    const own = table.find(requests, place.row);
    if (rules === null || rules.rowCount === rules.limitCount || !this.#takePath(rules, requests, place))
      return own;
    const ofAll = table.find(this.#path, 0);
    if (own === null || ofAll === null) return own ?? ofAll;
    return PRECEDENCE[ofAll.kind] < PRECEDENCE[own.kind] ? ofAll : own;
  }

  /** Returns false if all entries of the descriptor are part of its path. */
  #takePath(rules: CompiledRules, requests: RequestTable, { request, row }: Place): boolean {
    const matcher = this.#matcher;
    const { bytes, domainStart, domainEnd } = requests;
    const level = rules.domainLevel(bytes, domainStart[request], domainEnd[request]);
    if (level < 0) return false;
    this.#key.reset();
    matcher.match(rules, level, requests, row, this.#key);
    if (matcher.asideCount === 0) return false;
    const asides = matcher.asides.subarray(0, matcher.asideCount);
    this.#path.takeEntries(requests, row, entry => !asides.includes(entry));
    return true;
  }
}
