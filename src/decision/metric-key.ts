import { ByteWriter } from '../base/bytes.ts';
import type { RequestTable } from '../messages/request-table.ts';
import { type CompiledRules, undotted } from '../rules/compiled-rules.ts';
import { ENTRY, ENTRY_FLAG, HEADER, LEVEL_END, LIMIT } from '../rules/layout.ts';
import { writeCounted } from '../rules/matching/counted-text.ts';
import { MATCHED, matchesSeveral } from '../rules/matching/matched.ts';
import type { Matcher } from '../rules/matching/matcher.ts';

/** A descriptor of a request in a domain. */
interface DescriptorOfDomain {
  readonly table: RequestTable;
  readonly descriptor: number;
  readonly domain: string;
}

/**
 * Whether the name of the statistics of a match contains request values, instead of being the configured path (spec 2.5).
 * This is rare, so the name is built only if this returns true.
 */
export function hasDynamicMetricKey(
  rules: CompiledRules,
  matcher: Matcher,
  table: RequestTable,
  descriptor: number,
): boolean {
  const words = rules.words;
  const entries = words[HEADER.entries];
  const last = table.entryCount[descriptor] - 1;
  const leaf = entries + matcher.path[last] * ENTRY.words;
  if ((words[leaf + ENTRY.flags] & ENTRY_FLAG.detailedMetric) !== 0) return true;
  for (let level = 0; level <= last; level++) {
    const how = matcher.how[level];
    if (how === MATCHED.exact) continue;
    const record = entries + matcher.path[level] * ENTRY.words;
    if ((words[record + ENTRY.flags] & ENTRY_FLAG.valueToMetric) !== 0) return true;
    if (
      how === MATCHED.wildcard &&
      !startsWithKey(rules, record, table, table.firstEntry[descriptor] + level)
    )
      return true;
  }
  return false;
}

/**
 * The metric key of the match in `matcher`: the domain, then one part for each level.
 *
 * - `share_threshold` with one of the other flags: `<key>_<pattern up to its first *>`
 * - `detailed_metric` on the matched entry: `<key>_<value>` on every level, patterns on shared ones
 * - `value_to_metric` on a level without a configured value: `<key>_<value>`, or `<key>` for an empty value
 * - otherwise: `<key>_<value>` for an exact match, `<key>_<pattern>` for a wildcard, `<key>_<label>` for a condition, `<key>` for an
 *   entry without value
 *
 * Where a part of the value counts together, the part is the value.
 *
 * Limits of an entry with several limits have one more level, as in the configured path.
 */
export function metricKey(
  rules: CompiledRules,
  matcher: Matcher,
  { table, descriptor, domain }: DescriptorOfDomain,
  limit: number,
): string {
  const words = rules.words;
  const entries = words[HEADER.entries];
  const first = table.firstEntry[descriptor];
  const count = table.entryCount[descriptor];
  const leaf = entries + matcher.path[count - 1] * ENTRY.words;
  const detailed = (words[leaf + ENTRY.flags] & ENTRY_FLAG.detailedMetric) !== 0;
  let metric = domain;
  for (let level = 0; level < count; level++) {
    const entry = first + level;
    const record = entries + matcher.path[level] * ENTRY.words;
    if ((words[record + ENTRY.flags] & ENTRY_FLAG.aside) !== 0) continue;
    const key = table.text(table.keyStart[entry], table.keyEnd[entry]);
    const flags = words[record + ENTRY.flags];
    const value = countedValue(flags, table, entry);
    const how = matcher.how[level];
    const valued = (flags & ENTRY_FLAG.valueToMetric) !== 0;
    const shared = matchesSeveral(how) && (flags & ENTRY_FLAG.shareThreshold) !== 0;
    let name = key;
    if (shared) {
      const pattern = sharedPattern(rules, record, key);
      const isCut = (detailed || valued) && how === MATCHED.wildcard;
      name += `_${isCut ? pattern.split('*', 1)[0] : pattern}`;
    } else if (detailed) name += value === '' && matcher.shared ? '' : `_${value}`;
    else if (how === MATCHED.exact) name += `_${value}`;
    else if (valued) name += value === '' ? '' : `_${value}`;
    else if (matchesSeveral(how)) name += `_${sharedPattern(rules, record, key)}`;
    metric += `.${rules.statisticsLevel(name)}`;
  }
  return metric + levelOfLimit(rules, matcher, { domain, count }, limit);
}

