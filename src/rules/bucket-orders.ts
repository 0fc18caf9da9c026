import { findOrders } from './find-orders.ts';
import type { RuleEntry } from './rule-set.ts';

/**
 * The entries of a bucket of the quota service have no order, and rules have one. A bucket is matched as a descriptor whose
 * entries are in the order of one of the paths of its domain: the path that has the same keys.
 */
export interface BucketOrders {
  /** Each has a set of keys of its own, and each key once. In the order of the first rule of each. */
  readonly orders: readonly (readonly string[])[];
  /** The sets of keys that rules have in several orders, each in the order of its first rule. Their buckets have no rule. */
  readonly ambiguous: readonly (readonly string[])[];
  /** Whether rules have more than `MAX_BUCKET_ORDERS` orders. Buckets with the keys of later ones have no rule. */
  readonly isCut: boolean;
}

export const NO_BUCKET_ORDERS: BucketOrders = { orders: [], ambiguous: [], isCut: false };

/** The orders of the top-level entries of a domain. */
export function bucketOrdersOf(entries: readonly RuleEntry[]): BucketOrders {
  const { orders, ambiguous, isCut } = findOrders(entries);
  const without = new Set(ambiguous.flat());
  return {
    orders: orders.filter(order => !without.has(order)).map(({ keys }) => keys),
    ambiguous: ambiguous.map(([{ keys }]) => keys),
    isCut,
  };
}

/** Orders as a text of compiled rules has them: keys by their number, because orders share most of their keys. */
interface WrittenOrders {
  readonly keys: readonly string[];
  readonly orders: readonly (readonly number[])[];
  readonly ambiguous: readonly (readonly number[])[];
  readonly isCut: boolean;
}

/** The orders as text. Empty for a domain without orders. */
export function bucketOrdersText({ orders, ambiguous, isCut }: BucketOrders): string {
  if (orders.length + ambiguous.length === 0) return '';
  const numbers = new Map<string, number>();
  const numberOf = (key: string): number => {
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    return number;
  };
  const numbered = (lists: readonly (readonly string[])[]): number[][] =>
    lists.map(keys => keys.map(numberOf));
  const lists = { orders: numbered(orders), ambiguous: numbered(ambiguous) };
  const written: WrittenOrders = { keys: [...numbers.keys()], ...lists, isCut };
  return JSON.stringify(written);
}

/** Reads the text of {@link bucketOrdersText}. */
export function readBucketOrders(text: string): BucketOrders {
  if (text === '') return NO_BUCKET_ORDERS;
  const { keys, orders, ambiguous, isCut } = JSON.parse(text) as WrittenOrders;
  const named = (lists: WrittenOrders['orders']): string[][] =>
    lists.map(numbers => numbers.map(number => keys[number]));
  return { orders: named(orders), ambiguous: named(ambiguous), isCut };
}
