import { excerpt, quote } from '../../base/printable.ts';
import { type FoundOrder, findOrders, MAX_BUCKET_ORDERS } from '../find-orders.ts';
import type { RuleEntry } from '../rule-set.ts';
import type { EntryPlace } from './fields/file-check.ts';

/**
 * Reports rules with a `quota` that no bucket can match, or not only they. Rules without one are left alone: they may have
 * been written for requests alone.
 *
 * @param entries those of the top level of a domain, without faults
 * @param places by rule, of all that have a `quota`
 */
export function checkBucketOrders(
  entries: readonly RuleEntry[],
  places: ReadonlyMap<RuleEntry, EntryPlace>,
): void {
  const { ambiguous, repeating, beyond } = findOrders(entries);
  const fault = (rule: RuleEntry, message: string): void => {
    const place = places.get(rule);
    if (place !== undefined) faultIn(pathTo(entries, rule), place, message);
  };
  for (const same of ambiguous) {
    const order = same.find(({ withQuota }) => withQuota !== null);
    const other = same.find(each => each !== order);
    if (order?.withQuota != null && other !== undefined) fault(order.withQuota, ambiguity(order, other));
  }
  for (const rule of repeating) {
    fault(
      rule,
      'two levels of the rule have the same key, and a bucket has each key once: use another key on one of them, or ' +
        'remove `quota`',
    );
  }
  for (const rule of beyond) {
    fault(
      rule,
      `the rules of the domain have more than ${MAX_BUCKET_ORDERS} different lists of keys, and buckets only match the first ` +
        'ones: move the rule up, or remove `quota`',
    );
  }
}

function ambiguity({ keys }: FoundOrder, { keys: others, first }: FoundOrder): string {
  return (
    `a bucket with the keys of this rule, ${quote(keys.join(', '))}, could also be one of the rule with ` +
    `${quote(others.join(', '))} in ${placeText(first)}, because the entries of buckets have no order: write the keys of ` +
    'both rules in the same order, or remove `quota`'
  );
}

function placeText({ place }: RuleEntry): string {
  if (!place) return 'the same domain';
  return place.line === 0 ? excerpt(place.file) : `${place.file}:${place.line}`;
}

/** Reports a fault as if the check were in the last entry of a path. */
function faultIn(path: readonly RuleEntry[], { check, offset }: EntryPlace, message: string): void {
  for (const { composite, overlaidBy } of path) check.enter(composite, overlaidBy);
  check.fault(offset, message);
  for (const _ of path) check.leave();
}

/** The entries from the top level down to a rule; empty if it is not below `entries`. */
function pathTo(entries: readonly RuleEntry[], rule: RuleEntry): readonly RuleEntry[] {
  for (const entry of entries) {
    if (entry === rule) return [entry];
    const below = pathTo(entry.entries, rule);
    if (below.length > 0) return [entry, ...below];
  }
  return [];
}
