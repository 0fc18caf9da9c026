import t from 'tap';
import { SteadyClock } from '../../../../../src/tasks/store/sqlite/steady-clock.ts';

t.test(
  'time stands still while the clock of the host is behind what it was, and each step back counts once',
  async t => {
    let host = 1_000;
    const clock = new SteadyClock(() => host);
    const read = (at: number) => {
      host = at;
      return clock.nowMs();
    };
    t.strictSame(
      [1_000, 1_005, 1_005, 400, 401, 402, 1_004, 1_006, 1_000].map(read),
      [1_000, 1_005, 1_005, 1_005, 1_005, 1_005, 1_005, 1_006, 1_006],
    );
    t.equal(clock.backsteps, 2);
  },
);
