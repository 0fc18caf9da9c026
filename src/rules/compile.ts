import { ByteWriter } from '../base/bytes.ts';
import { WordList } from '../base/collections/word-list.ts';
import { FNV_START, fnvOver } from '../base/hash.ts';
import { UNIT_NAMES, writeCurrentLimit, writeCurrentLimitJson } from '../messages/current-limit.ts';
import { bucketOrdersOf, bucketOrdersText } from './bucket-orders.ts';
import { asideKeys, writeAside } from './compile-asides.ts';
import { ConditionSections } from './compile-conditions.ts';
import { ExtraRows } from './compile-extra-rows.ts';
import {
  domainTable,
  type Edge,
  edgeTable,
  LimitRecords,
  wholeLines,
  wildcardTable,
} from './compile-tables.ts';
import { TermsSection } from './compile-terms.ts';
import { WildcardSections } from './compile-wildcards.ts';
import { groupingBits } from './conditions/grouping.ts';
import { answersWord } from './domain-answers.ts';
import {
  CONDITION,
  DOMAIN,
  EDGE_WORDS,
  ENTRY,
  ENTRY_FLAG,
  EXTRA_ROW,
  HEADER,
  highBits,
  LAYOUT_VERSION,
  LEVEL,
  LEVEL_END,
  LIMIT,
  LIMIT_FLAG,
  OVERLAID,
  PART,
  QUOTA,
} from './layout.ts';
import { namesPolicies, PolicyNames } from './policy-names.ts';
import {
  type DomainRules,
  isDefaultQuota,
  type RuleEntry,
  type RuleLimit,
  type RuleSet,
  UNIT_NUMBERS,
} from './rule-set.ts';

/** What the settings say about all rules. */
interface CompileOptions {
  /** What they enable for the answers of all domains: bits of `ANSWER`. Default: nothing. */
  readonly answers?: number;
  /** Whether dots in keys and values become `_` in the names of statistics. Default: false. */
  readonly undotsStatistics?: boolean;
  /** Whether months are those of the calendar, in UTC, instead of 30 days. Default: false. */
  readonly calendarMonths?: boolean;
}

/**
 * Compiles a checked rule set into one shared buffer (see `layout.ts`), which any thread reads through `CompiledRules`.
 * Time and memory are linear in the number of entries.
 */
export function compileRules(
  rules: RuleSet,
  { answers = 0, undotsStatistics = false, calendarMonths = false }: CompileOptions = {},
): SharedArrayBuffer {
  const compiler = new Compiler(namesPolicies(rules, answers), calendarMonths);
  for (const domain of rules.domains) compiler.addDomain(domain);
  return compiler.publish(undotsStatistics);
}

