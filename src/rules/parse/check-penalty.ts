import { MOST_VIOLATIONS, type PenaltyRule } from '../rule-set.ts';
import { hasValue, mapField, offsetOf, wholeField } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import { checkedMap } from './fields/repeated-keys.ts';
import { type LengthRange, lengthField, ONE_SECOND } from './window-length.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

const LENGTHS: LengthRange = { shortest: ONE_SECOND, longest: { s: 365 * 86_400, text: 'a year' } };
const GREATEST_FACTOR = 100;

/** Checks the `penalty` of a limit. Null if it is absent, or faulty as a whole. */
export function checkPenalty(check: FileCheck, block: YamlMap): PenaltyRule | null {
  const written = mapField(check, block, 'penalty');
  if (written === null) return null;
  const map = checkedMap(check, written, 'penalty');
  const after = wholeField(check, map, 'after', { least: 1, greatest: MOST_VIOLATIONS }) ?? 1;
  const factor = wholeField(check, map, 'factor', { least: 1, greatest: GREATEST_FACTOR });
  const forS = lengthField(check, map, 'for', LENGTHS);
  const maxS = lengthField(check, map, 'max', LENGTHS);
  if (!hasValue(map, 'for')) {
    check.fault(
      map.offset,
      'the penalty has no `for`: write `for: ` and the length of a penalty, such as `2m`',
    );
  }
  // A faulty factor is reported.
  if (factor !== null || !hasValue(map, 'factor'))
    checkMaximum(check, map, { factor: factor ?? 1, forS, maxS });
  return forS === null ? null : { after, forS, factor: factor ?? 1, maxS: maxS ?? forS };
}

/** A penalty that grows has a maximum, and only such a one has. */
function checkMaximum(
  check: FileCheck,
  map: YamlMap,
  { factor, forS, maxS }: { factor: number; forS: number | null; maxS: number | null },
): void {
  if (factor > 1 && !hasValue(map, 'max')) {
    const advice = 'write `max: ` and the length of the longest penalty, such as `1h`';
    check.fault(offsetOf(map, 'factor'), `penalties that grow need a \`max\`: ${advice}`);
  } else if (factor === 1 && hasValue(map, 'max')) {
    const advice = 'write `factor: 2` or more, or remove `max`';
    check.fault(offsetOf(map, 'max'), `without a \`factor\`, all penalties are equally long: ${advice}`);
  } else if (forS !== null && maxS !== null && maxS < forS) {
    const advice = 'write a longer `max` or a shorter `for`';
    check.fault(offsetOf(map, 'max'), `the longest penalty is shorter than the first one: ${advice}`);
  }
}
