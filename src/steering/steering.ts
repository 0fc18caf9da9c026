import type { Clock } from '../base/clock.ts';
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
    return this.#store.start(records => {
      this.#records = records;
      this.#shared.publish(records);
    });
  }

  stop(): Promise<void> {
    return this.#store.stop();
  }

  /** The records of a kind that have not ended, the oldest first. */
  list(kind: SteeringKind): readonly SteeringRecord[] {
    return this.#active().filter(record => record.kind === kind);
  }

  /**
   * Adds a record, or replaces the one of its kind for the same descriptors. When this resolves, all batches of this process
   * are decided with the record.
   *
   * @throws (rejects with) RecordRefused, or Fault store_failed
   */
  async put(input: JsonValue, kind: SteeringKind, by: string): Promise<SteeringRecord> {
    const record = checkRecord(input, { kind, nowS: this.#nowS(), by });
    const others = this.#active().filter(({ id }) => id !== record.id);
    if (others.length >= MAX_RECORDS) {
      throw refusal(`cannot be added: there are ${MAX_RECORDS} records already; delete some`);
    }
    if (layerCount([...others, record]) > MAX_LAYERS) {
      throw refusal(
        `cannot be added: the records would be of more than ${MAX_LAYERS} sorts; use fewer different wildcards before the last entry`,
      );
    }
    const active = new Set(others.map(({ id }) => id));
    const ended = this.#records.filter(({ id }) => id !== record.id && !active.has(id)).map(({ id }) => id);
    await this.#store.put(record, ended);
    return record;
  }

  /**
   * Deletes a record. Returns it, or null if there is none with this id.
   * @throws (rejects with) Fault store_failed
   */
  async remove(kind: SteeringKind, id: string): Promise<SteeringRecord | null> {
    const record = this.list(kind).find(each => each.id === id);
    if (record === undefined) return null;
    await this.#store.remove(id);
    return record;
  }

  #active(): readonly SteeringRecord[] {
    const nowS = this.#nowS();
    return this.#records.filter(({ untilS }) => untilS > nowS);
  }

  #nowS(): number {
    return Math.floor(this.#clock.nowMs() / 1_000);
  }
}

function refusal(detail: string): RecordRefused {
  return new RecordRefused([{ pointer: '', detail }]);
}
