import t from 'tap';
import { BatchWindow } from '../../../../src/decision/batching/batch-window.ts';

/** A window whose time, timers and turns the test owns. */
class Bench {
  nowMs = 1_000;
  readonly timers: { readonly delayMs: number; readonly run: () => void }[] = [];
  readonly turns: (() => void)[] = [];
  ended = 0;
  readonly window: BatchWindow;

  constructor(lengthMs: number) {
    this.window = new BatchWindow(lengthMs, {
      nowMs: () => this.nowMs,
      after: (delayMs, run) => {
        const timer = { delayMs, run };
        this.timers.push(timer);
        return { cancel: () => this.timers.splice(this.timers.indexOf(timer), 1) };
      },
      nextTurn: run => this.turns.push(run),
    });
  }

  open(): void {
    this.window.open(() => {
      this.ended++;
    });
  }

  /** One turn of the event loop, this much later. */
  turn(passedMs: number): void {
    this.nowMs += passedMs;
    for (const run of this.turns.splice(0)) run();
  }
}

t.test('a window of a part of a millisecond ends at the first turn behind its end', async t => {
  const bench = new Bench(0.25);
  bench.open();
  t.equal(bench.ended, 0, 'not at once');
  bench.turn(0.1);
  bench.turn(0.1);
  t.equal(bench.ended, 0);
  bench.turn(0.1);
  t.equal(bench.ended, 1);
  t.same([bench.turns, bench.timers], [[], []], 'and nothing waits any more');
});

t.test('a long window leaves all but its end to a timer', async t => {
  const bench = new Bench(10.5);
  bench.open();
  t.match(bench.timers, [{ delayMs: 9 }]);
  t.same(bench.turns, []);
  bench.nowMs += 9.2;
  bench.timers.shift()?.run();
  t.equal(bench.ended, 0);
  bench.turn(1.3);
  t.equal(bench.ended, 1);
});

t.test('a window that is shut does not end', async t => {
  const short = new Bench(0.25);
  short.open();
  short.window.shut();
  short.turn(1);
  const long = new Bench(20);
  long.open();
  long.window.shut();
  t.same(long.timers, []);
  t.same([short.ended, short.turns, long.ended], [0, [], 0]);
});

t.test('a window that is opened anew has its whole length', async t => {
  const bench = new Bench(0.5);
  bench.open();
  bench.turn(0.4);
  bench.window.shut();
  bench.open();
  bench.turn(0.2);
  t.equal(bench.ended, 0);
  t.equal(bench.turns.length, 1, 'one of them waits, not two');
  bench.turn(0.4);
  t.equal(bench.ended, 1);
});