class Compiler {
  #limitCount = 0;
  readonly #extraRows = new ExtraRows(text => this.#poolText(text));
  readonly #domains = new WordList();
  readonly #levels = new WordList();
  readonly #entries = new WordList();
  readonly #limits = new WordList();
  readonly #replaces = new WordList();
  readonly #replacedNames = new WordList();
  readonly #files = new WordList();
  readonly #overlaid = new LimitRecords();
  readonly #quotas = new LimitRecords();
  readonly #fileNumbers = new Map<string, number>();
  readonly #pool = new ByteWriter(65_536);
  readonly #edges: Edge[] = [];
  /** The interned limit names: numbers from 1, so that decisions compare numbers. */
  readonly #names = new Map<string, number>();
  #domainCount = 0;
  /** Number of the entry above + 1, as in {@link ENTRY}. */
  #above = 0;
  /** By domain: what it says about its answers. */
  readonly #answers: number[] = [];
  /** Null if no answer names policies. */
  readonly #policies: PolicyNames | null;
  readonly #terms: TermsSection;
  readonly #conditions = new ConditionSections({
    pool: this.#pool,
    levels: this.#levels,
    edges: this.#edges,
  });
  readonly #wildcards = new WildcardSections({
    pool: this.#pool,
    levels: this.#levels,
    entries: this.#entries,
  });

  constructor(namesPolicies: boolean, calendarMonths: boolean) {
    this.#terms = new TermsSection(calendarMonths, text => this.#poolText(text));
    this.#policies = namesPolicies ? new PolicyNames(text => this.#poolText(text)) : null;
  }

  addDomain(domain: DomainRules): void {
    const record = this.#domains.allocate(DOMAIN.words);
    this.#domainCount++;
    this.#answers.push(domain.answers === undefined ? 0 : answersWord(domain.answers));
    const name = this.#poolText(domain.name);
    this.#policies?.enter(domain.name);
    const level = this.#addLevel(domain.entries, domain.name);
    this.#policies?.leave();
    const orders = this.#poolText(bucketOrdersText(bucketOrdersOf(domain.entries)));
    const requests = this.#poolText(domain.requests === undefined ? '' : JSON.stringify(domain.requests));
    const { words } = this.#domains;
    words[record + DOMAIN.name] = name.offset;
    words[record + DOMAIN.nameLength] = name.length;
    words[record + DOMAIN.level] = level;
    words[record + DOMAIN.orders] = orders.offset;
    words[record + DOMAIN.ordersLength] = orders.length;
    words[record + DOMAIN.requests] = requests.offset;
    words[record + DOMAIN.requestsLength] = requests.length;
  }

  #addLevel(entries: readonly RuleEntry[], path: string): number {
    const level = this.#levels.allocate(LEVEL.words) / LEVEL.words;
    const numbered = entries.map(rule => ({ rule, entry: this.#addEntry(rule, level, path) }));
    this.#wildcards.addLevel(level, numbered);
    this.#conditions.addLevel(level, numbered);
    return level;
  }

  #addEntry(entry: RuleEntry, level: number, parentPath: string): number {
    const path = parentPath + LEVEL_END + entry.composite;
    const at = this.#entries.allocate(ENTRY.words);
    const number = at / ENTRY.words;
    const composite = this.#poolText(entry.composite);
    if (entry.condition === undefined) {
      const [start, end] = [composite.offset, composite.offset + composite.length];
      this.#edges.push({ level, hash: fnvOver(FNV_START, this.#pool.bytes, start, end), entry: number });
    }
    this.#conditions.describe(number, entry);
    this.#policies?.enter(entry.key);
    const limit = this.#addLimits(entry, path);
    const above = this.#above;
    this.#above = number + 1;
    const asides = asideKeys(entry);
    const isLeaf = entry.entries.length === 0 && asides.size === 0;
    const nested = isLeaf ? -1 : this.#addLevel(entry.entries, path);
    this.#above = above;
    this.#policies?.leave();
    const words = this.#entries.words;
    words[at + ENTRY.composite] = composite.offset;
    words[at + ENTRY.compositeLength] = composite.length;
    words[at + ENTRY.limit] = limit;
    words[at + ENTRY.level] = nested;
    words[at + ENTRY.flags] =
      (entry.detailedMetric ? ENTRY_FLAG.detailedMetric : 0) |
      (entry.valueToMetric ? ENTRY_FLAG.valueToMetric : 0) |
      (entry.shareThreshold ? ENTRY_FLAG.shareThreshold : 0) |
      (entry.condition === undefined ? 0 : ENTRY_FLAG.condition) |
      (entry.groupBy === undefined ? 0 : ENTRY_FLAG.grouped | groupingBits(entry.groupBy)) |
      countingFlags(entry);
    if ((words[at + ENTRY.flags] & ENTRY_FLAG.marked) !== 0)
      this.#levels.words[level * LEVEL.words + LEVEL.marks]++;
    words[at + ENTRY.keyLength] = Buffer.byteLength(entry.key);
    words[at + ENTRY.above] = above;
    words[at + ENTRY.domain] = this.#domainCount - 1;
    words[at + ENTRY.file] = entry.place ? this.#fileNumber(entry.place.file) + 1 : 0;
    words[at + ENTRY.line] = entry.place?.line ?? 0;
    for (const key of asides) this.#addAside(key, at);
    return number;
  }

  /** Adds an entry that limits of the rule above read; see `ENTRY_FLAG.aside`. */
  #addAside(text: string, rule: number): void {
    const at = this.#entries.allocate(ENTRY.words);
    const key = this.#poolText(text);
    const hash = fnvOver(FNV_START, this.#pool.bytes, key.offset, key.offset + key.length);
    const { words } = this.#entries;
    this.#edges.push({ level: words[rule + ENTRY.level], hash, entry: at / ENTRY.words });
    writeAside(words, at, key, rule);
  }

  /** Adds the limits of an entry. Returns the number of the first one, or -1. */
  #addLimits(entry: RuleEntry, path: string): number {
    const { limits } = entry;
    if (limits.length === 0) return -1;
    const first = this.#addLimit(entry, limits[0], path);
    for (let i = 1; i < limits.length; i++) this.#addLimit(entry, limits[i], path);
    if (entry.overlaidBy) {
      const { file, line } = entry.overlaidBy;
      this.#overlaid.add(first, limits.length, [this.#fileNumber(file), line]);
    }
    if (entry.quota !== undefined && !isDefaultQuota(entry.quota)) {
      const { share, forS } = entry.quota;
      this.#quotas.add(first, limits.length, [share, forS]);
    }
    this.#limits.words[first * LIMIT.words + LIMIT.siblings] = limits.length - 1;
    return first;
  }

  #addLimit(entry: RuleEntry, limit: RuleLimit, path: string): number {
    const at = this.#limits.allocate(LIMIT.words);
    this.#limitCount++;
    this.#policies?.add(limit);
    const unit = limit.unit === null ? 0 : UNIT_NUMBERS[limit.unit];
    const current = {
      requestsPerUnit: limit.requestsPerUnit,
      unit,
      unitName: UNIT_NAMES[unit],
      name: limit.name,
    };
    // Protobuf first, right after the text of the entry: a decision reads one after the other.
    const protobuf = this.#pooled(pool => writeCurrentLimit(pool, current));
    const json = this.#pooled(pool => writeCurrentLimitJson(pool, current));
    const named = this.#poolText(limit.item === null ? path : path + LEVEL_END + limit.item.level);
    const metadata = this.#pooled(pool => {
      if (entry.metadata !== null) pool.text(JSON.stringify(entry.metadata));
    });
    const replaces = this.#replaces.allocate(limit.replaces.length);
    limit.replaces.forEach((name, i) => {
      this.#replaces.words[replaces + i] = this.#intern(name);
      this.#addText(this.#replacedNames, name);
    });
    const words = this.#limits.words;
    words[at + LIMIT.requestsPerUnit] = limit.requestsPerUnit;
    words[at + LIMIT.unit] = unit;
    words[at + LIMIT.flags] =
      (limit.unlimited ? LIMIT_FLAG.unlimited : 0) |
      (entry.shadowMode || limit.item?.shadowMode ? LIMIT_FLAG.shadow : 0) |
      (entry.quotaMode || limit.item?.quotaMode ? LIMIT_FLAG.quota : 0) |
      (limit.item === null ? 0 : LIMIT_FLAG.listed) |
      highBits(limit.requestsPerUnit);
    words[at + LIMIT.name] = limit.name === '' ? 0 : this.#intern(limit.name);
    words[at + LIMIT.replaces] = replaces;
    words[at + LIMIT.replaceCount] = limit.replaces.length;
    words[at + LIMIT.protobuf] = protobuf.offset;
    words[at + LIMIT.protobufLength] = protobuf.length;
    words[at + LIMIT.json] = json.offset;
    words[at + LIMIT.jsonLength] = json.length;
    words[at + LIMIT.path] = named.offset;
    words[at + LIMIT.pathLength] = named.length;
    words[at + LIMIT.metadata] = metadata.offset;
    words[at + LIMIT.metadataLength] = metadata.length;
    const terms = this.#terms.add(limit);
    words[at + LIMIT.terms] = terms;
    if (limit.terms !== null) this.#extraRows.add(at / LIMIT.words, limit.terms, terms - 1);
    return at / LIMIT.words;
  }

  #fileNumber(file: string): number {
    const known = this.#fileNumbers.get(file);
    if (known !== undefined) return known;
    this.#addText(this.#files, file);
    const number = this.#fileNumbers.size;
    this.#fileNumbers.set(file, number);
    return number;
  }

  /** Appends a record of {@link PART}. */
  #addText(list: WordList, text: string): void {
    const at = list.allocate(PART.words);
    const { offset, length } = this.#poolText(text);
    list.words[at + PART.text] = offset;
    list.words[at + PART.length] = length;
  }

  #intern(name: string): number {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const number = this.#names.size + 1;
    this.#names.set(name, number);
    return number;
  }

  #poolText(text: string): { offset: number; length: number } {
    return this.#pooled(pool => pool.text(text));
  }

  #pooled(write: (pool: ByteWriter) => void): { offset: number; length: number } {
    const offset = this.#pool.length;
    write(this.#pool);
    return { offset, length: this.#pool.length - offset };
  }

  /** Copies all sections into one shared buffer. */
  publish(undotsStatistics: boolean): SharedArrayBuffer {
    const edges = edgeTable(this.#edges);
    const wildcards = wildcardTable(this.#wildcards.edges, this.#entries.words);
    const conditions = this.#conditions;
    const valueSets = edgeTable(conditions.setEdges);
    const domains = domainTable(this.#domains, this.#pool.bytes);
    const header = new Int32Array(HEADER.words);
    let at = wholeLines(HEADER.words);
    const placed: { at: number; words: Int32Array }[] = [];
    const place = (field: number, words: Int32Array): void => {
      header[field] = at;
      placed.push({ at, words });
      at += wholeLines(words.length);
    };
    place(HEADER.domainTable, domains);
    place(HEADER.domains, this.#domains.view());
    place(HEADER.levels, this.#levels.view());
    place(HEADER.entries, this.#entries.view());
    place(HEADER.edgeTable, edges);
    place(HEADER.wildcardTable, wildcards);
    place(HEADER.shapes, this.#wildcards.shapes.view());
    place(HEADER.parts, this.#wildcards.parts.view());
    place(HEADER.valueSetTable, valueSets);
    place(HEADER.valueSets, conditions.valueSets.view());
    place(HEADER.intervals, conditions.intervals.view());
    place(HEADER.patterns, conditions.patterns.view());
    place(HEADER.automata, conditions.automata.view());
    place(HEADER.exclusions, conditions.exclusions.view());
    place(HEADER.conditions, conditions.conditions.view());
    place(HEADER.limits, this.#limits.view());
    place(HEADER.extraRows, this.#extraRows.words.view());
    place(HEADER.terms, this.#terms.words.view());
    place(HEADER.replaces, this.#replaces.view());
    if (this.#answers.some(word => word !== 0)) place(HEADER.answers, Int32Array.from(this.#answers));
    if (this.#policies !== null) place(HEADER.policies, this.#policies.words());
    place(HEADER.files, this.#files.view());
    place(HEADER.overlaid, this.#overlaid.words.view());
    place(HEADER.quotas, this.#quotas.words.view());
    place(HEADER.replacedNames, this.#replacedNames.view());
    header[HEADER.version] = LAYOUT_VERSION;
    header[HEADER.undotsStatistics] = Number(undotsStatistics);
    header[HEADER.calendarMonth] = this.#terms.calendarMonth;
    header[HEADER.domainMask] = domains.length - 1;
    header[HEADER.edgeMask] = edges.length / EDGE_WORDS - 1;
    header[HEADER.wildcardMask] = wildcards.length / EDGE_WORDS - 1;
    header[HEADER.valueSetMask] = valueSets.length / EDGE_WORDS - 1;
    header[HEADER.conditionCount] = conditions.conditions.length / CONDITION.words;
    header[HEADER.overlaidCount] = this.#overlaid.words.length / OVERLAID.words;
    header[HEADER.quotaCount] = this.#quotas.words.length / QUOTA.words;
    header[HEADER.poolBytes] = at * 4;
    header[HEADER.limitCount] = this.#limitCount;
    header[HEADER.rowCount] = this.#limitCount + this.#extraRows.words.length / EXTRA_ROW.words;
    header[HEADER.domainCount] = this.#domainCount;
    header[HEADER.entryCount] = this.#entries.length / ENTRY.words;
    const poolBytes = (this.#pool.length + 3) & ~3;
    const buffer = new SharedArrayBuffer(at * 4 + poolBytes);
    const words = new Int32Array(buffer);
    words.set(header);
    for (const section of placed) words.set(section.words, section.at);
    new Uint8Array(buffer, at * 4).set(this.#pool.view());
    return buffer;
  }
}

/** Flags for how values of an entry count; see `ENTRY_FLAG.marked`. */
function countingFlags({ condition, groupBy, shareThreshold }: RuleEntry): number {
  const foldsCase = condition !== undefined && 'ignoreCase' in condition && condition.ignoreCase;
  const isMarked = groupBy !== undefined || foldsCase || (condition !== undefined && shareThreshold);
  return (foldsCase ? ENTRY_FLAG.foldsCase : 0) | (isMarked ? ENTRY_FLAG.marked : 0);
}
