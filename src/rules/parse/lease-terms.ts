import { quote } from '../../base/printable.ts';
import { LEASE_ACTION_KEY, type LeaseRule, type LimitTerms } from '../rule-set.ts';
import { lengthText } from '../rule-terms.ts';
import { LEASE_TAG } from './check-leases.ts';
import { fieldOf, hasValue, offsetOf, textField } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import type { YamlMap, YamlNode } from './yaml/yaml-node.ts';

/** A limit of an entry. */
interface Part {
  readonly block: YamlMap;
  /** Null for a plain limit, for an unlimited rule, and if the window is faulty. */
  readonly terms: LimitTerms | null;
}

/**
 * The terms of the limits of an entry, in the same order. If the entry has leases, a call does one thing to the lease of its
 * holder in all limits of the entry, so they share what their leases have in common, and limits without leases of their own
 * count the first call of each holder. Faults are reported.
 */
export function withLeases(
  check: FileCheck,
  entry: YamlMap,
  parts: readonly Part[],
): readonly (LimitTerms | null)[] {
  const holder = checkHolder(check, entry);
  if (!parts.some(hasLease)) {
    if (holder !== null && holder !== '') {
      const advice =
        'write `reserve` or `concurrency` in a limit whose hits the holder holds, or remove `holder`';
      check.fault(
        offsetOf(entry, 'holder'),
        `the entry has a \`holder\`, and no limit that has leases: ${advice}`,
      );
    }
    return parts.map(({ terms }) => terms);
  }
  for (const part of parts) checkPart(check, part, holder === '');
  const common = commonFields(check, parts);
  return parts.map(({ terms }) => terms && withCommon(terms, { ...common, holder: holder ?? '' }));
}

/** Whether a limit has leases of its own, perhaps faulty ones. */
function hasLease({ block }: Part): boolean {
  return hasValue(block, 'reserve') || hasValue(block, 'concurrency');
}

/** The key of the entry that names the holder; empty if absent, null if faulty. */
function checkHolder(check: FileCheck, entry: YamlMap): string | null {
  const key = textField(check, entry, 'holder');
  if (key === null || !(key.includes('*') || key === LEASE_ACTION_KEY)) return key;
  const message =
    key === LEASE_ACTION_KEY
      ? `the entry \`${LEASE_ACTION_KEY}\` says what to do with a lease: use another key for the \`holder\``
      : `the \`holder\` is compared as a whole: write a key without \`*\` instead of ${quote(key)}`;
  check.fault(offsetOf(entry, 'holder'), message);
  return null;
}

/** Why a limit cannot have a field if its entry has leases. */
const NOT_WITH_LEASES = {
  penalty: 'hits that are held until they are settled cannot be told from violations',
  classes: 'what a holder holds does not belong to a class',
  after_limit: 'no hits beyond the limit are held',
} as const;

function checkPart(check: FileCheck, part: Part, lacksHolder: boolean): void {
  const { block, terms } = part;
  for (const [name, why] of Object.entries(NOT_WITH_LEASES)) {
    if (!hasValue(block, name) || hasValue(block, 'concurrency')) continue;
    const message = `an entry with \`reserve\` or \`concurrency\` cannot have \`${name}\`, because ${why}: remove one of them`;
    check.fault(offsetOf(block, name), message);
  }
  if (terms !== null && terms.algorithm !== 'fixed_window') {
    const why =
      'in an entry with `reserve` or `concurrency`, all limits are fixed windows, because only those can hold hits';
    const advice = `remove \`algorithm: ${terms.algorithm}\`, or move the limit to an entry of its own`;
    check.fault(offsetOf(block, 'algorithm'), `${why}: ${advice}`);
  }
  if (lacksHolder) checkWithoutHolder(check, part);
}

/** Without holders, only calls without hits hold any, and calls with hits settle them, one after the other. */
function checkWithoutHolder(check: FileCheck, { block, terms }: Part): void {
  const holder = 'write `holder: ` and the key of the entry of a descriptor that names the holder';
  if (hasValue(block, 'concurrency')) {
    check.fault(
      offsetOf(block, 'concurrency'),
      `a \`concurrency\` needs the holder of a lease, so that a later call can end the lease: ${holder} beside the limit, ` +
        'such as `holder: request_id`',
    );
  } else if (!hasValue(block, 'reserve')) {
    check.fault(
      block.offset,
      `a limit beside a \`reserve\` counts the first call of each holder, and the entry has no \`holder\`: ${holder}, or ` +
        'move the limit to an entry of its own',
    );
  } else if (terms?.lease?.estimate === 0) {
    check.fault(
      offsetOf(block, 'reserve'),
      `a \`reserve\` needs to know which call settles it: ${holder} beside the limit, such as \`holder: request_id\`, or ` +
        '`estimate: ` and the hits that each call without hits holds until the next call with hits settles them',
    );
  } else if (wordOf(block, 'zero_hits') !== null) {
    check.fault(
      reserveOffset(block, 'zero_hits'),
      `without a \`holder\`, a call without hits always holds the \`estimate\`: remove \`zero_hits\`, or ${holder}`,
    );
  }
}

/** What the leases of all limits of an entry have in common. */
type CommonFields = Pick<LeaseRule, 'forS' | 'estimate' | 'settles' | 'zeroHits'>;

function commonFields(check: FileCheck, parts: readonly Part[]): CommonFields {
  let forS: number | null = null;
  let estimate: number | null = null;
  let zeroHits: LeaseRule['zeroHits'] | null = null;
  for (const { block, terms } of parts) {
    const lease = terms?.lease;
    if (lease == null) continue;
    const differs = (name: string, common: string): void => {
      check.fault(
        reserveOffset(block, name),
        `all limits of an entry have the same leases, and another limit has \`${name}: ${common}\`: write the same here, or ` +
          'move the limit to an entry of its own',
      );
    };
    forS ??= lease.forS;
    if (lease.forS !== forS) differs('for', lengthText(forS));
    if (lease.estimate !== 0) estimate ??= lease.estimate;
    if (lease.estimate !== 0 && lease.estimate !== estimate) differs('estimate', String(estimate));
    if (wordOf(block, 'zero_hits') === null) continue;
    zeroHits ??= lease.zeroHits;
    if (lease.zeroHits !== zeroHits) differs('zero_hits', zeroHits);
  }
  return {
    forS: forS ?? 0,
    estimate: estimate ?? 0,
    settles: parts.some(({ terms }) => terms?.lease?.mode === 'reserve'),
    zeroHits: zeroHits ?? 'extend',
  };
}

function withCommon(terms: LimitTerms, common: CommonFields & Pick<LeaseRule, 'holder'>): LimitTerms {
  const { lease, tag } = terms;
  if (lease !== null) return { ...terms, lease: { ...lease, ...common } };
  return {
    ...terms,
    lease: { mode: 'once', overdraft: 'refuse_next', ...common },
    tag: tag + LEASE_TAG,
  };
}

/** A field of the `reserve` of a limit; null if absent. */
function wordOf(block: YamlMap, name: string): YamlNode | null {
  const reserve = fieldOf(block, 'reserve');
  return reserve?.kind === 'map' && hasValue(reserve, name) ? fieldOf(reserve, name) : null;
}

/** Where a fault of a field of the `reserve` or the `concurrency` of a limit is reported. */
function reserveOffset(block: YamlMap, name: string): number {
  const map = fieldOf(block, 'reserve') ?? fieldOf(block, 'concurrency') ?? block;
  return map.kind === 'map' ? offsetOf(map, name) : map.offset;
}
