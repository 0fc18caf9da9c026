import type { Polled } from '../service/polled.ts';
import type { Descriptor } from './descriptor.ts';
import { usePolled } from './polled.ts';

/** A lease of a limit. */
export interface Lease {
  /** Empty for a lease without a holder, which only ends by itself. */
  readonly holder: string;
  readonly hits: number;
  readonly ends: string;
}

/** What the leases of a limit hold. */
interface LeasedLimit {
  readonly rule: string | null;
  /** The name of the counter in the store. */
  readonly key: string;
  readonly held: number;
  /** Absent if the store cannot tell it. */
  readonly count?: number;
  /** Those that end first. */
  readonly leases: readonly Lease[];
}

/** The answer of `GET /leases`. */
interface Leases {
  readonly limits: readonly LeasedLimit[];
}

/** The leases of a descriptor, read again every two seconds. Null reads nothing. */
export function useLeases(descriptor: Descriptor | null): Polled<Leases> {
  return usePolled<Leases>(descriptor === null ? null : '/leases/read', {
    ...(descriptor !== null && { body: { domain: descriptor.domain, entries: descriptor.entries } }),
  });
}
