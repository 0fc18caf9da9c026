import { UNIT_NAMES } from '../../messages/current-limit.ts';
import { isWrittenAsMonth } from '../calendar-month.ts';
import type { CompiledRules } from '../compiled-rules.ts';
import { DOMAIN, ENTRY, ENTRY_FLAG, HEADER, LIMIT, LIMIT_FLAG, PART } from '../layout.ts';
import { DEFAULT_QUOTA, type RulePlace } from '../rule-set.ts';
import { lengthText, type RuleTerms } from '../rule-terms.ts';
import { shareText } from '../shares.ts';

/** How a limit is defined. */
interface LimitDefinition {
  /** A rule file with the entry of the limit and the entries above. Without comments and other entries. */
  readonly text: string;
  /** The keys and values of the rule, from the first level down. An empty value matches every value, or has a condition. */
  readonly entries: readonly { readonly key: string; readonly value: string }[];
  /** Where the entry is written; null for a resource of an xDS server, which has no lines. */
  readonly place: RulePlace | null;
  /** The name of the resource, and its server if there are several; null for a rule file. */
  readonly resource: string | null;
  /** Where the overlay entry is written that has changed the limit; null if none has. */
  readonly overlay: RulePlace | null;
}

/** The definition of a limit, from the compiled rules. Looks at every entry, at most a few milliseconds. */
export function definitionOf(rules: CompiledRules, limit: number): LimitDefinition {
  const chain: number[] = [];
  for (let entry = entryOf(rules, limit); entry >= 0; entry = fieldOf(rules, entry, ENTRY.above) - 1)
    chain.push(entry);
  const [own] = chain;
  const place = placeOf(rules, own);
  const domain = textAt(rules, HEADER.domains, fieldOf(rules, own, ENTRY.domain) * DOMAIN.words);
  const names = chain.map(entry => nameOf(rules, entry));
  const path = [...names.map(({ composite }) => composite), domain].reverse().join('.');
  let lines = [
    ...holderLines(rules, limit),
    ...limitLines(rules, fieldOf(rules, own, ENTRY.limit), rules.path(limit) !== path),
    ...quotaLines(rules, limit),
    ...flagLines(fieldOf(rules, own, ENTRY.flags)),
    ...metadataLines(rules, limit),
  ];
  for (const { key, value, conditions } of names) {
    const ofValue = value === '' ? [] : [`value: ${scalar(value)}`];
    lines = ['descriptors:', ...itemLines([`key: ${scalar(key)}`, ...ofValue, ...conditions, ...lines])];
  }
  return {
    text: [`domain: ${scalar(domain)}`, ...lines, ''].join('\n'),
    entries: names.map(({ key, value }) => ({ key, value })).reverse(),
    place: place?.line === 0 ? null : place,
    resource: place?.line === 0 ? place.file : null,
    overlay: rules.overlaidBy(limit),
  };
}

/** The entry whose limits include this one. */
function entryOf(rules: CompiledRules, limit: number): number {
  const { words } = rules;
  const count = words[HEADER.entryCount];
  for (let entry = 0, at = words[HEADER.entries]; entry < count; entry++, at += ENTRY.words) {
    const first = words[at + ENTRY.limit];
    if (first >= 0 && limit >= first && limit <= first + rules.limit(first, LIMIT.siblings)) return entry;
  }
  throw new Error(`no entry has the limit ${limit}`);
}

function placeOf(rules: CompiledRules, entry: number): RulePlace | null {
  const file = fieldOf(rules, entry, ENTRY.file) - 1;
  if (file < 0) return null;
  return { file: rules.file(file), line: fieldOf(rules, entry, ENTRY.line) };
}

function fieldOf({ words }: CompiledRules, entry: number, field: number): number {
  return words[words[HEADER.entries] + entry * ENTRY.words + field];
}

/** The text whose offset and length in the pool are the words at `place` of a section. */
function textAt(rules: CompiledRules, section: number, place: number): string {
  const at = rules.words[section] + place;
  return rules.text(rules.words[at], rules.words[at + 1]);
}

