import { quote } from '../../base/printable.ts';
import {
  type Algorithm,
  GREATEST_LIMIT,
  GREATEST_SCALE,
  type LeaseRule,
  type LimitTerms,
  LONGEST_LEASE_S,
} from '../rule-set.ts';
import { countField, hasValue, mapField, offsetOf, textField, wholeField } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import { checkedMap } from './fields/repeated-keys.ts';
import { type LengthRange, lengthField, ONE_SECOND } from './window-length.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

const LENGTHS: LengthRange = { shortest: ONE_SECOND, longest: { s: LONGEST_LEASE_S, text: '30 days' } };

/** What the values of `overdraft` and `zero_hits` can be; the first one is the default. */
const OVERDRAFTS: readonly LeaseRule['overdraft'][] = ['refuse_next', 'allow'];
const ZERO_HITS: readonly LeaseRule['zeroHits'][] = ['extend', 'settle'];

/** The end of the tag of a window with leases, whose counters have another form. */
export const LEASE_TAG = '.lease';

/** The field of a limit on concurrency, and what messages and keys call it instead of a window. */
const CONCURRENCY = 'concurrency';

/** What a limit on concurrency cannot have, because it counts no requests in a window. */
const OF_WINDOWS = [
  'unit',
  'unit_multiplier',
  'window',
  'calendar',
  'requests_per_unit',
  'algorithm',
  'burst',
  'penalty',
  'classes',
  'after_limit',
  'scale',
  'reserve',
];

/**
 * Checks the `reserve` of a limit. Null if it is absent, or faulty as a whole. What a lease has from the entry or from other
 * limits is at its default: see `lease-terms.ts`.
 */
export function checkReserve(check: FileCheck, block: YamlMap): LeaseRule | null {
  const written = mapField(check, block, 'reserve');
  if (written === null) return null;
  const map = checkedMap(check, written, 'reserve');
  const forS = checkLength(check, map, 'reserve');
  const overdraft = choiceField(check, map, 'overdraft', OVERDRAFTS);
  const zeroHits = choiceField(check, map, 'zero_hits', ZERO_HITS);
  const estimate = wholeField(check, map, 'estimate', { least: 1, greatest: GREATEST_LIMIT }) ?? 0;
  if (forS === null) return null;
  return { mode: 'reserve', forS, holder: '', estimate, settles: true, zeroHits, overdraft };
}

/** The number of slots of a limit on concurrency, and how it counts. */
interface Concurrency {
  readonly limit: number;
  readonly terms: LimitTerms;
}

/** Checks the `concurrency` of a limit that has one. Returns null after reporting a fault of it as a whole. */
export function checkConcurrency(check: FileCheck, block: YamlMap): Concurrency | null {
  for (const name of OF_WINDOWS) {
    if (hasValue(block, name)) check.fault(offsetOf(block, name), notOfConcurrency(name));
  }
  const written = mapField(check, block, CONCURRENCY);
  if (written === null) return null;
  const map = checkedMap(check, written, CONCURRENCY);
  const limit = countField(check, map, 'limit');
  if (!hasValue(map, 'limit')) {
    const advice = 'write `limit: ` and how many leases there may be at the same time, such as `limit: 5`';
    check.fault(map.offset, `the \`concurrency\` has no \`limit\`: ${advice}`);
  }
  const forS = checkLength(check, map, CONCURRENCY);
  return forS === null ? null : { limit, terms: concurrencyTerms(forS) };
}

function notOfConcurrency(name: string): string {
  const why = 'a limit on `concurrency` counts leases, and not requests in a window';
  const advice =
    name === 'requests_per_unit'
      ? 'write the number as the `limit` of `concurrency`'
      : `remove \`${name}\`, or write it in a limit of its own`;
  return `${why}: ${advice}`;
}

/** The terms of a limit on concurrency. It has no window and no unit; its length is that of a lease. */
function concurrencyTerms(forS: number): LimitTerms {
  return {
    algorithm: 'fixed_window',
    multiplier: forS,
    burst: 0,
    calendar: null,
    penalty: null,
    classes: null,
    afterLimit: 0,
    lease: {
      mode: 'concurrency',
      forS,
      holder: '',
      estimate: 0,
      settles: false,
      zeroHits: ZERO_HITS[0],
      overdraft: OVERDRAFTS[0],
    },
    scale: 1,
    window: CONCURRENCY,
    tag: CONCURRENCY,
  };
}

/** The `for` of a `reserve` or a `concurrency`, in seconds; null if it is absent or faulty, which is reported. */
function checkLength(check: FileCheck, map: YamlMap, name: string): number | null {
  if (!hasValue(map, 'for')) {
    const advice =
      'write `for: ` and how long a lease lasts that its holder neither ends nor extends, such as `10m`';
    check.fault(map.offset, `the \`${name}\` has no \`for\`: ${advice}`);
  }
  return lengthField(check, map, 'for', LENGTHS);
}

/** One of several words, in any letter case; the first one if absent or faulty. */
function choiceField<Word extends string>(
  check: FileCheck,
  map: YamlMap,
  name: string,
  words: readonly Word[],
): Word {
  const text = textField(check, map, name) ?? '';
  const word = words.find(each => each === text.toLowerCase());
  if (word === undefined && text !== '') {
    const accepted = words.map(each => `\`${each}\``).join(' or ');
    check.fault(offsetOf(map, name), `\`${name}\` cannot be ${quote(text)}: write ${accepted}`);
  }
  return word ?? words[0];
}

/** Checks the `scale` of a limit: how many hits one of its requests is worth. 1 if absent or faulty. */
export function checkScale(
  check: FileCheck,
  block: YamlMap,
  algorithm: Algorithm,
  requestsPerUnit: number,
): number {
  const scale = wholeField(check, block, 'scale', { least: 1, greatest: GREATEST_SCALE }) ?? 1;
  if (scale === 1) return scale;
  if (algorithm !== 'fixed_window') {
    check.fault(
      offsetOf(block, 'scale'),
      `only fixed windows have a \`scale\`: remove \`algorithm: ${algorithm}\`, or remove \`scale\` and write ` +
        '`requests_per_unit` in hits',
    );
  } else if (requestsPerUnit * scale > GREATEST_LIMIT) {
    check.fault(
      offsetOf(block, 'scale'),
      `${requestsPerUnit} requests that are worth ${scale} hits each are more than ${GREATEST_LIMIT} hits: ` +
        `write \`scale: ${Math.floor(GREATEST_LIMIT / requestsPerUnit)}\` or less, or a lower \`requests_per_unit\``,
    );
  }
  return scale;
}
