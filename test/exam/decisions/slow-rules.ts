import type { DescriptorEntry } from '../../../src/messages/client-codec.ts';
import type { ValueCondition } from '../../../src/rules/conditions/condition.ts';
import type { MATCHED } from '../../../src/rules/matching/matched.ts';
import { isWildcard, type RuleEntry } from '../../../src/rules/rule-set.ts';
import { slowByCondition, slowByExclusion, slowGroup } from './slow-conditions.ts';

/** How one level of a descriptor was matched. */
export interface SlowLevel {
  readonly entry: RuleEntry;
  readonly how: keyof typeof MATCHED;
  readonly key: string;
  readonly value: string;
  /** All entries of the level. */
  readonly beside: readonly RuleEntry[];
}

/**
 * Matching as plainly as it can be written: lists and texts, no tables, no hashes. What the matcher does must equal it.
 * Returns the levels when the last of them has a limit, else null.
 */
export function slowMatch(
  top: readonly RuleEntry[],
  descriptor: readonly DescriptorEntry[],
): SlowLevel[] | null {
  let candidates = top;
  const levels: SlowLevel[] = [];
  for (const { key, value } of descriptor) {
    const level = chosen(candidates, key, value);
    if (level === null) return null;
    levels.push({ ...level, beside: candidates });
    candidates = level.entry.entries;
  }
  const last = levels.at(-1);
  return last !== undefined && last.entry.limits.length > 0 ? levels : null;
}

function chosen(
  candidates: readonly RuleEntry[],
  key: string,
  value: string,
): Omit<SlowLevel, 'beside'> | null {
  const text = `${key}_${value}`;
  const texts = candidates.filter(({ condition }) => condition === undefined);
  const exact = texts.find(entry => entry.composite === text);
  if (exact !== undefined) return { entry: exact, how: 'exact', key, value };
  const byCondition = slowByCondition(candidates, key, value);
  if (byCondition !== null) return { ...byCondition, key, value };
  const wildcard = texts.find(entry => isWildcard(entry) && pattern(entry.composite).test(text));
  if (wildcard !== undefined) return { entry: wildcard, how: 'wildcard', key, value };
  const byExclusion = slowByExclusion(candidates, key, value);
  if (byExclusion !== null) return { ...byExclusion, key, value };
  const keyOnly = texts.find(entry => entry.composite === key);
  return keyOnly === undefined ? null : { entry: keyOnly, how: 'keyOnly', key, value };
}

function pattern(composite: string): RegExp {
  const literals = composite.split('*').map(literal => literal.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&'));
  return new RegExp(`^${literals.join('.*')}$`, 's');
}

/** The part of the cache key between the domain and the start of the window. */
export function slowCacheText(levels: readonly SlowLevel[]): string {
  return levels.map(level => `${level.key}_${cacheValue(level)}_`).join('');
}

function cacheValue(level: SlowLevel): string {
  const text = isShared(level) ? configuredPattern(level) : countedValue(level);
  if (!isMarked(level.entry)) return level.beside.some(isMarked) && text.startsWith('=') ? `=${text}` : text;
  const name = configuredPattern(level);
  const separator = level.entry.composite.startsWith(`${level.key}_`) ? ':' : ';';
  const mark = `=${Buffer.byteLength(name)}${separator}`;
  return level.entry.shareThreshold ? mark + name : mark + name + text;
}

/** Whether the name of the rule stands before what counts together. */
function isMarked({ condition, groupBy, shareThreshold }: RuleEntry): boolean {
  return groupBy !== undefined || (condition !== undefined && (shareThreshold || ignoresCase(condition)));
}

function ignoresCase(condition: ValueCondition): boolean {
  return 'ignoreCase' in condition && condition.ignoreCase;
}

/** The value, or the part of it that counts together. */
function countedValue({ entry, value }: SlowLevel): string {
  const counted = entry.groupBy === undefined ? value : slowGroup(entry.groupBy, value);
  const isFolded = entry.condition !== undefined && ignoresCase(entry.condition);
  return isFolded ? counted.replace(/[A-Z]/g, letter => letter.toLowerCase()) : counted;
}

/** The metric key, not sanitised. */
export function slowMetricKey(domain: string, levels: readonly SlowLevel[]): string {
  const detailed = levels[levels.length - 1].entry.detailedMetric;
  const anyShared = levels.some(isShared);
  const parts = levels.map(level => {
    const { entry, how, key } = level;
    const value = countedValue(level);
    if (isShared(level)) {
      const whole = configuredPattern(level);
      const isCut = how === 'wildcard' && (detailed || entry.valueToMetric);
      return `${key}_${isCut ? whole.slice(0, whole.indexOf('*')) : whole}`;
    }
    if (detailed) return anyShared && value === '' ? key : `${key}_${value}`;
    if (how === 'exact') return `${key}_${value}`;
    if (how !== 'keyOnly' && !entry.valueToMetric) return `${key}_${configuredPattern(level)}`;
    return entry.valueToMetric && value !== '' ? `${key}_${value}` : key;
  });
  return [domain, ...parts].join('.');
}

function isShared(level: SlowLevel): boolean {
  return level.how !== 'exact' && level.how !== 'keyOnly' && level.entry.shareThreshold;
}

function configuredPattern({ entry, key }: SlowLevel): string {
  return entry.composite.startsWith(`${key}_`) ? entry.composite.slice(key.length + 1) : entry.composite;
}
