import { quote } from '../../base/printable.ts';
import { sanitiseStatName } from '../../stats/names.ts';
import { extraLevels } from '../compile-extra-rows.ts';
import type { RuleEntry, RuleLimit } from '../rule-set.ts';
import { fieldOf } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

/**
 * Warns about limits whose statistics have the name of those of a nested entry. Only a warning, because the cache keys
 * differ: both limits are counted correctly, and reloading must not fail on account of statistics.
 */
export function warnAboutSharedStatistics(check: FileCheck, map: YamlMap, entry: RuleEntry): void {
  if (entry.entries.length === 0) return;
  warnAboutLevels(check, map, entry);
  warnAboutExtraRows(check, map, entry);
}

/** The limits of a list, whose names end with a level of their own. */
function warnAboutLevels(check: FileCheck, map: YamlMap, { limits, entries }: RuleEntry): void {
  for (const { item } of limits) {
    if (item === null) return;
    const level = sanitiseStatName(item.level);
    const same = entries.find(
      nested => nested.limits.length > 0 && sanitiseStatName(nested.composite) === level,
    );
    if (same === undefined) continue;
    check.warn(
      fieldOf(map, 'rate_limits')?.offset ?? map.offset,
      `the statistics of the limit ${quote(item.level)} and of the nested entry ${quote(same.composite)} have the same ` +
        'name, so they are added up: give the limit another `name`',
    );
  }
}

/** Classes, and the hits that pass after a limit. */
function warnAboutExtraRows(check: FileCheck, map: YamlMap, { limits, entries }: RuleEntry): void {
  const own = limits.flatMap(limit => extraNames(limit, ''));
  if (own.length === 0) return;
  const names = new Set(own);
  // A name has at most two levels more than that of the entry: that of the limit, and that of the class.
  for (const nested of entries) {
    const below = `.${nested.composite}`;
    const others = [nested, ...nested.entries].flatMap(other => {
      const start = other === nested ? below : `${below}.${other.composite}`;
      return other.limits.flatMap(limit => [nameOf(limit, start), ...extraNames(limit, start)]);
    });
    const same = others.find(name => names.has(name));
    if (same === undefined) continue;
    check.warn(
      (fieldOf(map, 'rate_limit') ?? fieldOf(map, 'rate_limits'))?.offset ?? map.offset,
      `the statistics ${quote(same.slice(1))} of the limit have the name of those of the nested entry ` +
        `${quote(nested.composite)}, so they are added up: use another key or value for the entry`,
    );
  }
}

/** The name of the statistics of a limit. @param start the name of its entry */
function nameOf({ item }: RuleLimit, start: string): string {
  return sanitiseStatName(item === null ? start : `${start}.${item.level}`);
}

/** The names of its further rows. */
function extraNames(limit: RuleLimit, start: string): readonly string[] {
  if (limit.terms === null) return [];
  const own = nameOf(limit, start);
  return extraLevels(limit.terms).map(level => sanitiseStatName(`${own}.${level}`));
}
