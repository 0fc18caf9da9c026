import { LRUCache } from 'lru-cache';

/**
 * A map of the `count` entries that were used last. Its memory grows with its entries. With `max`, the library would
 * reserve and fill that of all entries in advance: for the maps of a thread of the task service, tens of milliseconds.
 */
export function recentlyUsed<Key extends {}, Value extends {}>(count: number): LRUCache<Key, Value> {
  return new LRUCache({ maxSize: count, sizeCalculation: () => 1 });
}
