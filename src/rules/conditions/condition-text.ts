import { createHash } from 'node:crypto';
import { networkText } from './addresses.ts';
import type { ValueCondition } from './condition.ts';
import { DEFAULT_IPV6_BITS, type Grouping } from './grouping.ts';

/** Maximum length of what names a condition in paths, statistics and cache keys, in characters. */
const LONGEST_LABEL = 64;
/** Number of hex digits that tell apart conditions whose labels are cut. */
const DIGEST_DIGITS = 8;

/**
 * What stands for the value of an entry with a condition, in its path, in statistics, and in the cache key of values that
 * count together: `cidr(10.0.0.0/8|192.0.2.7)`. Long ones are cut, and end with a part of a digest. The content of a file is
 * not part of it, so that counters and statistics outlive its changes.
 */
export function conditionLabel(condition: ValueCondition): string {
  const text = labelText(condition);
  if (text.length <= LONGEST_LABEL) return text;
  const digest = createHash('sha256').update(text).digest('hex').slice(0, DIGEST_DIGITS);
  return `${text.slice(0, LONGEST_LABEL - DIGEST_DIGITS - 2)}~#${digest}`;
}

function labelText(condition: ValueCondition): string {
  if (condition.kind === 'not') return `not(${condition.conditions.map(labelText).join(',')})`;
  const fold = 'ignoreCase' in condition && condition.ignoreCase ? ';ignore_case' : '';
  return `${nameOf(condition)}(${contentOf(condition)}${fold})`;
}

function contentOf(condition: Exclude<ValueCondition, { readonly kind: 'not' }>): string {
  switch (condition.kind) {
    case 'in':
      return condition.file === '' ? condition.values.map(escaped).join(',') : condition.file;
    case 'cidr':
      return condition.file === '' ? condition.networks.map(networkText).join(',') : condition.file;
    case 'range':
      return `${endText(condition.from)}..${endText(condition.to)}`;
    case 'matches':
      return condition.pattern;
  }
}

/** A value in a list with commas. */
function escaped(value: string): string {
  return value.replace(/[\\,]/g, '\\$&');
}

/** The field that a condition is written with. */
function nameOf(condition: ValueCondition): string {
  if (condition.kind === 'in' && condition.isValue) return 'value';
  const hasFile = (condition.kind === 'in' || condition.kind === 'cidr') && condition.file !== '';
  return hasFile ? `${condition.kind}_file` : condition.kind;
}

/** An end of a range as a rule file has it; empty for an open end. */
function endText(number: number): string {
  if (!Number.isFinite(number)) return '';
  const text = String(number);
  // Rules have no exponents. Ends have at most 15 digits.
  return text.includes('e') ? number.toFixed(15).replace(/0+$/, '') : text;
}

/** Number of values of a list that a definition shows. */
const SHOWN_VALUES = 20;

/** The lines of a condition in a rule file. Long lists are cut, with a comment. */
export function conditionLines(condition: ValueCondition): string[] {
  if (condition.kind === 'not')
    return ['not:', ...[...new Set(condition.conditions.flatMap(conditionLines))].map(line => `  ${line}`)];
  const fold = 'ignoreCase' in condition && condition.ignoreCase ? ['ignore_case: true'] : [];
  return [`${nameOf(condition)}: ${writtenValue(condition)}`, ...fold];
}

function writtenValue(condition: Exclude<ValueCondition, { readonly kind: 'not' }>): string {
  switch (condition.kind) {
    case 'in':
      if (condition.isValue) return JSON.stringify(condition.values[0]);
      return condition.file === '' ? listText(condition.values) : JSON.stringify(condition.file);
    case 'cidr':
      return condition.file === ''
        ? listText(condition.networks.map(networkText))
        : JSON.stringify(condition.file);
    case 'range': {
      const { from, to } = condition;
      const ends = [
        ...(Number.isFinite(from) ? [`from: ${endText(from)}`] : []),
        ...(Number.isFinite(to) ? [`to: ${endText(to)}`] : []),
      ];
      return `{ ${ends.join(', ')} }`;
    }
    case 'matches':
      return JSON.stringify(condition.pattern);
  }
}

function listText(values: readonly string[]): string {
  const shown = values.slice(0, SHOWN_VALUES).map(value => JSON.stringify(value));
  const more = values.length - shown.length;
  return `[${shown.join(', ')}]${more === 0 ? '' : ` # and ${more} more`}`;
}

/** The line of a `group_by` in a rule file. */
export function groupingLine(grouping: Grouping): string {
  if (grouping.by === 'segments') return `group_by: { segments: ${grouping.count} }`;
  const { ipv4Bits, ipv6Bits } = grouping;
  const ofIpv6 = ipv6Bits === DEFAULT_IPV6_BITS ? '' : `, ipv6_prefix: ${ipv6Bits}`;
  return `group_by: { prefix: ${ipv4Bits}${ofIpv6} }`;
}
