import { quote } from '../../base/printable.ts';
import type { LimitTerms } from '../rule-set.ts';
import { WHOLE, writtenShare } from '../shares.ts';
import { shareAdvice } from './check-classes.ts';
import { hasValue, mapField, offsetOf, writtenField } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import { checkedMap } from './fields/repeated-keys.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

/** Checks the `after_limit` of a limit. Returns the share of the hits that it admits; 0 if it is absent or faulty. */
export function checkAfterLimit(check: FileCheck, block: YamlMap): number {
  const written = mapField(check, block, 'after_limit');
  if (written === null) return 0;
  const map = checkedMap(check, written, 'after_limit');
  if (!hasValue(map, 'admit')) {
    const advice = 'write `admit: ` and the share of the hits that still pass, such as `10%`';
    check.fault(map.offset, `\`after_limit\` has no \`admit\`: ${advice}`);
    return 0;
  }
  const text = writtenField(check, map, 'admit');
  if (text === null) return 0;
  const share = writtenShare(text);
  if (share !== null && share > 0 && share < WHOLE) return share;
  const fault =
    share === null
      ? `${quote(text)} is not a share of the hits: ${shareAdvice(text)}`
      : share === 0
        ? 'with `admit: 0%` no hits pass after the limit: remove `after_limit`'
        : 'with `admit: 100%` or more the limit rejects nothing: write less, or `shadow_mode: true` instead of `after_limit`';
  check.fault(offsetOf(map, 'admit'), fault);
  return 0;
}

/** Reports a limit that cannot admit a share of the hits beyond it. */
export function checkAfterLimitTerms(
  check: FileCheck,
  block: YamlMap,
  { algorithm, afterLimit, classes, penalty }: LimitTerms,
): void {
  if (afterLimit === 0) return;
  const [other, why] =
    classes !== null
      ? ['classes', 'a limit with `classes` does not count the hits that it rejects']
      : algorithm !== 'fixed_window'
        ? [`algorithm: ${algorithm}`, 'only fixed windows count the hits beyond the limit']
        : ['penalty', 'the hits beyond the limit are violations'];
  if (classes === null && algorithm === 'fixed_window' && penalty === null) return;
  check.fault(offsetOf(block, 'after_limit'), `${why}: remove \`${other}\` or \`after_limit\``);
}
