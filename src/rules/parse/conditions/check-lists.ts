import { quote } from '../../../base/printable.ts';
import type { ListCondition } from '../../conditions/condition.ts';
import { lowerCase } from '../../conditions/list-values.ts';
import { fieldOf, isNull, offsetOf, textField } from '../fields/fields.ts';
import type { FileCheck } from '../fields/file-check.ts';
import type { YamlMap, YamlScalar } from '../yaml/yaml-node.ts';
import type { ConditionScope } from './condition-scope.ts';

/** The `in` of an entry; null if it is faulty, which is reported. */
export function checkList(
  check: FileCheck,
  map: YamlMap,
  ignoreCase: boolean,
  scope: ConditionScope,
): ListCondition | null {
  const items = scalarItems(check, map, 'in', 'a, b');
  if (items === null || !scope.take(check, offsetOf(map, 'in'), 'value', items)) return null;
  const seen = new Set<string>();
  for (const { text, offset } of items) {
    const compared = ignoreCase ? lowerCase(text) : text;
    if (seen.has(compared)) check.warn(offset, `${quote(text)} is in the list twice: remove one`);
    seen.add(compared);
  }
  return {
    kind: 'in',
    values: [...new Set(items.map(({ text }) => text))],
    file: '',
    ignoreCase,
    isValue: false,
  };
}

/** The `in_file` of an entry; null if it is faulty, which is reported. */
export function checkListFile(
  check: FileCheck,
  map: YamlMap,
  ignoreCase: boolean,
  scope: ConditionScope,
): ListCondition | null {
  const file = textField(check, map, 'in_file');
  if (file === null) return null;
  const offset = offsetOf(map, 'in_file');
  const lines = scope.linesOf(check, offset, file);
  if (lines === null || !scope.take(check, offset, 'value', lines)) return null;
  if (lines.length === 0) check.warn(offset, `the file ${quote(file)} has no values, so no request matches`);
  return {
    kind: 'in',
    values: [...new Set(lines.map(({ text }) => text))],
    file,
    ignoreCase,
    isValue: false,
  };
}

/** The texts of a list, or the text of a field with one of them. Null if it is faulty, which is reported. */
export function scalarItems(
  check: FileCheck,
  map: YamlMap,
  name: string,
  example: string,
): readonly YamlScalar[] | null {
  const node = fieldOf(map, name)!;
  const items = node.kind === 'list' ? node.items : [node];
  const advice = `write \`${name}: [${example}]\``;
  if (items.length === 0) {
    check.fault(node.offset, `\`${name}\` is an empty list, so no request would match: ${advice}`);
    return null;
  }
  const scalars: YamlScalar[] = [];
  for (const item of items) {
    if (item.kind === 'scalar' && !isNull(item)) scalars.push(item);
    else {
      const what = item.kind === 'scalar' ? 'null' : `a ${item.kind}`;
      check.fault(item.offset, `\`${name}\` holds texts, not ${what}: ${advice}`);
      if (check.full) break;
    }
  }
  return scalars.length < items.length ? null : scalars;
}
