import { quote } from '../../../base/printable.ts';
import type { Exclusion, ValueCondition } from '../../conditions/condition.ts';
import { compilePattern } from '../../patterns/compile-pattern.ts';
import { PatternFault } from '../../patterns/pattern-fault.ts';
import { flagField, hasValue, mapField, offsetOf, textField } from '../fields/fields.ts';
import type { FileCheck } from '../fields/file-check.ts';
import { checkedMap } from '../fields/repeated-keys.ts';
import type { YamlMap } from '../yaml/yaml-node.ts';
import { checkList, checkListFile } from './check-lists.ts';
import { checkNetworkFile, checkNetworks } from './check-networks.ts';
import { checkRange } from './check-range.ts';
import type { ConditionScope } from './condition-scope.ts';

/** The fields that say what a value must be. An entry has one of them, and `not` any number. */
const FIELDS = ['value', 'in', 'in_file', 'cidr', 'cidr_file', 'range', 'matches', 'not'] as const;
type Field = (typeof FIELDS)[number];

/** The fields that can ignore case. */
const WITH_CASE: ReadonlySet<Field> = new Set<Field>(['value', 'in', 'in_file', 'matches']);

/**
 * Checks the condition of an entry. Null if the entry has none, or a plain value, or if it is faulty, which is reported.
 *
 * @param value the `value` of the entry; empty if it has none
 */
export function checkCondition(
  check: FileCheck,
  map: YamlMap,
  value: string,
  scope: ConditionScope,
): ValueCondition | null {
  const written = FIELDS.filter(field => hasValue(map, field));
  const ignoreCase = checkIgnoreCase(check, map, written);
  if (written.length === 0 || (written.length === 1 && written[0] === 'value' && !ignoreCase)) return null;
  if (textField(check, map, 'key')?.includes('*')) {
    check.fault(
      offsetOf(map, 'key'),
      `the key of an entry with \`${written[0]}\` is compared as a whole: write one without \`*\``,
    );
    return null;
  }
  if (written.length > 1) {
    const names = written.map(field => `\`${field}\``).join(' and ');
    check.fault(
      offsetOf(map, written[1]),
      `an entry has one of ${names}: write an entry for each, or \`in\` with several values`,
    );
    return null;
  }
  const [field] = written;
  if (field === 'not') return checkExclusion(check, map, scope);
  return checkField(check, map, field, { ignoreCase, value, scope });
}

/** What the other fields of a map say about a condition. */
interface Context {
  readonly ignoreCase: boolean;
  readonly value: string;
  readonly scope: ConditionScope;
}

function checkField(
  check: FileCheck,
  map: YamlMap,
  field: Exclude<Field, 'not'>,
  { ignoreCase, value, scope }: Context,
): Exclude<ValueCondition, Exclusion> | null {
  switch (field) {
    case 'value':
      return checkValue(check, map, value, ignoreCase);
    case 'in':
      return checkList(check, map, ignoreCase, scope);
    case 'in_file':
      return checkListFile(check, map, ignoreCase, scope);
    case 'cidr':
      return checkNetworks(check, map, scope);
    case 'cidr_file':
      return checkNetworkFile(check, map, scope);
    case 'range':
      return checkRange(check, map);
    case 'matches':
      return checkPattern(check, map, ignoreCase, scope);
  }
}

function checkIgnoreCase(check: FileCheck, map: YamlMap, written: readonly Field[]): boolean {
  const ignoreCase = flagField(check, map, 'ignore_case');
  if (!ignoreCase || written.some(field => WITH_CASE.has(field))) return ignoreCase;
  check.fault(
    offsetOf(map, 'ignore_case'),
    '`ignore_case` is for `value`, `in`, `in_file` and `matches`, and the entry has none of them: remove it',
  );
  return false;
}

/** A value that ignores case, or that `not` excludes. */
function checkValue(
  check: FileCheck,
  map: YamlMap,
  value: string,
  ignoreCase: boolean,
): Exclude<ValueCondition, Exclusion> | null {
  if (!value.includes('*')) return { kind: 'in', values: [value], file: '', ignoreCase, isValue: true };
  const where = ignoreCase ? 'with `ignore_case`' : 'in `not`';
  check.fault(
    offsetOf(map, 'value'),
    `a value ${where} has no \`*\`: write \`matches\` and a pattern, such as '^${value.split('*')[0]}', instead of ${quote(value)}`,
  );
  return null;
}

function checkPattern(
  check: FileCheck,
  map: YamlMap,
  ignoreCase: boolean,
  scope: ConditionScope,
): Exclude<ValueCondition, Exclusion> | null {
  const pattern = textField(check, map, 'matches');
  if (pattern === null) return null;
  try {
    const { next } = compilePattern(pattern, { ignoreCase });
    const fits = scope.takePattern(check, offsetOf(map, 'matches'), next.length);
    return fits ? { kind: 'matches', pattern, ignoreCase } : null;
  } catch (failure) {
    if (!(failure instanceof PatternFault)) throw failure;
    check.fault(offsetOf(map, 'matches'), `the pattern ${quote(pattern)} cannot be used: ${failure.message}`);
    return null;
  }
}

/** The `not` of an entry: none of its conditions may be met. */
function checkExclusion(check: FileCheck, map: YamlMap, scope: ConditionScope): Exclusion | null {
  const written = mapField(check, map, 'not');
  if (written === null) return null;
  const excluded = checkedMap(check, written, 'not');
  const fields = FIELDS.filter(field => field !== 'not' && hasValue(excluded, field)) as Exclude<
    Field,
    'not'
  >[];
  if (fields.length === 0) {
    check.fault(
      offsetOf(map, 'not'),
      '`not` excludes nothing: write what the value must not be, such as `not: { in: [a, b] }`',
    );
    return null;
  }
  const ignoreCase = checkIgnoreCase(check, excluded, fields);
  const value = textField(check, excluded, 'value') ?? '';
  const conditions = fields
    .map(field =>
      checkField(check, excluded, field, { ignoreCase: ignoreCase && WITH_CASE.has(field), value, scope }),
    )
    .filter(condition => condition !== null);
  return conditions.length < fields.length ? null : { kind: 'not', conditions };
}
