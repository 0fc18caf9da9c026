import { DEFAULT_IPV6_BITS, type Grouping, MOST_SEGMENTS } from '../../conditions/grouping.ts';
import { flagIsSet, hasValue, mapField, offsetOf, wholeField } from '../fields/fields.ts';
import type { FileCheck } from '../fields/file-check.ts';
import { checkedMap } from '../fields/repeated-keys.ts';
import type { YamlMap } from '../yaml/yaml-node.ts';

/**
 * The `group_by` of an entry; null if it has none, or if it is faulty, which is reported.
 *
 * @param isOneValue whether the entry matches one value only
 */
export function checkGroupBy(check: FileCheck, entry: YamlMap, isOneValue: boolean): Grouping | null {
  const written = mapField(check, entry, 'group_by');
  if (written === null) return null;
  const map = checkedMap(check, written, 'group_by');
  const offset = offsetOf(entry, 'group_by');
  if (isOneValue)
    check.fault(offset, 'the entry has one value, so there is nothing to group: remove `group_by`');
  if (flagIsSet(entry, 'share_threshold'))
    check.fault(
      offset,
      'with `share_threshold`, all values count together, and with `group_by` those of a group: remove one of them',
    );
  const hasPrefix = hasValue(map, 'prefix') || hasValue(map, 'ipv6_prefix');
  const hasSegments = hasValue(map, 'segments');
  if (hasPrefix === hasSegments) {
    const advice = 'write `prefix: 24` for addresses, or `segments: 1` for paths';
    check.fault(offset, `\`group_by\` says ${hasPrefix ? 'two things' : 'nothing'}: ${advice}`);
    return null;
  }
  if (hasSegments) {
    const count = wholeField(check, map, 'segments', { least: 1, greatest: MOST_SEGMENTS });
    return count === null ? null : { by: 'segments', count };
  }
  const ipv4Bits = hasValue(map, 'prefix')
    ? wholeField(check, map, 'prefix', { least: 0, greatest: 32 })
    : 32;
  const ipv6Bits = hasValue(map, 'ipv6_prefix')
    ? wholeField(check, map, 'ipv6_prefix', { least: 0, greatest: 128 })
    : DEFAULT_IPV6_BITS;
  return ipv4Bits === null || ipv6Bits === null ? null : { by: 'prefix', ipv4Bits, ipv6Bits };
}
