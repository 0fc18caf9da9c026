import t from 'tap';
import { atTurnEnd } from '../../../../src/base/event-loop.ts';
import {
  ConnectionTurns,
  IMMEDIATE_WORK,
  LEAST_SHARE,
  TURN_WORK,
  type TurnTaker,
} from '../../../../src/transports/grpc/connection-turns.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

/** Somebody with work to be done, in pieces of one size. */
class Worker implements TurnTaker {
  served = 0;
  due = 0;
  order = 0;
  /** Work done, turn by turn. */
  readonly done: number[] = [];
  left: number;
  readonly #piece: number;
  readonly #log: Worker[];

  constructor(work: number, piece: number, log: Worker[] = []) {
    this.left = work;
    this.#piece = piece;
    this.#log = log;
  }

  get inputBytes(): number {
    return this.left;
  }

  get total(): number {
    return this.done.reduce((sum, work) => sum + work, 0);
  }

  take(maxWork: number): number {
    let work = 0;
    while (work < maxWork && this.left > 0) {
      const piece = Math.min(this.#piece, this.left);
      this.left -= piece;
      work += piece;
    }
    this.done.push(work);
    this.#log.push(this);
    return work;
  }
}

/** Turns whose next turn comes when the test starts it. */
class SteppedTurns extends ConnectionTurns {
  readonly #due: (() => void)[];

  constructor() {
    const due: (() => void)[] = [];
    super(run => due.push(run));
    this.#due = due;
  }

  /** False when there was nothing to run. */
  step(): boolean {
    const due = this.#due.splice(0);
    for (const run of due) run();
    return due.length > 0;
  }
}

const SMALL = 128;
const ENDLESS = 1e12;

t.test('a turn does a bounded amount of work, however many wait with however much', t => {
  for (const count of [1, 3, 100]) {
    const turns = new SteppedTurns();
    const log: Worker[] = [];
    for (let i = 0; i < count; i++) turns.add(new Worker(ENDLESS, SMALL, log));
    for (let turn = 0; turn < 50; turn++) {
      log.length = 0;
      turns.step();
      const work = log.reduce((sum, worker) => sum + (worker.done.at(-1) as number), 0);
      t.ok(work < TURN_WORK + LEAST_SHARE + SMALL, `${work} for ${count}`);
    }
    t.equal(turns.waiting, count);
  }
  t.end();
});

t.test('nobody is served more than a share at a time while others wait', t => {
  const turns = new SteppedTurns();
  const workers = Array.from({ length: 100 }, () => new Worker(ENDLESS, SMALL));
  for (const worker of workers) turns.add(worker);
  for (let turn = 0; turn < 500; turn++) turns.step();
  for (const worker of workers) t.ok(Math.max(...worker.done) <= LEAST_SHARE + SMALL);
  t.end();
});

t.test('those who wait get the same amount of work, whatever the size of their pieces', t => {
  const turns = new SteppedTurns();
  const random = new SeededRandom(7);
  const workers = Array.from({ length: 50 }, () => new Worker(ENDLESS, 64 + random.below(70_000)));
  for (const worker of workers) turns.add(worker);
  while (workers[0].total < 5_000_000) turns.step();
  const totals = workers.map(worker => worker.total);
  const spread = Math.max(...totals) - Math.min(...totals);
  t.ok(spread < 2 * 70_064 + LEAST_SHARE, `from ${Math.min(...totals)} to ${Math.max(...totals)}`);
  t.end();
});

t.test('who asks for little is the next one served, beside a hundred who ask for more than there is', t => {
  const turns = new SteppedTurns();
  const log: Worker[] = [];
  const honest = new Worker(0, SMALL, log);
  turns.enter(honest);
  for (let i = 0; i < 100; i++) turns.add(new Worker(ENDLESS, SMALL, log));
  for (let turn = 0; turn < 100; turn++) turns.step();
  for (let call = 0; call < 200; call++) {
    honest.left = SMALL;
    turns.add(honest);
    log.length = 0;
    turns.step();
    t.equal(log[0], honest, `call ${call}`);
    turns.step();
  }
  t.end();
});

t.test('while nobody was served, those who ask for little come first', t => {
  const turns = new SteppedTurns();
  const log: Worker[] = [];
  for (let i = 0; i < 100; i++) turns.add(new Worker(ENDLESS, TURN_WORK, log));
  const honest = new Worker(SMALL, SMALL, log);
  turns.enter(honest);
  turns.add(honest);
  turns.step();
  t.equal(log[0], honest);
  t.end();
});

t.test('who comes back as another has to wait like the others', t => {
  const turns = new SteppedTurns();
  const log: Worker[] = [];
  for (let i = 0; i < 10; i++) turns.add(new Worker(ENDLESS, SMALL, log));
  for (let turn = 0; turn < 100; turn++) turns.step();
  const again = new Worker(ENDLESS, SMALL, log);
  turns.enter(again);
  turns.add(again);
  log.length = 0;
  while (again.done.length < 2) turns.step();
  t.ok(log.length > 10, `after ${log.length} shares`);
  t.end();
});

t.test('who was served a lot in one piece waits until the others have had as much', t => {
  const turns = new SteppedTurns();
  const large = new Worker(8 * TURN_WORK, 4 * TURN_WORK);
  const others = Array.from({ length: 4 }, () => new Worker(ENDLESS, SMALL));
  turns.add(large);
  for (const other of others) turns.add(other);
  turns.step();
  t.equal(large.done.length, 1);
  while (large.done.length === 1) turns.step();
  for (const other of others) t.ok(other.total > 3 * TURN_WORK, `${other.total}`);
  t.end();
});

t.test(
  'input is handled at once while a turn of the event loop brings little, and again in the next turn',
  t => {
    const turns = new SteppedTurns();
    const one = new Worker(0, SMALL);
    t.equal(turns.immediateWork, IMMEDIATE_WORK);
    turns.did(one, 1_000);
    t.notOk(turns.step(), 'the event loop is left alone');
    for (let spent = 1_000; spent < IMMEDIATE_WORK; spent += 1_000) {
      t.equal(turns.immediateWork, IMMEDIATE_WORK - spent);
      turns.did(one, 1_000);
    }
    t.equal(turns.immediateWork, 0);
    t.ok(turns.step());
    t.equal(turns.immediateWork, IMMEDIATE_WORK);
    turns.add(new Worker(ENDLESS, SMALL));
    t.equal(turns.immediateWork, 0, 'nobody overtakes those who wait');
    t.end();
  },
);

t.test('what was done at once counts: who had much of it comes after who had little', t => {
  const turns = new SteppedTurns();
  const log: Worker[] = [];
  const much = new Worker(0, SMALL, log);
  const little = new Worker(0, SMALL, log);
  turns.did(much, IMMEDIATE_WORK);
  much.left = SMALL;
  little.left = SMALL;
  turns.add(much);
  turns.add(little);
  turns.step();
  t.strictSame(log, [little, much]);
  t.notOk(turns.step(), 'with nobody waiting there are no turns');
  t.end();
});

t.test('what input leaves for the end of its turn is done before more is read', async t => {
  const turns = new SteppedTurns();
  const worker = new Worker(1, 1);
  let decided = 0;
  const take = worker.take.bind(worker);
  worker.take = maxWork => {
    atTurnEnd(() => decided++);
    return take(maxWork);
  };
  turns.enter(worker);
  turns.add(worker);
  turns.step();
  await Promise.resolve();
  t.equal(decided, 1);
});