/** The value of an entry of a request, or the part of it that counts together. @param flags those of the matched entry */
function countedValue(flags: number, table: RequestTable, entry: number): string {
  const [start, end] = [table.valueStart[entry], table.valueEnd[entry]];
  if ((flags & (ENTRY_FLAG.grouped | ENTRY_FLAG.foldsCase)) === 0) return table.text(start, end);
  const counted = new ByteWriter(end - start);
  writeCounted(flags, table.bytes, start, end, counted);
  return Buffer.from(counted.view()).toString('utf8');
}

/** The level that tells apart the limits of an entry, with a dot before it: what their paths have after the entries. */
function levelOfLimit(
  rules: CompiledRules,
  matcher: Matcher,
  { domain, count }: { readonly domain: string; readonly count: number },
  limit: number,
): string {
  const { words } = rules;
  let length = Buffer.byteLength(domain);
  for (let level = 0; level < count; level++) {
    const record = words[HEADER.entries] + matcher.path[level] * ENTRY.words;
    const isAside = (words[record + ENTRY.flags] & ENTRY_FLAG.aside) !== 0;
    if (!isAside) length += 1 + words[record + ENTRY.compositeLength];
  }
  const start = rules.limit(limit, LIMIT.path);
  const level = rules.text(start + length, rules.limit(limit, LIMIT.pathLength) - length);
  return level === '' ? '' : `.${undotted(level.slice(LEVEL_END.length))}`;
}

/**
 * The metric key of a descriptor with a limit override: `<key>_<value>` for each entry, or `<key>` for an empty value.
 * Without entries it ends with a dot, as in envoyproxy/ratelimit.
 */
export function overrideMetricKey(
  rules: CompiledRules,
  { table, descriptor, domain }: DescriptorOfDomain,
): string {
  if (table.entryCount[descriptor] === 0) return `${domain}.`;
  let metric = domain;
  const first = table.firstEntry[descriptor];
  for (let entry = first; entry < first + table.entryCount[descriptor]; entry++) {
    const key = table.text(table.keyStart[entry], table.keyEnd[entry]);
    const value = table.text(table.valueStart[entry], table.valueEnd[entry]);
    metric += `.${rules.statisticsLevel(value === '' ? key : `${key}_${value}`)}`;
  }
  return metric;
}

/**
 * The value pattern of a wildcard, or the label of a condition, for a key: the composite text without the prefix `<key>_`. A wildcard can also
 * match across the underscore (`user` with `*` matches the key `user_id`); then the pattern is the whole composite text.
 */
function sharedPattern(rules: CompiledRules, record: number, key: string): string {
  const words = rules.words;
  const composite = rules.text(words[record + ENTRY.composite], words[record + ENTRY.compositeLength]);
  return composite.startsWith(`${key}_`) ? composite.slice(key.length + 1) : composite;
}

/** The name of a limit; empty for none. */
export function nameOfLimit(rules: CompiledRules, limit: number): string {
  const json = rules.text(rules.limit(limit, LIMIT.json), rules.limit(limit, LIMIT.jsonLength));
  const { currentLimit } = JSON.parse(`{${json}}`) as { readonly currentLimit?: { readonly name?: string } };
  return currentLimit?.name ?? '';
}

function startsWithKey(rules: CompiledRules, record: number, table: RequestTable, entry: number): boolean {
  const words = rules.words;
  const start = table.keyStart[entry];
  const end = table.keyEnd[entry];
  const composite = words[record + ENTRY.composite];
  const length = end - start;
  return (
    words[record + ENTRY.compositeLength] > length &&
    rules.holds(composite, length, table.bytes, start, end) &&
    rules.pool[composite + length] === 95
  );
}

/** The domain of a request and the keys of a descriptor, joined by dots. Contains no values. */
export function keysOf(requests: RequestTable, request: number, row: number): string {
  const first = requests.firstEntry[row];
  const keys = Array.from({ length: requests.entryCount[row] }, (_, i) =>
    requests.text(requests.keyStart[first + i], requests.keyEnd[first + i]),
  );
  return [requests.text(requests.domainStart[request], requests.domainEnd[request]), ...keys].join('.');
}
