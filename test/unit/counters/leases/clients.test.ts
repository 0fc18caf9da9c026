import t from 'tap';
import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../../src/counters/embedded/embedded-store.ts';
import { leaseClientsExam } from '../../../exam/counter-leases/clients.ts';

t.test('two threads with one table', async t => {
  leaseClientsExam(t, async () => {
    const { buffer } = CounterTable.create(1_024);
    return [0, 1].map(() => new EmbeddedCounterStore(CounterTable.attach(buffer)));
  });
});
