import t from 'tap';
import { SharedRate } from '../../../../src/decision/decision-log/shared-rate.ts';

function admitted(rate: SharedRate, nowS: number, events: number): number {
  let count = 0;
  for (let event = 0; event < events; event++) if (rate.admit(nowS)) count++;
  return count;
}

t.test('all threads together admit the maximum of each second', async t => {
  const memory = SharedRate.memory();
  const [one, other] = [new SharedRate(memory, 3), new SharedRate(memory, 3)];
  t.equal(admitted(one, 1_700_000_000, 2), 2);
  t.equal(admitted(other, 1_700_000_000, 2), 1);
  t.equal(admitted(one, 1_700_000_001, 9), 3);
});

t.test('a batch that is a few seconds late does not begin another second', async t => {
  const rate = new SharedRate(SharedRate.memory(), 3);
  t.equal(admitted(rate, 1_700_000_010, 9), 3);
  t.equal(admitted(rate, 1_700_000_005, 9), 0);
  t.equal(admitted(rate, 1_700_000_010, 9), 0);
});

t.test('a clock that was set back stops nothing', async t => {
  const rate = new SharedRate(SharedRate.memory(), 3);
  t.equal(admitted(rate, 1_700_000_000, 9), 3);
  t.equal(admitted(rate, 1_600_000_000, 9), 3);
  t.equal(admitted(rate, 1_600_000_001, 9), 3);
});

t.test('seconds beyond 32 bits are told apart', async t => {
  const rate = new SharedRate(SharedRate.memory(), 1);
  for (let second = 2 ** 31 - 2; second < 2 ** 31 + 2; second++) t.equal(admitted(rate, second, 2), 1);
});
