import type { RangeCondition } from '../../conditions/condition.ts';
import { fieldOf, hasValue, mapField, offsetOf } from '../fields/fields.ts';
import type { FileCheck } from '../fields/file-check.ts';
import { checkedMap } from '../fields/repeated-keys.ts';
import type { YamlMap } from '../yaml/yaml-node.ts';

/** A number as values of requests have it, with at most 15 digits, which are exact. */
const NUMBER = /^-?[0-9]+(\.[0-9]+)?$/;
const MOST_DIGITS = 15;

/** The `range` of an entry; null if it is faulty, which is reported. */
export function checkRange(check: FileCheck, entry: YamlMap): RangeCondition | null {
  const written = mapField(check, entry, 'range');
  if (written === null) return null;
  const map = checkedMap(check, written, 'range');
  if (!hasValue(map, 'from') && !hasValue(map, 'to')) {
    check.fault(map.offset, '`range` has no ends: write `from: ` and `to: `, or one of them');
    return null;
  }
  const from = checkEnd(check, map, 'from') ?? Number.NEGATIVE_INFINITY;
  const to = checkEnd(check, map, 'to') ?? Number.POSITIVE_INFINITY;
  if (Number.isNaN(from) || Number.isNaN(to)) return null;
  if (from <= to) return { kind: 'range', from, to };
  check.fault(
    offsetOf(map, 'to'),
    `the range ends at ${to}, before it begins at ${from}: swap \`from\` and \`to\``,
  );
  return null;
}

/** An end of the range; null if it is absent, NaN if it is faulty, which is reported. */
function checkEnd(check: FileCheck, map: YamlMap, name: 'from' | 'to'): number | null {
  if (!hasValue(map, name)) return null;
  const node = fieldOf(map, name)!;
  const text = node.kind === 'scalar' ? node.text : '';
  if (NUMBER.test(text) && text.replace(/[-.]/g, '').length <= MOST_DIGITS) return Number(text);
  check.fault(
    node.offset,
    `\`${name}\` must be a number with at most ${MOST_DIGITS} digits, such as 100 or 0.5`,
  );
  return Number.NaN;
}
