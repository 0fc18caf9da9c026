import { quote } from '../../base/printable.ts';
import { type ClassRule, type LimitTerms, MAX_CLASSES } from '../rule-set.ts';
import { WHOLE, writtenShare } from '../shares.ts';
import { hasValue, mapField, offsetOf, textField, writtenField } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import { warnAboutRepeats, withUniqueKeys } from './fields/repeated-keys.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

/** The keys of `classes` that are not values of the entry. */
const OWN_KEYS: readonly string[] = ['key', 'default'];

/** Checks the `classes` of a limit. Null if they are absent, or faulty as a whole. */
export function checkClasses(check: FileCheck, block: YamlMap): ClassRule | null {
  const written = mapField(check, block, 'classes');
  if (written === null) return null;
  const map = withUniqueKeys(check, written, 'classes');
  warnAboutRepeats(check, written, map, 'classes');
  const key = checkKey(check, map);
  const names = map.pairs.map(pair => pair.key).filter(name => !OWN_KEYS.includes(name));
  if (names.length === 0) {
    const advice = 'write each value of the entry and its share of the limit, such as `critical: 100%`';
    check.fault(map.offset, `\`classes\` has no classes: ${advice}`);
    return null;
  }
  if (names.length > MAX_CLASSES) {
    check.fault(
      offsetOf(map, names[MAX_CLASSES]),
      `a limit has at most ${MAX_CLASSES} classes, and this one has ${names.length}: remove some, and write ` +
        '`default: ` with the share of all others',
    );
  }
  const shares = names.slice(0, MAX_CLASSES).map(name => checkShare(check, map, name) ?? 0);
  const otherShare = hasValue(map, 'default') ? checkShare(check, map, 'default') : Math.min(...shares);
  warnIfNoneIsWhole(check, map, [...shares, otherShare ?? 0]);
  return key === null || otherShare === null ? null : { key, names, shares, otherShare };
}

function checkKey(check: FileCheck, map: YamlMap): string | null {
  const key = textField(check, map, 'key');
  if (key === null) return null;
  const fault =
    key === ''
      ? '`classes` has no `key`: write `key: ` and the key of the entry whose value is the class, such as `key: tier`'
      : key.includes('*')
        ? `the \`key\` of \`classes\` is compared as a whole: write one without \`*\` instead of ${quote(key)}`
        : null;
  if (fault === null) return key;
  check.fault(offsetOf(map, 'key'), fault);
  return null;
}

/** The share of a class; null if faulty. */
function checkShare(check: FileCheck, map: YamlMap, name: string): number | null {
  const text = writtenField(check, map, name);
  const share = text === null ? null : writtenShare(text);
  if (text === null || (share !== null && share <= WHOLE)) return share;
  const fault =
    share === null
      ? `${quote(text)} is not a share of the limit: ${shareAdvice(text)}`
      : `${text} is more than the whole limit: write a share from 0% to 100%`;
  check.fault(offsetOf(map, name), fault);
  return null;
}

/** What to write instead of a text that is no percentage. */
export function shareAdvice(text: string): string {
  const number = /^[0-9]*\.?[0-9]+$/.test(text) ? Number(text) : Number.NaN;
  // 0.85 probably means the part, 85 the percentage.
  const likely = `${Math.round((number <= 1 ? number * WHOLE : number * 100) || 0) / 100}%`;
  if (number > 0 && number <= 100) return `write \`${likely}\``;
  return 'write a percentage with at most two decimals, such as `85%`';
}

/** Probably a mistake, because nobody can use the rest. */
function warnIfNoneIsWhole(check: FileCheck, map: YamlMap, shares: readonly number[]): void {
  if (Math.max(...shares) === WHOLE) return;
  const advice = 'write `100%` for the most important class, or lower `requests_per_unit`';
  check.warn(map.offset, `no class may use the whole limit, so a part of it is never used: ${advice}`);
}

/** Reports what a limit with classes cannot have. */
export function checkClassTerms(check: FileCheck, block: YamlMap, { classes, penalty }: LimitTerms): void {
  if (classes === null || penalty === null) return;
  check.fault(
    offsetOf(block, 'penalty'),
    'a limit with `classes` cannot have a `penalty`, because requests of one class could close the key for all classes: ' +
      'remove one of the two',
  );
}
