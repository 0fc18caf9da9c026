import { quote } from '../../base/printable.ts';
import { type ClassRule, type LimitTerms, MAX_CLASSES, type RuleEntry } from '../rule-set.ts';
import { WHOLE, writtenShare } from '../shares.ts';
import { fieldOf, hasValue, mapField, offsetOf, textField, writtenField } from './fields/fields.ts';
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

/**
 * Reports entries below a limit with classes that would match the entry that names the class: such a descriptor would be
 * one of that rule, and never reach the limit.
 */
export function checkClassKeys(check: FileCheck, map: YamlMap, { limits, entries }: RuleEntry): void {
  const { offset } = fieldOf(map, 'rate_limit') ?? fieldOf(map, 'rate_limits') ?? map;
  const keys = new Set<string>();
  for (const { terms } of limits) {
    if (!terms?.classes || keys.has(terms.classes.key)) continue;
    keys.add(terms.classes.key);
    for (const nested of entries) {
      if (matchesKey(nested, terms.classes.key)) reportClassKey(check, offset, nested, terms.classes);
    }
  }
}

/** Only a warning if the entry matches no class, but other values. */
function reportClassKey(
  check: FileCheck,
  offset: number,
  nested: RuleEntry,
  { key, names }: ClassRule,
): void {
  const advice = 'use another key for one of them';
  const { composite } = nested;
  if (nested.key === key || composite === key) {
    const both = 'cannot be both below this one and the `key` of its `classes`';
    check.fault(offset, `the entry ${quote(key)} ${both}: ${advice}`);
    return;
  }
  const text = names.map(name => `${key}_${name}`).find(written => matchesText(composite, written));
  const example = text ?? (composite.includes('*') ? null : composite);
  const message =
    `the entry ${quote(composite)} below this one would match the entry that names the class, because keys and values are ` +
    `compared as one text${example === null ? '' : ` such as ${quote(example)}`}: ${advice}`;
  if (text === undefined) check.warn(offset, message);
  else check.fault(offset, message);
}

/** Whether an entry matches an entry of a request with this key and some value. */
function matchesKey({ key: own, composite }: RuleEntry, key: string): boolean {
  if (own === key || composite === key) return true;
  const start = `${key}_`;
  const [head] = composite.split('*', 1);
  return head.startsWith(start) || (head.length < composite.length && start.startsWith(head));
}

/** Whether the text of an entry matches one of a request, as in `wildcards.ts`. */
function matchesText(composite: string, text: string): boolean {
  const [head, ...parts] = composite.split('*');
  const tail = parts.pop();
  if (tail === undefined) return composite === text;
  const end = text.length - tail.length;
  if (head.length > end || !text.startsWith(head) || !text.endsWith(tail)) return false;
  let at = head.length;
  for (const part of parts) {
    const found = text.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
