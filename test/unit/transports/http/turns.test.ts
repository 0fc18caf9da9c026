import t from 'tap';
import { REQUEST_WORK, TURN_WORK, Turns } from '../../../../src/transports/http/turns.ts';

/** Turns of an event loop that goes round when the test says so. */
class Loop {
  readonly ran: string[] = [];
  readonly turns = new Turns(run => {
    this.#next = run;
  });
  #next: (() => void) | null = null;

  /** True while another turn is asked for. */
  get asked(): boolean {
    return this.#next !== null;
  }

  wait(name: string, work: number): void {
    this.turns.wait(work, () => this.ran.push(name));
  }

  /** What runs in the next turn. */
  turn(): string[] {
    const next = this.#next;
    this.#next = null;
    next?.();
    return this.ran.splice(0);
  }
}

const LARGE = TURN_WORK / 2;

t.test('little work leaves the event loop alone and the turn open', async t => {
  const loop = new Loop();
  for (let i = 0; i < 10; i++) loop.turns.spend(REQUEST_WORK);
  t.ok(loop.turns.has(REQUEST_WORK));
  t.notOk(loop.asked);
});

t.test('a turn closes when its work is spent, and the next one is open', async t => {
  const loop = new Loop();
  let spent = 0;
  for (; loop.turns.has(REQUEST_WORK); spent += REQUEST_WORK) loop.turns.spend(REQUEST_WORK);
  t.equal(spent, TURN_WORK);
  loop.turn();
  t.ok(loop.turns.has(REQUEST_WORK));
});

t.test('those with little to do come first, in the order of their arrival, and then a large one', async t => {
  const loop = new Loop();
  loop.wait('large 1', TURN_WORK);
  loop.wait('large 2', TURN_WORK);
  loop.wait('small 1', REQUEST_WORK);
  loop.wait('small 2', REQUEST_WORK);
  t.notOk(loop.turns.has(REQUEST_WORK), 'nobody overtakes those who wait');
  t.strictSame(loop.turn(), ['small 1', 'small 2', 'large 1']);
  loop.wait('small 3', REQUEST_WORK);
  t.strictSame(loop.turn(), ['small 3', 'large 2']);
  t.equal(loop.turns.waiting, 0);
});

t.test('a small one waits for one large one at most, however many there are', async t => {
  const loop = new Loop();
  for (let i = 0; i < 100; i++) loop.wait('large', 4 * TURN_WORK);
  let most = 0;
  for (let i = 0; i < 50; i++) {
    loop.wait('small', REQUEST_WORK);
    const ran = loop.turn();
    most = Math.max(most, ran.indexOf('small'));
    t.equal(ran.filter(name => name === 'large').length, 1);
  }
  t.equal(most, 0);
});

t.test('a turn takes no more small ones than it has work for, and a large one all the same', async t => {
  const loop = new Loop();
  const work = TURN_WORK / 64;
  for (let i = 0; i < 100; i++) loop.wait('small', work);
  loop.wait('large', LARGE);
  const first = loop.turn();
  t.equal(first.filter(name => name === 'small').length, 64);
  t.equal(first.at(-1), 'large', 'it is not put off for ever');
  t.equal(loop.turn().length, 36);
});

t.test('a large one does not begin in a turn that has not enough left for it', async t => {
  const loop = new Loop();
  t.ok(loop.turns.has(TURN_WORK));
  loop.turns.spend(REQUEST_WORK);
  t.notOk(loop.turns.has(TURN_WORK));
  t.ok(loop.turns.has(REQUEST_WORK));
});

t.test('large ones share a turn that has work left', async t => {
  const loop = new Loop();
  for (let i = 0; i < 5; i++) loop.wait(`large ${i}`, LARGE);
  t.strictSame(loop.turn(), ['large 0', 'large 1']);
  t.strictSame(loop.turn(), ['large 2', 'large 3']);
});

t.test('a queue that is never empty does not grow', async t => {
  const loop = new Loop();
  loop.wait('0', REQUEST_WORK);
  for (let i = 1; i <= 5_000; i++) {
    loop.wait(String(i), REQUEST_WORK);
    if (i % 2_000 === 0) loop.turn();
  }
  while (loop.turns.waiting > 0) loop.turn();
  t.equal(loop.turns.waiting, 0);
});
