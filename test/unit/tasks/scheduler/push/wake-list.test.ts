import t from 'tap';
import { WakeList } from '../../../../../src/tasks/scheduler/push/wake-list.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';

t.test('workers are served at their times, each at its earliest', async t => {
  for (let seed = 0; seed < 50; seed++) {
    const random = new SeededRandom(seed);
    const clock = new ManualClock(0);
    const served: string[] = [];
    const list = new WakeList(clock, ({ tenant, workerId, at }) =>
      served.push(`${tenant} ${workerId} ${at} ${clock.nowMs()}`),
    );
    const earliest = new Map<string, number>();
    for (let count = 0; count < 60; count++) {
      const [tenant, workerId] = [random.pick(['a', 'b']), `w${random.below(10)}`];
      const at = 1 + random.below(1_000);
      list.add({ tenant, workerId, at });
      const key = `${tenant} ${workerId}`;
      earliest.set(key, Math.min(earliest.get(key) ?? at, at));
    }
    clock.advance(2_000);
    const expected = [...earliest].map(([key, at]) => `${key} ${at} ${at}`);
    t.same([...served].sort(), expected.sort(), `seed ${seed}`);
    t.equal(clock.pending, 0);
  }
});

t.test('one timer is enough, and none is left when the list is cleared', async t => {
  const clock = new ManualClock(0);
  const list = new WakeList(clock, () => t.fail('it was cleared'));
  for (let at = 100; at > 0; at -= 10) list.add({ tenant: 'a', workerId: `w${at}`, at });
  t.same(clock.pendingDelaysMs, [10]);
  list.clear();
  t.equal(clock.pending, 0);
  clock.advance(200);
});
