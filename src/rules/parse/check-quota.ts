import { quote } from '../../base/printable.ts';
import {
  DEFAULT_QUOTA,
  LONGEST_GRANT_S,
  type QuotaRule,
  type RuleLimit,
  SHORTEST_GRANT_S,
} from '../rule-set.ts';
import { WHOLE, writtenShare } from '../shares.ts';
import { shareAdvice } from './check-classes.ts';
import { hasValue, mapField, offsetOf, writtenField } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import { checkedMap } from './fields/repeated-keys.ts';
import { type LengthRange, lengthField } from './window-length.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

const LENGTHS: LengthRange = {
  shortest: { s: SHORTEST_GRANT_S, text: 'two seconds' },
  longest: { s: LONGEST_GRANT_S, text: 'five minutes' },
};

/** The least share that can be granted: 1%. */
const LEAST_SHARE = WHOLE / 100;

/**
 * Checks the `quota` of an entry. Null if it is absent. A faulty field is at its default.
 *
 * @param limits those of the entry
 */
export function checkQuota(check: FileCheck, entry: YamlMap, limits: readonly RuleLimit[]): QuotaRule | null {
  const written = mapField(check, entry, 'quota');
  if (written === null) return null;
  const map = checkedMap(check, written, 'quota');
  checkLimitsOfQuota(check, entry, limits);
  return {
    share: checkShare(check, map) ?? DEFAULT_QUOTA.share,
    forS: lengthField(check, map, 'for', LENGTHS) ?? DEFAULT_QUOTA.forS,
  };
}

/** Reports an entry without a limit of which a part can be granted. */
function checkLimitsOfQuota(check: FileCheck, entry: YamlMap, limits: readonly RuleLimit[]): void {
  const offset = offsetOf(entry, 'quota');
  const isFaulty = hasValue(entry, 'rate_limit') || hasValue(entry, 'rate_limits');
  if (limits.length === 0) {
    const advice = 'write `rate_limit: ` and the limit of which proxies get a part, or remove `quota`';
    if (!isFaulty) check.fault(offset, `the entry has a \`quota\`, and no limit: ${advice}`);
  } else if (limits.some(({ unlimited }) => unlimited)) {
    check.fault(
      offset,
      'an unlimited rule has no limit of which proxies could get a part: remove `quota` or `unlimited: true`',
    );
  } else if (limits.some(({ terms }) => terms !== null && terms.lease !== null)) {
    check.fault(
      offset,
      'an entry with `reserve` or `concurrency` cannot have `quota`, because proxies that decide requests themselves take ' +
        'no leases: remove one of them',
    );
  }
}

/** The `share` of a quota; null if it is absent or faulty. */
function checkShare(check: FileCheck, map: YamlMap): number | null {
  const text = hasValue(map, 'share') ? writtenField(check, map, 'share') : null;
  if (text === null) return null;
  const share = writtenShare(text);
  if (share !== null && share >= LEAST_SHARE && share <= WHOLE) return share;
  const fault =
    share === null
      ? `${quote(text)} is not a share of the limit: ${shareAdvice(text)}`
      : `${text} is ${share < LEAST_SHARE ? 'too little to be divided' : 'more than the whole limit'}: write a share from 1% to 100%`;
  check.fault(offsetOf(map, 'share'), fault);
  return null;
}
