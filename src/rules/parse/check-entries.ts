import { excerpt, quote } from '../../base/printable.ts';
import { conditionLabel } from '../conditions/condition-text.ts';
import type { RuleEntry } from '../rule-set.ts';
import { checkAsideKeys } from './check-asides.ts';
import { checkLimits } from './check-limits.ts';
import { checkQuota } from './check-quota.ts';
import { warnAboutSharedStatistics } from './check-statistics.ts';
import { checkCondition } from './conditions/check-conditions.ts';
import { checkGroupBy } from './conditions/check-group-by.ts';
import { checkKeys } from './fields/field-names.ts';
import { flagField, listField, mapField, offsetOf, textField } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import { readMetadata } from './fields/metadata.ts';
import { warnAboutRepeats, withUniqueKeys } from './fields/repeated-keys.ts';
import type { LoadScope } from './load-scope.ts';
import { MAX_ENTRY_LEVELS } from './yaml/bounds.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

const NO_ENTRIES: readonly RuleEntry[] = [];

/** The position of an entry in its file. */
interface Definition {
  readonly check: FileCheck;
  readonly offset: number;
}

/** The entries of a level so far, by composite key. With merging, the top level spans several files. */
export type Level = Map<string, Definition>;

/**
 * Checks the `descriptors` of a file or an entry and returns the entries in definition order. The result is valid only
 * if no fault was reported.
 *
 * @param shared the level to add to, if other files have added entries to it; null for a new level
 */
export function checkEntries(
  check: FileCheck,
  owner: YamlMap,
  shared: Level | null,
  scope: LoadScope,
): readonly RuleEntry[] {
  const maps = listField(check, owner, 'descriptors', '- key: ...');
  if (maps.length === 0) return NO_ENTRIES;
  if (check.levels >= MAX_ENTRY_LEVELS) {
    check.fault(
      maps[0].offset,
      `entries are nested deeper than ${MAX_ENTRY_LEVELS} levels: write fewer levels`,
    );
    return NO_ENTRIES;
  }
  const level: Level = shared ?? new Map();
  const entries: RuleEntry[] = [];
  for (const [index, map] of maps.entries()) {
    if (check.full || !scope.budget.take(check, map.offset)) break;
    // Replaces a missing key in the paths of faults.
    const unnamed = `descriptors[${index}]`;
    entries.push(checkEntry(check, map, { level, unnamed }, scope));
  }
  return entries;
}

function checkEntry(
  check: FileCheck,
  written: YamlMap,
  place: { readonly level: Level; readonly unnamed: string },
  scope: LoadScope,
): RuleEntry {
  check.enter(place.unnamed);
  const map = withUniqueKeys(check, written, 'entry');
  const key = checkKey(check, map);
  check.leave();
  check.enter(key ?? place.unnamed);
  const value = textField(check, map, 'value') ?? '';
  const condition = checkCondition(check, map, value, scope.conditions);
  check.leave();
  const label = condition === null ? value : conditionLabel(condition);
  const composite = label === '' || key === null ? (key ?? place.unnamed) : `${key}_${label}`;
  const overlaidBy = written.overlaidAt === undefined ? null : check.placeOf(written.overlaidAt);
  check.enter(composite, overlaidBy);
  scope.budget.takeName(check, map.offset);
  if (key !== null) claim(check, map, place.level, composite);
  checkKeys(check, map, 'entry');
  warnAboutRepeats(check, written, map, 'entry');
  const isOneValue = condition === null && value !== '' && !composite.includes('*');
  const groupBy = checkGroupBy(check, map, isOneValue);
  const limits = checkLimits(check, map, scope);
  const quota = checkQuota(check, map, limits);
  const entry: RuleEntry = {
    place: check.placeOf(written.offset),
    ...(overlaidBy !== null && { overlaidBy }),
    key: key ?? '',
    value: condition === null ? value : '',
    ...(condition !== null && { condition }),
    ...(groupBy !== null && { groupBy }),
    composite,
    limits,
    shadowMode: flagField(check, map, 'shadow_mode'),
    quotaMode: flagField(check, map, 'quota_mode'),
    detailedMetric: flagField(check, map, 'detailed_metric'),
    valueToMetric: flagField(check, map, 'value_to_metric'),
    shareThreshold: checkShareThreshold(check, map, condition !== null || composite.includes('*'), composite),
    ...(quota !== null && { quota }),
    metadata: readMetadata(check, mapField(check, map, 'metadata')),
    entries: checkEntries(check, map, null, scope),
  };
  if (condition !== null) scope.conditions.places.set(entry, { check, offset: map.offset });
  if (quota !== null) scope.quotas.set(entry, { check, offset: offsetOf(map, 'quota') });
  checkAsideKeys(check, map, entry);
  warnAboutSharedStatistics(check, map, entry);
  check.leave();
  return entry;
}

/** The key of an entry; null if it is missing or faulty, which is reported. */
function checkKey(check: FileCheck, map: YamlMap): string | null {
  const key = textField(check, map, 'key');
  if (key !== '') return key;
  check.fault(offsetOf(map, 'key'), 'the entry has no key: write `key: ` and the name of the descriptor key');
  return null;
}

/** Reports an entry whose composite key is already taken on the level: matching could not distinguish the two. */
function claim(check: FileCheck, map: YamlMap, level: Level, composite: string): void {
  const first = level.get(composite);
  if (first === undefined) {
    level.set(composite, { check, offset: map.offset });
    return;
  }
  const { file, line } = first.check.source.placeOf(first.offset);
  const place = line === 0 ? excerpt(file) : `${file}:${line}`;
  check.fault(
    map.offset,
    `${quote(composite)} is defined twice on this level, first in ${place} (\`key: a\` with \`value: b\` and ` +
      '`key: a_b` are the same): remove one or change its key or value',
  );
}

/** The flag `share_threshold`, which requires several values: a wildcard or a condition. */
function checkShareThreshold(
  check: FileCheck,
  map: YamlMap,
  isOfSeveral: boolean,
  composite: string,
): boolean {
  const flag = flagField(check, map, 'share_threshold');
  if (flag && !isOfSeveral) {
    check.fault(
      offsetOf(map, 'share_threshold'),
      `\`share_threshold\` is only for entries of several values, and ${quote(composite)} has one: ` +
        'remove the flag, or write several values, such as `in: [a, b]` or a value with a `*`',
    );
  }
  return flag;
}
