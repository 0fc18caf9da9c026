import type { SteeringRecord } from './record.ts';

/** Receives all stored records when they are read first, and whenever they have changed. */
export type RecordsListener = (records: readonly SteeringRecord[]) => void;

/** Sends a command of another part to the Redis that has the records. Rejects if there is no reply, or an error reply. */
export type SendToRedis = (command: string, args: readonly string[]) => Promise<unknown>;

/** Where steering records are kept. Changes reject with a Fault `store_failed` if they may not have been made. */
export interface SteeringStore {
  /**
   * Reads the records, and follows the changes of other processes until `stop`. Resolves when the records are known, or when
   * they cannot be read at present.
   */
  start(listener: RecordsListener): Promise<void>;
  stop(): Promise<void>;
  /**
   * Adds a record, or replaces the one with its id, and deletes others. The listener has been called when this resolves.
   * @param ended ids of records that have ended
   */
  put(record: SteeringRecord, ended: readonly string[]): Promise<void>;
  /** Deletes a record, if it exists. The listener has been called when this resolves. */
  remove(id: string): Promise<void>;
  /** For other short records that all processes share; null without a Redis. */
  readonly send: SendToRedis | null;
}
