import type { AdmissionTerms } from '../../src/counters/admission/admission.ts';
import { CounterBatch } from '../../src/counters/batch.ts';
import { ACTION } from '../../src/counters/leases/lease.ts';
import type { OpLease } from '../../src/counters/leases/op-leases.ts';
import type { CounterStore } from '../../src/counters/store.ts';
import { TEST_FINGERPRINT_KEY } from './stores.ts';

/** One op of a request: a key, hits, and the limit that holding back looks at. */
export interface TestOp {
  readonly key: string;
  readonly hits: number;
  /** The hits are given back. */
  readonly isRefund?: boolean;
  readonly limit?: number;
  /** Unit of the limit; minutes when it is not given. */
  readonly unit?: number;
  /** The terms under which the store admits the hits; it adds all of them when they are not given. */
  readonly terms?: AdmissionTerms;
  /** For terms with leases: what the call wants ({@link ACTION}), and its holder; any action and no holder by default. */
  readonly lease?: { readonly action?: number; readonly holder?: string };
}

/** A request: its ops, and whether it is known to be over its limit before the store is asked. */
export interface TestGroup {
  readonly ops: readonly TestOp[];
  readonly held?: boolean;
}

export interface CountingTime {
  readonly nowS: number;
  /** The same time in milliseconds; the start of the second when it is not given. */
  readonly nowMs?: number;
  /** The time by which leases end; `nowMs` when it is not given. */
  readonly leasesMs?: number;
  readonly ttlS: number;
  readonly expiryS: number;
}

export const NOON: CountingTime = { nowS: 1_700_000_000, ttlS: 60, expiryS: 1_700_000_060 };

/** A batch of requests, ready for a store. */
export function batchOf(groups: readonly TestGroup[], time: CountingTime = NOON): CounterBatch {
  const batch = new CounterBatch(TEST_FINGERPRINT_KEY);
  fill(batch, groups, time);
  return batch;
}

/** Batches whose answers have been read: a new one allocates 100 KB. */
const spare: CounterBatch[] = [];

/** Fills a batch, has a store `count` it, and returns what `read` makes of its answers. */
export async function answered<T>(
  groups: readonly TestGroup[],
  time: CountingTime | undefined,
  countIt: (batch: CounterBatch) => void | Promise<void>,
  read: (batch: CounterBatch) => T,
): Promise<T> {
  const batch = spare.pop() ?? new CounterBatch(TEST_FINGERPRINT_KEY);
  fill(batch, groups, time);
  await countIt(batch);
  const answer = read(batch);
  spare.push(batch);
  return answer;
}

/** Empties a batch and fills it with other requests. */
export function fill(batch: CounterBatch, groups: readonly TestGroup[], time: CountingTime = NOON): void {
  batch.reset(time.nowMs ?? time.nowS * 1_000);
  for (const group of groups) {
    for (const op of group.ops) {
      const bytes = Buffer.from(op.key);
      const { ttlS, expiryS } = time;
      batch.addOp(
        bytes,
        { start: 0, end: bytes.length },
        {
          hits: op.hits,
          isRefund: op.isRefund ?? false,
          limit: op.limit ?? 100,
          unit: op.unit ?? 2,
          ttlS,
          expiryS,
          ...(op.terms === undefined ? null : { terms: op.terms }),
          ...(op.terms?.lease == null ? null : { lease: leaseOf(op) }),
        },
      );
    }
    batch.endGroup(group.held ?? false);
  }
}

function leaseOf({ lease }: TestOp): OpLease {
  const bytes = Buffer.from(lease?.holder ?? '');
  return { action: lease?.action ?? ACTION.any, bytes, start: 0, end: bytes.length };
}

/** Counts ops of one request without holding back; the count after each. */
export function count(store: CounterStore, ops: readonly TestOp[], time?: CountingTime): Promise<number[]> {
  return answered([{ ops }], time, batch => store.increment(batch), aftersOf);
}

/** Counts whole requests with holding back: the count after each op, and whether its hits were held. */
export function countHoldingBack(
  store: CounterStore,
  groups: readonly TestGroup[],
  time?: CountingTime,
): Promise<{ readonly afters: number[]; readonly held: boolean[] }> {
  return answered(
    groups,
    time,
    batch => store.incrementHoldingBack(batch),
    batch => ({
      afters: aftersOf(batch),
      held: Array.from(batch.opHeld.subarray(0, batch.opCount), flag => flag === 1),
    }),
  );
}

export function aftersOf(batch: CounterBatch): number[] {
  return Array.from(batch.opAfters.subarray(0, batch.opCount));
}
