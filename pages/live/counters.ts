import type { Polled } from '../service/polled.ts';
import type { Descriptor } from './descriptor.ts';
import { usePolled } from './polled.ts';

/** A counter of a descriptor in its present window. */
interface Counter {
  readonly rule: string | null;
  /** Empty for none. */
  readonly name: string;
  /** The name of the counter in the store. */
  readonly key: string;
  readonly algorithm: string;
  readonly requests_per_unit: number;
  readonly unit: string;
  readonly window?: string;
  readonly shadow_mode: boolean;
  /** Null if the store did not answer. */
  readonly count: number | null;
  readonly remaining: number | null;
  readonly over: boolean | null;
  readonly window_start?: string;
  readonly window_end?: string;
  readonly reset_seconds?: number;
  /** Absent for a limit without leases: the parts of the count. */
  readonly spent?: number;
  readonly held?: number;
  /** The number of leases; absent if the store cannot tell it. */
  readonly leases?: number;
  /** Absent for a limit without a penalty; null if the key is not penalized. */
  readonly penalized_until?: string | null;
  /** Earlier windows, the latest first. */
  readonly past?: readonly { readonly start: string; readonly end: string; readonly count: number }[];
}

/** The answer of `GET /counters`. */
export interface Counters {
  readonly outcome: string;
  /** Why there are no counters. */
  readonly why: string;
  readonly counters: readonly Counter[];
}

/** The counters of a descriptor, read again every two seconds. Null reads nothing. */
export function useCounters(descriptor: Descriptor | null): Polled<Counters> {
  return usePolled<Counters>(descriptor === null ? null : '/counters/read', {
    ...(descriptor !== null && { body: { domain: descriptor.domain, entries: descriptor.entries } }),
  });
}
