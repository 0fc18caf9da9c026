import { FNV_START, fnvOver, scramble } from '../base/hash.ts';
import { type BucketOrders, NO_BUCKET_ORDERS, readBucketOrders } from './bucket-orders.ts';
import {
  CONDITION,
  DOMAIN,
  EXTRA_ROW,
  HEADER,
  LAYOUT_VERSION,
  LEVEL_END,
  LIMIT,
  LIMIT_FLAG,
  lowContent,
  OVERLAID,
  PART,
  POLICY,
  QUOTA,
  TERMS,
  wholeNumber,
} from './layout.ts';
import type { QuotaRule, RulePlace } from './rule-set.ts';
import { type RuleTerms, readTerms } from './rule-terms.ts';

/** A section with records in the order of a number that each one has, such as that of its limit. */
interface SortedRecords {
  /** Index of the first word. */
  readonly first: number;
  readonly count: number;
  /** Words of a record. */
  readonly words: number;
  /** The word of a record with the number. */
  readonly field: number;
}

/** Compiled rules as a thread reads them: views of the shared buffer, nothing copied. See `layout.ts`. */
export class CompiledRules {
  readonly buffer: SharedArrayBuffer;
  readonly words: Int32Array;
  readonly pool: Uint8Array;
  readonly limitCount: number;
  /** Number of rows of statistics: those of the limits, and then those of {@link EXTRA_ROW}. */
  readonly rowCount: number;
  readonly domainCount: number;
  readonly #domainTable: number;
  readonly #domainMask: number;
  readonly #domains: number;
  readonly #limits: number;
  readonly #extraRows: number;
  readonly #terms: number;
  readonly #answers: number;
  readonly #undotsStatistics: boolean;
  /** By number of the terms: those that were read. */
  readonly #read: RuleTerms[] = [];
  /** By top level of the domain: those that were read. */
  readonly #orders = new Map<number, BucketOrders>();

  constructor(buffer: SharedArrayBuffer) {
    this.buffer = buffer;
    this.words = new Int32Array(buffer);
    const words = this.words;
    if (words[HEADER.version] !== LAYOUT_VERSION) {
      throw new Error(
        `compiled rules have layout version ${words[HEADER.version]}, this program reads version ${LAYOUT_VERSION}`,
      );
    }
    this.pool = new Uint8Array(buffer, words[HEADER.poolBytes]);
    this.limitCount = words[HEADER.limitCount];
    this.rowCount = words[HEADER.rowCount];
    this.domainCount = words[HEADER.domainCount];
    this.#domainTable = words[HEADER.domainTable];
    this.#domainMask = words[HEADER.domainMask];
    this.#domains = words[HEADER.domains];
    this.#limits = words[HEADER.limits];
    this.#extraRows = words[HEADER.extraRows];
    this.#terms = words[HEADER.terms];
    this.#answers = words[HEADER.answers];
    this.#undotsStatistics = words[HEADER.undotsStatistics] !== 0;
  }

  /** The top level of the domain named `bytes[start, end)`, or -1 if there is no such domain. */
  domainLevel(bytes: Uint8Array, start: number, end: number): number {
    const domain = this.#domainOf(bytes, start, end);
    return domain < 0 ? -1 : this.words[this.#domains + domain * DOMAIN.words + DOMAIN.level];
  }

  /**
   * The orders in which the entries of a bucket of a domain can be matched: each has keys of its own, so at most one fits.
   * Returns the same lists on every call.
   *
   * @param level as {@link domainLevel} returns it; the lists are empty if there is no such domain
   */
  bucketOrders(level: number): readonly (readonly string[])[] {
    return this.#bucketOrders(level).orders;
  }

  /** Which keys of buckets of a domain have no order although rules have them. @param level as in {@link bucketOrders} */
  bucketsWithoutOrder(level: number): Pick<BucketOrders, 'ambiguous' | 'isCut'> {
    const { ambiguous, isCut } = this.#bucketOrders(level);
    return { ambiguous, isCut };
  }

  #bucketOrders(level: number): BucketOrders {
    const known = this.#orders.get(level);
    if (known !== undefined) return known;
    // The top level of a domain has a greater number than those of the domains before.
    const records = {
      first: this.#domains,
      count: this.domainCount,
      words: DOMAIN.words,
      field: DOMAIN.level,
    };
    const at = this.#recordOf(level, records);
    if (at < 0) return NO_BUCKET_ORDERS;
    const { words } = this;
    const orders = readBucketOrders(this.text(words[at + DOMAIN.orders], words[at + DOMAIN.ordersLength]));
    this.#orders.set(level, orders);
    return orders;
  }

  /** Whether any domain says something about its answers. */
  get hasAnswers(): boolean {
    return this.#answers !== 0;
  }

