import t from 'tap';
import { atTurnEnd } from '../../../../src/base/event-loop.ts';
import {
  Account,
  REQUEST_WORK,
  RequestTurns,
  TURN_WORK,
} from '../../../../src/transports/http/request-turns.ts';

/** Turns of an event loop that goes round when the test says so, with a clock that the test sets. */
class Loop {
  readonly ran: string[] = [];
  nowMs = 0;
  readonly turns = new RequestTurns({
    nextTurn: run => {
      this.#next = run;
    },
    after: (ms, run) => {
      this.restMs = ms;
      this.endRest = run;
      return { cancel: () => {} };
    },
    nowMs: () => this.nowMs,
  });
  restMs = 0;
  endRest: () => void = () => {};
  #next: (() => void) | null = null;

  /** True while another turn is asked for. */
  get asked(): boolean {
    return this.#next !== null;
  }

  /** @param tookMs how long the request takes when it is handled */
  wait(name: string, work: number, { tookMs = 0, account = null }: Waits = {}): void {
    const run = (): void => {
      this.ran.push(name);
      this.nowMs += tookMs;
    };
    this.turns.wait(work, run, account);
  }

  /** Callbacks for the next turn. */
  turn(): string[] {
    const next = this.#next;
    this.#next = null;
    next?.();
    return this.ran.splice(0);
  }
}

interface Waits {
  readonly tookMs?: number;
  readonly account?: Account | null;
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
  t.notOk(loop.turns.has(REQUEST_WORK), 'nobody overtakes small ones that wait');
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

t.test('a small one is handled at once while only large ones wait', async t => {
  const loop = new Loop();
  loop.wait('large', TURN_WORK);
  t.ok(loop.turns.has(REQUEST_WORK));
  t.notOk(loop.turns.has(LARGE), 'a large one waits behind it');
});

t.test('a turn ends early when requests take longer than their work says', async t => {
  const loop = new Loop();
  for (let i = 0; i < 5; i++) loop.wait(String(i), TURN_WORK / 4, { tookMs: 1 });
  t.strictSame(loop.turn(), ['0', '1']);
  t.strictSame(loop.turn(), ['2', '3']);
  t.strictSame(loop.turn(), ['4']);
});

t.test('arriving requests wait when those before them took longer than their work says', async t => {
  const loop = new Loop();
  const handle = (): void => {
    for (let i = 0; i < 200; i++) loop.turns.spend(REQUEST_WORK);
  };
  handle();
  t.ok(loop.turns.has(REQUEST_WORK));
  loop.nowMs += 100;
  handle();
  t.notOk(loop.turns.has(REQUEST_WORK));
  loop.turn();
  t.ok(loop.turns.has(REQUEST_WORK));
});

t.test('a large one that takes long is followed by as much time without large ones', async t => {
  const loop = new Loop();
  loop.wait('long', TURN_WORK, { tookMs: 30 });
  loop.wait('large', TURN_WORK);
  t.strictSame(loop.turn(), ['long']);
  await Promise.resolve();
  t.equal(loop.restMs, 30);
  loop.wait('small', REQUEST_WORK);
  t.strictSame(loop.turn(), ['small']);
  t.notOk(loop.asked, 'the event loop does not go round for nothing');
  loop.endRest();
  t.strictSame(loop.turn(), ['large']);
});

t.test('the connection with the least work comes first, whenever it asks', async t => {
  const loop = new Loop();
  const [busy, calm] = [new Account(), new Account()];
  for (let i = 0; i < 20; i++) loop.turns.spend(REQUEST_WORK, busy);
  loop.wait('busy', REQUEST_WORK, { account: busy });
  loop.wait('calm', REQUEST_WORK, { account: calm });
  loop.wait('unknown', 2 * REQUEST_WORK);
  t.strictSame(loop.turn(), ['calm', 'unknown', 'busy']);
});

t.test('what requests leave for the end of their turn is done in it, and counts as their time', async t => {
  const loop = new Loop();
  loop.turns.wait(REQUEST_WORK, () => atTurnEnd(() => loop.ran.push('decided')));
  t.same(loop.turn(), []);
  await Promise.resolve();
  t.same(loop.ran.splice(0), ['decided'], 'before the sockets are polled again');
  loop.turns.wait(TURN_WORK, () => {
    loop.nowMs += 1;
    atTurnEnd(() => {
      loop.nowMs += 20;
    });
  });
  loop.turn();
  await Promise.resolve();
  t.equal(loop.restMs, 21);
});
