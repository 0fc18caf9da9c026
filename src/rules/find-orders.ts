import { asideKeys } from './compile-asides.ts';
import type { RuleEntry } from './rule-set.ts';

/** Maximum number of orders of a domain. */
export const MAX_BUCKET_ORDERS = 1_000;

/** An order of keys that rules have. */
export interface FoundOrder {
  readonly keys: readonly string[];
  /** The first rule with this order. */
  readonly first: RuleEntry;
  /** The first of these rules that has a `quota`; null if none has. */
  withQuota: RuleEntry | null;
}

/** The orders of the rules of a domain. */
interface FoundOrders {
  /** At most {@link MAX_BUCKET_ORDERS}, in the order of their first rules. */
  readonly orders: readonly FoundOrder[];
  /** Those that have the same keys: two or more in each list. */
  readonly ambiguous: readonly (readonly FoundOrder[])[];
  /** Rules with a `quota` whose path has a key twice. */
  readonly repeating: readonly RuleEntry[];
  /** Rules with a `quota` whose order is one of those beyond the maximum. */
  readonly beyond: readonly RuleEntry[];
  readonly isCut: boolean;
}

/** Finds the orders of the top-level entries of a domain. Time is linear in the number of entries. */
export function findOrders(entries: readonly RuleEntry[]): FoundOrders {
  const finder = new OrderFinder();
  finder.addAll(entries, nodeOf('', null));
  const { orders, repeating, beyond, isCut } = finder;
  return { orders, ambiguous: sameKeys(orders), repeating, beyond, isCut };
}

/** Lists the orders that have the same keys as others. */
function sameKeys(orders: readonly FoundOrder[]): readonly (readonly FoundOrder[])[] {
  const byKeys = new Map<string, FoundOrder[]>();
  for (const order of orders) {
    const text = JSON.stringify(order.keys.toSorted());
    const same = byKeys.get(text);
    if (same === undefined) byKeys.set(text, [order]);
    else same.push(order);
  }
  return [...byKeys.values()].filter(same => same.length > 1);
}

/** The keys of a path, from its end. Paths with the same keys in the same order are one node. */
interface KeyNode {
  readonly key: string;
  /** Null above the top level. */
  readonly above: KeyNode | null;
  /** Null until there is one. Most paths are leaves, and there may be many. */
  below: Map<string, KeyNode> | null;
  /** Undefined before a rule with this path is found, and beyond the maximum; null if the path has a key twice. */
  order: FoundOrder | null | undefined;
}

function nodeOf(key: string, above: KeyNode | null): KeyNode {
  return { key, above, below: null, order: undefined };
}

function keysOf(node: KeyNode): string[] {
  const keys: string[] = [];
  for (let at = node; at.above !== null; at = at.above) keys.push(at.key);
  return keys.reverse();
}

class OrderFinder {
  readonly orders: FoundOrder[] = [];
  readonly repeating: RuleEntry[] = [];
  readonly beyond: RuleEntry[] = [];
  isCut = false;

  /** @param above null below a path that is beyond the maximum */
  addAll(entries: readonly RuleEntry[], above: KeyNode | null): void {
    for (const entry of entries) {
      const node = this.#below(above, entry.key);
      if (isGrantable(entry)) this.#addRule(entry, node);
      this.addAll(entry.entries, node);
    }
  }

  /** Adds the path of a rule, and the path with each combination of the keys of its classes. */
  #addRule(rule: RuleEntry, path: KeyNode | null): void {
    if (path !== null) this.#add(rule, path);
    if (rule.quota !== undefined) {
      if (path?.order === null) this.repeating.push(rule);
      if (path?.order === undefined) this.beyond.push(rule);
    }
    if (path === null) return;
    const nodes = [path];
    for (const key of asideKeys(rule)) {
      for (const node of [...nodes]) {
        const withClass = this.#below(node, key);
        if (withClass === null) continue;
        nodes.push(withClass);
        this.#add(rule, withClass);
      }
    }
  }

  /** The node of a path with one more key. Null if there is none beyond the maximum, which saves the memory of many paths. */
  #below(above: KeyNode | null, key: string): KeyNode | null {
    if (above === null) return null;
    const known = above.below?.get(key);
    if (known !== undefined) return known;
    if (this.isCut) return null;
    above.below ??= new Map();
    const node = nodeOf(key, above);
    above.below.set(key, node);
    return node;
  }

  #add(rule: RuleEntry, node: KeyNode): void {
    if (node.order === undefined) {
      const keys = keysOf(node);
      const repeats = new Set(keys).size < keys.length;
      if (!repeats && this.orders.length === MAX_BUCKET_ORDERS) {
        this.isCut = true;
        return;
      }
      node.order = repeats ? null : { keys, first: rule, withQuota: null };
      if (node.order !== null) this.orders.push(node.order);
    }
    if (node.order !== null && rule.quota !== undefined) node.order.withQuota ??= rule;
  }
}

/** Whether a part of the limits of a rule can be granted: those with leases count calls of holders one by one. */
function isGrantable({ limits }: RuleEntry): boolean {
  return limits.length > 0 && limits.every(({ terms }) => terms === null || terms.lease === null);
}
