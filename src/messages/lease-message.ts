/**
 * The message `sluice.v1.Lease` of `proto/sluice/v1/lease.proto`: what a call says about the lease of a holder.
 */

/** The number of the field of a descriptor that has the message. */
export const LEASE_FIELD = 1000;

/** `sluice.v1.Lease.Action` by name, without the action of calls that do not say what they want. */
export const LEASE_ACTIONS = { reserve: 1, settle: 2, release: 3, extend: 4 } as const;

/** The names of the actions, in the order of their numbers, from 1. */
export const LEASE_ACTION_NAMES: readonly string[] = Object.keys(LEASE_ACTIONS);
