/** The items by their group, in the order in which they are given. `Map.groupBy` needs a newer Node.js. */
export function grouped<T, K>(items: Iterable<T>, groupOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const group = groupOf(item);
    const known = groups.get(group);
    if (known === undefined) groups.set(group, [item]);
    else known.push(item);
  }
  return groups;
}
