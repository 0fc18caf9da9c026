import type { CounterBatch } from '../../batch.ts';
import type { SlotChanges } from '../../slot-changes.ts';
import { isAdmitted } from './admission-commands.ts';
import type { Slots } from './counters.ts';

/** The slots of a batch by the step that applies their changes. */
interface Division {
  /** Only hits are added. */
  readonly added: Slots;
  readonly refunded: Slots;
  /** Sliding windows and token buckets. */
  readonly admitted: Slots;
}

/** Divides slots of a batch by the step that applies their changes with single commands. */
export function divided(batch: CounterBatch, slots: Slots, changes: SlotChanges): Division {
  const plain = slots.filter(slot => !isAdmitted(batch, slot));
  return {
    added: plain.filter(slot => !changes.givesBack(slot)),
    refunded: plain.filter(slot => changes.givesBack(slot)),
    admitted: slots.filter(slot => isAdmitted(batch, slot)),
  };
}

/** Why a sliding window or token bucket is not counted if Redis, or a proxy in front of it, refuses scripts. */
export const NEEDS_SCRIPTS =
  'ERR sliding windows, token buckets and penalties need scripts: allow this user EVALSHA, EVAL and SCRIPT LOAD, or use a Redis ' +
  'without a proxy that refuses them';

/** The same for a limit with leases. */
export const LEASES_NEED_SCRIPTS =
  'ERR limits with leases need scripts: allow this user EVALSHA, EVAL and SCRIPT LOAD, or use a Redis without a proxy that ' +
  'refuses them';
