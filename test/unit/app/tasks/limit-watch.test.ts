import t from 'tap';
import { LimitWatch } from '../../../../src/app/tasks/limit-watch.ts';
import { SharedRecordsReader } from '../../../../src/steering/shared-records.ts';
import { SignalMesh, SignalPorts, Signals } from '../../../../src/tasks/model/signals.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { record, sharedRecords } from '../../../support/steering.ts';

t.test(
  'threads learn within a second that rules or records have changed, or that a record has ended',
  async t => {
    const clock = new ManualClock(1_700_000_000_000);
    const mesh = new SignalMesh();
    const signals = new Signals();
    const thread = new SignalPorts(signals, ['limitsChanged']);
    const leave = mesh.join(port => thread.connect(port));
    let changes = 0;
    signals.listen({ limitsChanged: () => changes++ });
    const records = sharedRecords();
    let rules: object | null = null;
    const steering = new SharedRecordsReader(records.buffer);
    const watch = new LimitWatch(mesh, () => rules, steering, clock);
    await watch.start();
    t.teardown(async () => {
      leave();
      thread.close();
    });
    const changesAfter = async (ms: number): Promise<number> => {
      changes = 0;
      clock.advance(ms);
      // The signals of a turn leave at its end.
      await new Promise<void>(resolve => setImmediate(() => setImmediate(resolve)));
      thread.receive();
      return changes;
    };
    t.equal(await changesAfter(5_000), 0);
    rules = {};
    t.equal(await changesAfter(1_000), 1);
    records.publish([record('ban', 'upstream=billing', { seconds: 37 })]);
    t.equal(await changesAfter(1_000), 1);
    t.equal(await changesAfter(20_000), 0);
    t.equal(await changesAfter(10_000), 1);
    await watch.stop();
    rules = null;
    t.equal(await changesAfter(5_000), 0);
  },
);
