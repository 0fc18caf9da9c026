import type { CounterBatch, CounterOp } from './batch.ts';
import type { LeaseTerms } from './leases/lease.ts';

/** Numbers of each slot for the terms of leases. Batches without leases do not have these columns. */
export const LEASE_TERMS = 7;

/** The columns of the leases of a packed batch; see `packed-batch.ts`. */
interface PackedLeases {
  /** By slot: {@link LEASE_TERMS} numbers. */
  readonly leaseTerms: Float64Array;
  /** By op: the end of the name of the holder, which starts where that of the op before ends. */
  readonly holderEnds: Int32Array;
  readonly actions: Uint8Array;
  readonly holders: Uint8Array;
}

/** Writes the leases of a batch. Slots and ops without leases have numbers without meaning. */
export function packLeases({ admissions, leases, opSlots }: CounterBatch, packed: PackedLeases): void {
  const { leaseTerms, holderEnds, actions, holders } = packed;
  for (let slot = 0; slot * LEASE_TERMS < leaseTerms.length; slot++) {
    if (!admissions.isLeased(slot)) continue;
    const terms = leases.of(slot);
    const flags = [terms.hasHolders, terms.settles, terms.zeroSettles, terms.allowsOverdraft].map(Number);
    leaseTerms.set([terms.mode, terms.forS, terms.estimate, ...flags], slot * LEASE_TERMS);
  }
  for (let op = 0, end = 0; op < holderEnds.length; op++) {
    if (admissions.isLeased(opSlots[op])) {
      end = leases.holderEnds[op];
      actions[op] = leases.actions[op];
    }
    holderEnds[op] = end;
  }
  holders.set(leases.holders.bytes.subarray(0, holders.length));
}

/** The lease of an op of a slot with leases. */
export function leaseIn(
  { holderEnds, actions, holders }: PackedLeases,
  op: number,
): Pick<CounterOp, 'lease'> {
  const start = op === 0 ? 0 : holderEnds[op - 1];
  return { lease: { action: actions[op], bytes: holders, start, end: holderEnds[op] } };
}

/** The terms of a slot with leases. */
export function leaseTermsIn({ leaseTerms }: PackedLeases, slot: number): LeaseTerms {
  const [mode, forS, estimate, ...flags] = leaseTerms.subarray(slot * LEASE_TERMS, (slot + 1) * LEASE_TERMS);
  const [hasHolders, settles, zeroSettles, allowsOverdraft] = flags.map(Boolean);
  return { mode, forS, estimate, hasHolders, settles, zeroSettles, allowsOverdraft };
}