/** What an entry is called, and the lines of its condition and grouping. An entry with a condition has no value. */
function nameOf(rules: CompiledRules, entry: number) {
  const offset = fieldOf(rules, entry, ENTRY.composite);
  const composite = rules.text(offset, fieldOf(rules, entry, ENTRY.compositeLength));
  const key = rules.text(offset, fieldOf(rules, entry, ENTRY.keyLength));
  const conditions = rules.conditionLines(entry);
  const hasCondition = (fieldOf(rules, entry, ENTRY.flags) & ENTRY_FLAG.condition) !== 0;
  return { composite, key, value: hasCondition ? '' : composite.slice(key.length + 1), conditions };
}

/** The entry that names the holder of leases, for all limits of the entry of a limit. */
function holderLines(rules: CompiledRules, limit: number): string[] {
  const number = rules.limit(limit, LIMIT.terms) - 1;
  const holder = number < 0 ? '' : (rules.terms(number).lease?.holder ?? '');
  return holder === '' ? [] : [`holder: ${scalar(holder)}`];
}

/** What proxies get of all limits of the entry of a limit. */
function quotaLines(rules: CompiledRules, limit: number): string[] {
  const quota = rules.quotaOf(limit);
  if (quota === null) return [];
  const { share, forS } = quota;
  return [
    'quota:',
    ...(share === DEFAULT_QUOTA.share ? [] : [`  share: ${shareText(share)}`]),
    ...(forS === DEFAULT_QUOTA.forS ? [] : [`  for: ${lengthText(forS)}`]),
  ];
}

/** The limits of an entry. In a list, each one has its modes; else the entry has them. */
function limitLines(rules: CompiledRules, first: number, isListed: boolean): string[] {
  if (!isListed) {
    const block = blockLines(rules, first).map(line => `  ${line}`);
    return ['rate_limit:', ...block, ...modeLines(rules, first)];
  }
  const count = rules.limit(first, LIMIT.siblings) + 1;
  const items = Array.from({ length: count }, (_, i) =>
    itemLines([...blockLines(rules, first + i), ...modeLines(rules, first + i)]),
  );
  return ['rate_limits:', ...items.flat()];
}

/** The fields of a `rate_limit`. */
function blockLines(rules: CompiledRules, limit: number): string[] {
  const isUnlimited = (rules.flags(limit) & LIMIT_FLAG.unlimited) !== 0;
  const requests = rules.requestsPerUnit(limit);
  const number = rules.limit(limit, LIMIT.terms) - 1;
  const lease = number < 0 ? null : rules.terms(number).lease;
  if (lease?.mode === 'concurrency')
    return [
      ...nameLines(rules, limit),
      ...['concurrency:', `  limit: ${requests}`, `  for: ${lengthText(lease.forS)}`],
      ...replacesLines(rules, limit),
    ];
  return [
    ...nameLines(rules, limit),
    ...(isUnlimited ? ['unlimited: true'] : windowLines(rules, limit)),
    ...(isUnlimited && requests === 0 ? [] : [`requests_per_unit: ${requests}`]),
    ...replacesLines(rules, limit),
  ];
}

function nameLines(rules: CompiledRules, limit: number): string[] {
  if (rules.limit(limit, LIMIT.name) === 0) return [];
  const json = rules.text(rules.limit(limit, LIMIT.json), rules.limit(limit, LIMIT.jsonLength));
  return [`name: ${scalar(JSON.parse(`{${json}}`).currentLimit.name)}`];
}

function windowLines(rules: CompiledRules, limit: number): string[] {
  const unit = UNIT_NAMES[rules.limit(limit, LIMIT.unit)].toLowerCase();
  const number = rules.limit(limit, LIMIT.terms) - 1;
  if (number < 0) return [`unit: ${unit}`];
  const terms = rules.terms(number);
  const { algorithm, burst, scale } = terms;
  return [
    ...lengthLines(terms, unit),
    ...(algorithm === 'fixed_window' ? [] : [`algorithm: ${algorithm}`]),
    ...(burst === 0 ? [] : [`burst: ${burst}`]),
    ...penaltyLines(terms),
    ...classLines(terms),
    ...(scale === 1 ? [] : [`scale: ${scale}`]),
    ...reserveLines(terms),
  ];
}

function classLines({ classes, afterLimit }: RuleTerms): string[] {
  if (afterLimit > 0) return ['after_limit:', `  admit: ${shareText(afterLimit)}`];
  if (classes === null) return [];
  const { key, names, shares, otherShare } = classes;
  const each = names.map((name, i) => `${scalar(name)}: ${shareText(shares[i])}`);
  // Otherwise, it is the usual one.
  if (otherShare !== Math.min(...shares)) each.push(`default: ${shareText(otherShare)}`);
  return ['classes:', ...[`key: ${scalar(key)}`, ...each].map(line => `  ${line}`)];
}

