import type { Exemptions } from '../../../exam/exemptions.ts';

/** What counters in memcached cannot do. */
export const MEMCACHED_EXEMPT: Exemptions = {
  anyKey: 'keys of memcached have at most 250 bytes, none of them white space or a control character',
  concurrently: 'hits are added after the answer, so batches in flight together may read the same count',
  admission: 'memcached adds the hits of every request, and cannot compare before it does',
};
