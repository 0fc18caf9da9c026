import type { SteeringRecord } from './record.ts';
import type { PlanChange } from './records-change.ts';

/** Is notified of what is stored. */
export interface RecordsListener {
  /** Receives all stored records when they are read first, and whenever they have changed. */
  readonly records: (records: readonly SteeringRecord[]) => void;
  /**
   * Receives how many milliseconds the clock of the store is ahead of that of this process, whenever this has changed.
   * Records end by the clock of the store.
   */
  readonly ahead: (aheadMs: number) => void;
}

/** Sends a command of another part to the Redis that has the records. Rejects if there is no reply, or an error reply. */
export type SendToRedis = (command: string, args: readonly string[]) => Promise<unknown>;

/** Where steering records are kept. */
export interface SteeringStore {
  /**
   * Reads the records, and follows the changes of other processes until `stop`. Resolves when the records are known, or when
   * they cannot be read at present.
   */
  start(listener: RecordsListener): Promise<void>;
  stop(): Promise<void>;
  /**
   * Makes a change that depends on what is stored, as one step for all processes that share the store. The listener has been
   * called when this resolves.
   * @throws (rejects with) what `plan` throws, or a Fault `store_failed` that says whether the change may have been made
   */
  change(plan: PlanChange): Promise<void>;
  /** For other short records that all processes share; null without a Redis. */
  readonly send: SendToRedis | null;
}