function penaltyLines({ penalty }: RuleTerms): string[] {
  if (penalty === null) return [];
  const { after, forS, factor, maxS } = penalty;
  const growth = factor === 1 ? [] : [`factor: ${factor}`, `max: ${lengthText(maxS)}`];
  const fields = [`after: ${after}`, `for: ${lengthText(forS)}`, ...growth];
  return ['penalty:', ...fields.map(line => `  ${line}`)];
}

function reserveLines({ lease }: RuleTerms): string[] {
  if (lease?.mode !== 'reserve') return [];
  const { forS, estimate, zeroHits, overdraft } = lease;
  const fields = [
    `for: ${lengthText(forS)}`,
    ...(overdraft === 'refuse_next' ? [] : [`overdraft: ${overdraft}`]),
    ...(zeroHits === 'extend' ? [] : [`zero_hits: ${zeroHits}`]),
    ...(estimate === 0 ? [] : [`estimate: ${estimate}`]),
  ];
  return ['reserve:', ...fields.map(line => `  ${line}`)];
}

function lengthLines(terms: RuleTerms, unit: string): string[] {
  const { calendar, multiplier, window } = terms;
  if (calendar !== null && !isWrittenAsMonth(terms)) {
    // The window shows the start as it is written, unless it is the usual one: `month@15 Europe/Berlin`.
    const [, starts] = /@([^ ]+) /.exec(window) ?? [];
    const { period, zone } = calendar;
    const fields = [`period: ${period}`, `zone: ${scalar(zone)}`];
    if (starts !== undefined) fields.push(`starts: ${starts}`);
    return ['calendar:', ...fields.map(line => `  ${line}`)];
  }
  if (multiplier === 1) return [`unit: ${unit}`];
  // A window in letters has no months and years.
  const hasLetter = unit !== 'month' && unit !== 'year';
  return hasLetter ? [`window: ${window}`] : [`unit: ${unit}`, `unit_multiplier: ${multiplier}`];
}

function replacesLines(rules: CompiledRules, limit: number): string[] {
  const first = rules.limit(limit, LIMIT.replaces);
  const count = rules.limit(limit, LIMIT.replaceCount);
  if (count === 0) return [];
  const names = Array.from({ length: count }, (_, i) =>
    textAt(rules, HEADER.replacedNames, (first + i) * PART.words),
  );
  return ['replaces:', ...names.flatMap(name => itemLines([`name: ${scalar(name)}`]))];
}

function modeLines(rules: CompiledRules, limit: number): string[] {
  const flags = rules.flags(limit);
  return [
    ...((flags & LIMIT_FLAG.shadow) === 0 ? [] : ['shadow_mode: true']),
    ...((flags & LIMIT_FLAG.quota) === 0 ? [] : ['quota_mode: true']),
  ];
}

function flagLines(flags: number): string[] {
  return [
    ...((flags & ENTRY_FLAG.detailedMetric) === 0 ? [] : ['detailed_metric: true']),
    ...((flags & ENTRY_FLAG.valueToMetric) === 0 ? [] : ['value_to_metric: true']),
    ...((flags & ENTRY_FLAG.shareThreshold) === 0 ? [] : ['share_threshold: true']),
  ];
}

/** JSON is YAML in one line. */
function metadataLines(rules: CompiledRules, limit: number): string[] {
  const length = rules.limit(limit, LIMIT.metadataLength);
  return length === 0 ? [] : [`metadata: ${rules.text(rules.limit(limit, LIMIT.metadata), length)}`];
}

/** An item of a list, below the name of the list. */
function itemLines(lines: readonly string[]): string[] {
  return lines.map((line, i) => (i === 0 ? `  - ${line}` : `    ${line}`));
}

const PLAIN = /^[A-Za-z_/][A-Za-z0-9_./*@-]*$/;
/** Texts that YAML 1.1 does not read as text. */
const WORD = /^(y|n|yes|no|on|off|true|false|null)$/i;

/** A text as YAML, in quotes if it could mean something else. */
function scalar(text: string): string {
  return PLAIN.test(text) && !WORD.test(text) ? text : JSON.stringify(text);
}