  /** What the domain named `bytes[start, end)` says about its answers: a word of `domain-answers.ts`. */
  domainAnswers(bytes: Uint8Array, start: number, end: number): number {
    const domain = this.hasAnswers ? this.#domainOf(bytes, start, end) : -1;
    return domain < 0 ? 0 : this.words[this.#answers + domain];
  }

  /** What the domains that have `answers` say, in definition order: name and word. */
  *allAnswers(): Iterable<readonly [domain: string, word: number]> {
    for (let domain = 0; this.hasAnswers && domain < this.domainCount; domain++) {
      const record = this.#domains + domain * DOMAIN.words;
      const word = this.words[this.#answers + domain];
      if (word === 0) continue;
      yield [this.text(this.words[record + DOMAIN.name], this.words[record + DOMAIN.nameLength]), word];
    }
  }

  /** Whether the rules were compiled with the names of policies; see {@link policyName}. */
  get hasPolicyNames(): boolean {
    return this.words[HEADER.policies] !== 0;
  }

  /** The mappings of requests of the domains that have one, in definition order: name, and `RequestMapping` as JSON. */
  *allRequests(): Iterable<readonly [domain: string, mapping: string]> {
    const { words } = this;
    for (let domain = 0; domain < this.domainCount; domain++) {
      const record = this.#domains + domain * DOMAIN.words;
      const length = words[record + DOMAIN.requestsLength];
      if (length === 0) continue;
      const name = this.text(words[record + DOMAIN.name], words[record + DOMAIN.nameLength]);
      yield [name, this.text(words[record + DOMAIN.requests], length)];
    }
  }

  /** Where the quoted name of the policy of a limit is in the pool. Only for rules that are compiled with these names. */
  policyName(limit: number): { readonly offset: number; readonly length: number } {
    const at = this.words[HEADER.policies] + limit * POLICY.words;
    return { offset: this.words[at + POLICY.name], length: this.words[at + POLICY.nameLength] };
  }

  /** The number of a domain, or -1. */
  #domainOf(bytes: Uint8Array, start: number, end: number): number {
    const words = this.words;
    let at = scramble(fnvOver(FNV_START, bytes, start, end)) & this.#domainMask;
    for (; ; at = (at + 1) & this.#domainMask) {
      const domain = words[this.#domainTable + at] - 1;
      if (domain < 0) return -1;
      const record = this.#domains + domain * DOMAIN.words;
      if (this.holds(words[record + DOMAIN.name], words[record + DOMAIN.nameLength], bytes, start, end)) {
        return domain;
      }
    }
  }

  /** The names of all domains. */
  *domainNames(): Iterable<string> {
    for (let domain = 0; domain < this.domainCount; domain++) {
      const record = this.#domains + domain * DOMAIN.words;
      yield this.text(this.words[record + DOMAIN.name], this.words[record + DOMAIN.nameLength]);
    }
  }

  /** Whether the pool holds exactly `bytes[start, end)` at `offset`. */
  holds(offset: number, length: number, bytes: Uint8Array, start: number, end: number): boolean {
    if (length !== end - start) return false;
    const pool = this.pool;
    for (let i = 0; i < length; i++) if (pool[offset + i] !== bytes[start + i]) return false;
    return true;
  }

  /** A field of a limit; see {@link LIMIT}. */
  limit(limit: number, field: number): number {
    return this.words[this.#limits + limit * LIMIT.words + field];
  }

  /** `requests_per_unit` of a limit: 0 to 2^53 - 1. */
  requestsPerUnit(limit: number): number {
    return wholeNumber(this.limit(limit, LIMIT.requestsPerUnit), this.limit(limit, LIMIT.flags));
  }

  /** Bits of {@link LIMIT_FLAG}. */
  flags(limit: number): number {
    return lowContent(this.limit(limit, LIMIT.flags));
  }

  /** The terms with a number: those of limits whose `LIMIT.terms` is `number + 1`. Returns the same object on every call. */
  terms(number: number): RuleTerms {
    this.#read[number] ??= readTerms(this.words, this.#terms + number * TERMS.words, (offset, length) =>
      this.text(offset, length),
    );
    return this.#read[number];
  }

  /** Where the overlay entry is written that has changed a limit; null if none has. */
  overlaidBy(limit: number): RulePlace | null {
    const { words } = this;
    const [first, count] = [words[HEADER.overlaid], words[HEADER.overlaidCount]];
    const at = this.#recordOf(limit, { first, count, words: OVERLAID.words, field: OVERLAID.limit });
    if (at < 0) return null;
    return { file: this.file(words[at + OVERLAID.file]), line: words[at + OVERLAID.line] };
  }

  /** What is granted of a limit to proxies; null for `DEFAULT_QUOTA`. */
  quotaOf(limit: number): QuotaRule | null {
    const { words } = this;
    const [first, count] = [words[HEADER.quotas], words[HEADER.quotaCount]];
    const at = this.#recordOf(limit, { first, count, words: QUOTA.words, field: QUOTA.limit });
    return at < 0 ? null : { share: words[at + QUOTA.share], forS: words[at + QUOTA.forS] };
  }

  /** The condition and the grouping of an entry, as lines of a rule file; none if it has neither. */
  conditionLines(entry: number): readonly string[] {
    const { words } = this;
    const [first, count] = [words[HEADER.conditions], words[HEADER.conditionCount]];
    const at = this.#recordOf(entry, { first, count, words: CONDITION.words, field: CONDITION.entry });
    return at < 0 ? [] : this.text(words[at + CONDITION.text], words[at + CONDITION.textLength]).split('\n');
  }

  /** The path of the rule file or overlay file with a number. */
  file(number: number): string {
    const at = this.words[HEADER.files] + number * PART.words;
    return this.text(this.words[at + PART.text], this.words[at + PART.length]);
  }

  /** Number of the terms of a plain limit per month + 1; 0 if a month has 30 days. */
  get calendarMonth(): number {
    return this.words[HEADER.calendarMonth];
  }

  /** The first of the further rows of statistics, for a limit that has such rows. */
  firstExtraRow(limit: number): number {
    const [first, count] = [this.#extraRows, this.rowCount - this.limitCount];
    const rows = { first, count, words: EXTRA_ROW.words, field: EXTRA_ROW.ofLimit };
    return this.limitCount + this.#firstRecord(limit, rows);
  }

  /** The index of the first record whose number is not less than `number`; the count of records if all are less. */
  #firstRecord(number: number, { first, count, words: size, field }: SortedRecords): number {
    const { words } = this;
    let [from, end] = [0, count];
    while (from < end) {
      const middle = (from + end) >>> 1;
      if (words[first + middle * size + field] < number) from = middle + 1;
      else end = middle;
    }
    return from;
  }

  /** The index of the first word of the record with a number; -1 if there is none. */
  #recordOf(number: number, records: SortedRecords): number {
    const index = this.#firstRecord(number, records);
    const at = records.first + index * records.words;
    return index < records.count && this.words[at + records.field] === number ? at : -1;
  }

  /** The limit that a row of statistics belongs to. */
  limitOf(row: number): number {
    return row < this.limitCount ? row : this.extraRow(row, EXTRA_ROW.ofLimit);
  }

  /** A field of a row of statistics that is not the own row of a limit; see {@link EXTRA_ROW}. */
  extraRow(row: number, field: number): number {
    return this.words[this.#extraRows + (row - this.limitCount) * EXTRA_ROW.words + field];
  }

  /** Whether a domain has limits that are not plain. Looks at every limit, so ask once for each set of rules. */
  hasTermsIn(domain: string): boolean {
    for (let limit = 0; limit < this.limitCount; limit++) {
      if (this.limit(limit, LIMIT.terms) !== 0 && this.path(limit).startsWith(`${domain}.`)) return true;
    }
    return false;
  }

  /** The configured path of a limit: domain and composite texts, and the level of a limit in `rate_limits`, joined by dots. */
  path(limit: number): string {
    return this.#levels(limit).join('.');
  }

  /** The configured path of the limit as the statistics of a row are named, and the level of a further row. */
  statisticsPath(row: number): string {
    const limit = this.limitOf(row);
    const [domain, ...levels] = this.#levels(limit);
    const item = (this.flags(limit) & LIMIT_FLAG.listed) === 0 ? [] : levels.splice(-1);
    const names = levels.map(level => this.statisticsLevel(level));
    const own = [domain, ...names, ...item.map(undotted)].join('.');
    if (row === limit) return own;
    const level = this.text(this.extraRow(row, EXTRA_ROW.level), this.extraRow(row, EXTRA_ROW.levelLength));
    return `${own}.${undotted(level)}`;
  }

  /** The key and value of a level as the names of statistics have them. */
  statisticsLevel(level: string): string {
    return this.#undotsStatistics ? undotted(level) : level;
  }

  #levels(limit: number): readonly string[] {
    const path = this.text(this.limit(limit, LIMIT.path), this.limit(limit, LIMIT.pathLength));
    return path.split(LEVEL_END);
  }

  /** Text from the pool. */
  text(offset: number, length: number): string {
    // Text decoders reject shared memory, hence the copy.
    return Buffer.from(this.pool.slice(offset, offset + length)).toString('utf8');
  }
}

/** A level without dots, which receivers of statistics would take for the ends of levels. */
export function undotted(level: string): string {
  return level.replaceAll('.', '_');
}
