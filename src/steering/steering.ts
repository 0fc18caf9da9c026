import { type Clock, SECOND_MS } from '../base/clock.ts';
import type { JsonValue } from '../base/json.ts';
import type { Service } from '../base/lifecycle.ts';
import { checkRecord, RecordRefused } from './check-record.ts';
import { MAX_RECORDS, type SteeringKind, type SteeringRecord } from './record.ts';
import { SharedRecords } from './shared-records.ts';
import type { SendToRedis, SteeringStore } from './steering-store.ts';
import { layerCount } from './steering-table.ts';

/** Maximum number of layers (see `SteeringTable`). Each one is asked for each descriptor of its domains. */
const MAX_LAYERS = 64;

/** The steering records of the process: reads and changes them in the store, and publishes them to all threads. */
export class Steering implements Service {
  readonly name = 'steering records';
  readonly #store: SteeringStore;
  readonly #clock: Clock;
  readonly #shared = new SharedRecords();
  #records: readonly SteeringRecord[] = [];
  #aheadMs = 0;

  constructor(store: SteeringStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The memory for the threads that decide. */
  get memory(): SharedArrayBuffer {
    return this.#shared.buffer;
  }

  /** See {@link SteeringStore.send}. */
  get send(): SendToRedis | null {
    return this.#store.send;
  }

  start(): Promise<void> {
    return this.#store.start({
      records: records => {
        this.#records = records;
        this.#shared.publish(records);
      },
      ahead: aheadMs => {
        this.#aheadMs = aheadMs;
        this.#shared.publishAhead(aheadMs);
      },
    });
  }

  stop(): Promise<void> {
    return this.#store.stop();
  }

  /** The records of a kind that have not ended, the oldest first. */
  list(kind: SteeringKind): readonly SteeringRecord[] {
    return this.#active(this.#records).filter(record => record.kind === kind);
  }

  /**
   * Adds a record, or replaces the one of its kind for the same descriptors. Records that have ended are deleted. When this
   * resolves, all batches of this process are decided with the record.
   *
   * @throws (rejects with) RecordRefused, or Fault store_failed
   */
  async put(input: JsonValue, kind: SteeringKind, by: string): Promise<SteeringRecord> {
    const record = checkRecord(input, { kind, nowS: this.#nowS(), by });
    await this.#store.change(stored => {
      const others = stored.filter(({ id }) => id !== record.id);
      const active = this.#active(others);
      refuseTooMany([...active, record]);
      const kept = new Set(active);
      return { put: record, removed: others.filter(each => !kept.has(each)).map(({ id }) => id) };
    });
    return record;
  }

  /**
   * Deletes a record. Returns it, or null if there is none with this id.
   * @throws (rejects with) Fault store_failed
   */
  async remove(kind: SteeringKind, id: string): Promise<SteeringRecord | null> {
    let record: SteeringRecord | undefined;
    await this.#store.change(stored => {
      record = this.#active(stored).find(each => each.kind === kind && each.id === id);
      return record === undefined ? null : { put: null, removed: [id] };
    });
    return record ?? null;
  }

  #active(records: readonly SteeringRecord[]): readonly SteeringRecord[] {
    const nowS = this.#nowS();
    return records.filter(({ untilS }) => untilS > nowS);
  }

  /** The second by the clock of the store. */
  #nowS(): number {
    return Math.floor((this.#clock.nowMs() + this.#aheadMs) / SECOND_MS);
  }
}

/** @throws RecordRefused */
function refuseTooMany(records: readonly SteeringRecord[]): void {
  if (records.length > MAX_RECORDS) {
    throw refusal(`cannot be added: there are ${MAX_RECORDS} records already; delete some`);
  }
  if (layerCount(records) > MAX_LAYERS) {
    throw refusal(
      `cannot be added: the records would be of more than ${MAX_LAYERS} sorts; use fewer different wildcards before the last entry`,
    );
  }
}

function refusal(detail: string): RecordRefused {
  return new RecordRefused([{ pointer: '', detail }]);
}
