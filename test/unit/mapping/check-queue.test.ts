import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import { CheckQueue, MAX_CHECKS, MAX_WAIT_MS, MAX_WAITING } from '../../../src/mapping/tokens/check-queue.ts';
import { ManualClock } from '../../support/manual-clock.ts';

interface Setup {
  readonly clock: ManualClock;
  readonly results: (number | null)[];
  /** The checks that run, in the order of their start. */
  readonly running: (() => void)[];
  readonly add: (count: number) => void;
}

function setup(): Setup {
  const clock = new ManualClock(1_000_000);
  const queue = new CheckQueue(clock);
  const [results, running]: [(number | null)[], (() => void)[]] = [[], []];
  let added = 0;
  const add = (count: number): void => {
    for (let i = 0; i < count; i++) {
      const number = added++;
      const check = (): Promise<number> => new Promise(done => running.push(() => done(number)));
      void queue.run(check).then(result => results.push(result));
    }
  };
  return { clock, results, running, add };
}

t.test('checks beyond those that run wait for their turn, in their order', async t => {
  const { results, running, add } = setup();
  add(MAX_CHECKS + 2);
  t.equal(running.length, MAX_CHECKS);
  running[5]();
  await nextTurn();
  t.same(results, [5]);
  t.equal(running.length, MAX_CHECKS + 1);
  running[MAX_CHECKS]();
  await nextTurn();
  t.same(results, [5, MAX_CHECKS]);
  t.equal(running.length, MAX_CHECKS + 2);
});

t.test('a check is not run if too many wait', async t => {
  const { results, running, add } = setup();
  add(MAX_CHECKS + MAX_WAITING);
  await nextTurn();
  t.same(results, []);
  add(1);
  await nextTurn();
  t.same(results, [null]);
  running[0]();
  await nextTurn();
  add(1);
  await nextTurn();
  t.same(results, [null, 0], 'there is a place again');
});

t.test('a check that has waited for too long is not run', async t => {
  const { clock, results, running, add } = setup();
  add(MAX_CHECKS + 1);
  clock.advance(MAX_WAIT_MS);
  add(1);
  clock.advance(1);
  running[0]();
  await nextTurn();
  t.same(results, [null, 0], 'the first one that waits');
  t.equal(running.length, MAX_CHECKS + 1, 'the second one runs');
});

t.test('checks that wait while those that run hang end with the next that arrives', async t => {
  const { clock, results, add } = setup();
  add(MAX_CHECKS + 2);
  clock.advance(MAX_WAIT_MS + 1);
  add(1);
  await nextTurn();
  t.same(results, [null, null]);
});

t.test('a check that fails leaves its place to the next one', async t => {
  const queue = new CheckQueue(new ManualClock(0));
  const failed = Array.from({ length: MAX_CHECKS }, () =>
    t.rejects(queue.run(() => Promise.reject(new Error('broken')))),
  );
  t.equal(await queue.run(() => Promise.resolve(1)), 1);
  await Promise.all(failed);
});
