import type { Test } from 'tap';
import type { SteeringRecord } from '../../src/steering/record.ts';
import type { SteeringStore } from '../../src/steering/steering-store.ts';
import { record } from '../support/steering.ts';
import { until } from '../support/until.ts';

/** A store, and what it has notified of last. */
export class FollowedStore {
  readonly store: SteeringStore;
  records: readonly SteeringRecord[] = [];
  aheadMs = 0;

  constructor(store: SteeringStore) {
    this.store = store;
  }

  start(): Promise<void> {
    return this.store.start({
      records: records => {
        this.records = records;
      },
      ahead: aheadMs => {
        this.aheadMs = aheadMs;
      },
    });
  }

  /** @param ended ids of records that are deleted */
  put(record: SteeringRecord, ended: readonly string[] = []): Promise<void> {
    return this.store.change(() => ({ put: record, removed: ended }));
  }

  remove(id: string): Promise<void> {
    return this.store.change(() => ({ put: null, removed: [id] }));
  }

  get ids(): string[] {
    return this.records.map(({ id }) => id).sort();
  }
}

/** Opens a store that has the records of those opened before in the same test. */
export type OpenSteeringStore = () => SteeringStore;

const ANN = record('ban', 'user=ann');
const BOB = record('override', 'user=bob', { factor: 2 });

/** Opens and starts a store, which ends with the test. */
export async function followed(t: Test, open: OpenSteeringStore): Promise<FollowedStore> {
  const made = new FollowedStore(open());
  t.teardown(() => made.store.stop());
  await made.start();
  return made;
}

/** What every store of steering records does. */
export function examineSteeringStore(t: Test, opener: (t: Test) => Promise<OpenSteeringStore>): void {
  t.test('records are known when a change is done, and after a restart', async t => {
    const open = await opener(t);
    const first = await followed(t, open);
    t.strictSame(first.records, []);
    await first.put(ANN);
    t.strictSame(first.records, [ANN]);
    await first.put(BOB);
    await first.put({ ...ANN, reason: 'another' });
    t.strictSame(first.ids, [ANN.id, BOB.id]);
    await first.store.stop();
    const second = await followed(t, open);
    t.strictSame(second.ids, [ANN.id, BOB.id]);
    t.equal(second.records.find(({ id }) => id === ANN.id)?.reason, 'another');
    await second.remove(ANN.id);
    t.strictSame(second.records, [BOB]);
    await second.remove(ANN.id);
    t.strictSame(second.records, [BOB]);
  });

  t.test('records that have ended are deleted with a change', async t => {
    const open = await opener(t);
    const first = await followed(t, open);
    await first.put(ANN);
    await first.put(BOB, [ANN.id]);
    const again = await followed(t, open);
    t.strictSame(again.records, [BOB]);
  });

  t.test('changes at the same moment are all made', async t => {
    const open = await opener(t);
    const first = await followed(t, open);
    const records = Array.from({ length: 20 }, (_, i) => record('ban', `user=${i}`));
    await Promise.all(records.map(each => first.put(each)));
    await Promise.all(records.slice(0, 10).map(({ id }) => first.remove(id)));
    const again = await followed(t, open);
    t.strictSame(
      again.ids,
      records
        .slice(10)
        .map(({ id }) => id)
        .sort(),
    );
  });
}

/** What stores do whose records several processes share. */
export function examineSharing(t: Test, opener: (t: Test) => Promise<OpenSteeringStore>): void {
  t.test('a change of one process reaches the others', async t => {
    const open = await opener(t);
    const first = await followed(t, open);
    const second = await followed(t, open);
    await first.put(ANN);
    await until(() => second.records.length === 1);
    await second.put(BOB);
    await until(() => first.records.length === 2);
    await second.remove(ANN.id);
    await until(() => first.records.length === 1);
    t.strictSame(first.records, [BOB]);
  });
}
