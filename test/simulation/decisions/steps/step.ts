import type { LEASE_ACTIONS } from '../../../../src/messages/lease-message.ts';
import type { SteeringKind } from '../../../../src/steering/record.ts';
import type { EntryText } from '../../../exam/decisions/rule-file.ts';

/**
 * - `threads`: the instances are threads of one process, and share the embedded store of the product, marks of refunds, and
 *   one clock
 * - `server`: the instances are processes, each with a clock of its own, and share a store that is a model of Redis
 */
export type StoreKind = 'threads' | 'server';

export const FAILURE_MODES = ['error', 'allow', 'deny', 'local'] as const;
export type FailureMode = (typeof FAILURE_MODES)[number];

/**
 * What becomes of a call of the store:
 *
 * - `lost`: it does not happen, and the instance is told that it failed
 * - `unanswered`: it happens, and the instance is told that it failed
 * - `afterwards`: the same, and it happens some time after the instance was told
 * - `late`: it happens late
 * - `partial`: some keys are not counted
 * - `dies_before`, `dies_after`: the instance dies when it asks; the call does not happen, or it does
 */
export const STORE_FAULTS = [
  'lost',
  'unanswered',
  'afterwards',
  'late',
  'partial',
  'dies_before',
  'dies_after',
] as const;
export type StoreFaultKind = (typeof STORE_FAULTS)[number];

/** A descriptor of a request. */
export interface AskedDescriptor {
  /** Its entries: `user=ann,id=7`. */
  readonly of: string;
  /** Those of the request unless given. */
  readonly hits?: number;
  readonly isRefund?: true;
  /** A limit that comes with the request. */
  readonly limit?: { readonly requestsPerUnit: number; readonly unit: number };
  /** What it says about the lease of a holder. */
  readonly lease?: { readonly id: string; readonly action: keyof typeof LEASE_ACTIONS };
}

/** A request. All requests of one moment that ask one instance are decided in one batch. */
export interface Ask {
  readonly do: 'ask';
  readonly instance: number;
  readonly descriptors: readonly AskedDescriptor[];
  readonly hits?: number;
  /** Nobody waits for the answer any more when it is decided. */
  readonly isGone?: true;
}

/** An override, a ban or a pass for all values of a key, or for one. */
export interface SteeringStep {
  readonly kind: SteeringKind;
  /** `user` or `user=v0`. */
  readonly of: string;
  /** Of an override. */
  readonly requestsPerUnit?: number;
  /** How long it lasts, from the begin of the history. */
  readonly untilS: number;
}

/** What happens in a history. Each is data, so others can be left out. */
export type Action =
  | Ask
  /** Other rules are loaded: by all instances, or by one process. */
  | { readonly do: 'rules'; readonly instance: number | null; readonly rules: readonly EntryText[] }
  /** An operator has these records and no others. All instances apply them. */
  | { readonly do: 'steer'; readonly records: readonly SteeringStep[] }
  /** An instance ends at once, and begins again some time later. */
  | { readonly do: 'crash'; readonly instance: number; readonly downMs: number }
  /** The next call of the store, of this instance or of any, has a fault. */
  | {
      readonly do: 'fault';
      readonly instance: number | null;
      readonly kind: StoreFaultKind;
      readonly ms: number;
    }
  /** The store does not answer, or refuses connections: for all instances, or for one. */
  | { readonly do: 'outage'; readonly instance: number | null; readonly ms: number; readonly hangs: boolean }
  /** Somebody sets the clock of the store's host, or of an instance. Threads have the clock of their process. */
  | { readonly do: 'clock'; readonly instance: number | null; readonly byMs: number };

export type Step = Action & {
  /** Milliseconds since the begin. */
  readonly at: number;
};

/** A whole history: what happens in it follows from this alone. */
export interface History {
  readonly seed: number;
  readonly store: StoreKind;
  /** Time at the begin, as ISO 8601. */
  readonly start: string;
  readonly instances: number;
  /** By how much the clock of each instance is ahead of that of the store. */
  readonly aheadMs: readonly number[];
  /** How long messages take at most; 0 for no time at all. */
  readonly delayMs: number;
  /** `STORE_FAILURE_MODE`. */
  readonly failureMode: FailureMode;
  /** `STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT`. */
  readonly holdsBack: boolean;
  readonly hasLocalCache: boolean;
  /** `SHADOW_MODE` and `QUOTA_MODE`. */
  readonly modes: { readonly shadow: boolean; readonly quota: boolean };
  /** The rules at the begin. */
  readonly rules: readonly EntryText[];
  readonly steps: readonly Step[];
}
