import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t, { type Test } from 'tap';
import { Bound, SharedBound } from '../../../../src/base/threads/shared-bound.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { type BoundJob, FOUND } from './bound-thread.ts';

/** Counts what one thread uses. */
class User {
  readonly bound: Bound;
  used = 0;

  constructor(bound: Bound) {
    this.bound = bound;
  }

  /** Takes up to this number of units. @returns how many */
  take(units: number): number {
    const before = this.used;
    while (this.used < before + units && this.bound.hasRoom(this.used)) this.used++;
    return this.used - before;
  }

  free(units: number): void {
    this.used -= units;
    this.bound.freed(this.used);
  }
}

function usersOf(shared: SharedBound, count: number): User[] {
  return Array.from({ length: count }, () => new User(Bound.at(shared.join())));
}

t.test('a bound of one thread is used up to the last unit', async t => {
  const user = new User(Bound.ofOneThread(1_000));
  t.notOk(user.bound.isShared);
  t.equal(user.take(2_000), 1_000);
  user.free(1);
  t.equal(user.take(2_000), 1);
});

t.test('one of several threads may use everything except the guaranteed parts of the others', async t => {
  for (const max of [1, 2, 7, 100, 65_536]) {
    const threads = 4;
    const [first, ...others] = usersOf(new SharedBound(max, threads), threads);
    const guaranteed = Math.floor(max / 8);
    t.equal(first.bound.max, max);
    t.ok(first.bound.isShared);
    t.equal(first.take(max + 1), max - 3 * guaranteed, `${max}`);
    for (const other of others) t.equal(other.take(max), guaranteed, `${max}`);
  }
});

t.test('units that a thread frees can be used by others, except a small reserve', async t => {
  const [first, second] = usersOf(new SharedBound(65_536, 2), 2);
  first.take(65_536);
  t.equal(first.used, 49_152);
  first.free(10_000);
  second.take(65_536);
  t.ok(second.used <= 26_384 && second.used >= 26_384 - 2 * 256, `${second.used}`);
  first.free(first.used);
  second.take(65_536);
  t.equal(second.used, 49_152, 'an idle thread keeps none');
});

t.test('bounds below 256 have no reserve', async t => {
  const [first, second] = usersOf(new SharedBound(100, 2), 2);
  first.take(100);
  t.equal(first.used, 75);
  first.free(3);
  t.equal(second.take(100), 25 + 3);
});

t.test('a thread that uses a bound through a fraction gets room for the fraction', async t => {
  const [first] = usersOf(new SharedBound(80, 1), 1);
  let used = 0;
  while (first.bound.hasRoom(used / (7 / 8))) used++;
  t.equal(used, 70);
});

t.test('bounds above 2^31 are kept to within the scale', async t => {
  const max = 20 * 2 ** 30;
  const [first, second] = usersOf(new SharedBound(max, 2), 2);
  t.ok(first.bound.hasRoom(0.75 * max - 32));
  t.notOk(first.bound.hasRoom(0.75 * max));
  t.ok(second.bound.hasRoom(0.25 * max - 1));
  t.notOk(second.bound.hasRoom(0.25 * max + 32));
  first.bound.freed(0);
  t.ok(second.bound.hasRoom(0.75 * max - 32));
});

t.test('when a thread has ended, others can use what it used', async t => {
  const shared = new SharedBound(100, 2);
  const seats = [shared.join(), shared.join()];
  const [first, second] = seats.map(seat => new User(Bound.at(seat)));
  first.take(100);
  t.equal(second.take(100), 25);
  shared.left(seats[0]);
  t.equal(second.take(100), 50);
  const third = new User(Bound.at(shared.join()));
  t.equal(third.take(100), 25, 'its replacement has the guaranteed part');
});

t.test('a replacement has its guaranteed part when the thread before it has exited', async t => {
  const shared = new SharedBound(100, 2);
  const seats = [shared.join(), shared.join()];
  const [first, second] = seats.map(seat => new User(Bound.at(seat)));
  first.take(100);
  second.take(100);
  const third = new User(Bound.at(shared.join()));
  t.equal(third.take(100), 0);
  shared.left(seats[0]);
  t.equal(second.take(100), 50);
  t.equal(third.take(100), 25);
  t.throws(() => usersOf(shared, 3), /4 threads use the bound; it is for 2/);
});

/** Threads that take and free units at random, and are terminated at random moments. */
class Threads {
  readonly #shared: SharedBound;
  readonly #random: SeededRandom;
  readonly #max: number;
  readonly #used: Int32Array<SharedArrayBuffer>;
  readonly found = new Int32Array(new SharedArrayBuffer(FOUND.words * 4));
  /** Called when a thread has sent a message. */
  #heard = (): void => {};
  readonly #running: { readonly job: BoundJob; readonly worker: Worker }[] = [];

  constructor(t: Test, max: number, count: number) {
    this.#max = max;
    this.#shared = new SharedBound(max, count);
    this.#random = new SeededRandom(count);
    this.#used = new Int32Array(new SharedArrayBuffer(2 * count * 4));
    for (let i = 0; i < count; i++) this.start();
    t.teardown(() => this.endAll());
  }

  start(): void {
    const { found } = this;
    const seat = this.#shared.join();
    const job: BoundJob = { seat, used: this.#used, found, seed: this.#random.below(1_000_000) };
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const worker = new Worker(new URL(`./bound-thread.${extension}`, import.meta.url), { workerData: job });
    worker.on('message', () => this.#heard());
    this.#running.push({ job, worker });
  }

  /** Terminates one of the threads after a random number of further messages of all of them. */
  async endOne(): Promise<void> {
    for (let messages = 1 + this.#random.below(20); messages > 0; messages--) {
      await new Promise<void>(resolve => (this.#heard = resolve));
    }
    await this.#end(this.#random.below(this.#running.length));
  }

  async endAll(): Promise<void> {
    while (this.#running.length > 0) await this.#end(0);
  }

  /** What threads that start now can use together. */
  reachable(count: number): number {
    const users = usersOf(this.#shared, count);
    return users.reduce((sum, user) => sum + user.take(this.#max), 0);
  }

  async #end(index: number): Promise<void> {
    const [{ job, worker }] = this.#running.splice(index, 1);
    const exited = once(worker, 'exit');
    await worker.terminate();
    await exited;
    Atomics.store(this.#used, job.seat.place, 0);
    this.#shared.left(job.seat);
  }
}

for (const { threads: count, max } of [
  { threads: 2, max: 100 },
  { threads: 2, max: 3_000 },
  { threads: 4, max: 3_000 },
]) {
  t.test(`${count} threads that end at any moment never exceed a bound of ${max}`, async t => {
    const threads = new Threads(t, max, count);
    for (let death = 0; death < 4; death++) {
      await threads.endOne();
      threads.start();
    }
    await threads.endAll();
    const { found } = threads;
    t.ok(found[FOUND.snapshots] > 100, `${found[FOUND.snapshots]} snapshots`);
    t.ok(found[FOUND.refusals] > 100, `${found[FOUND.refusals]} refusals`);
    t.ok(found[FOUND.highest] <= max, `at most ${found[FOUND.highest]} units were in use`);
    t.ok(found[FOUND.highest] > max / 2, `${found[FOUND.highest]} units were in use at once`);
    t.equal(found[FOUND.refusedGuaranteed], 0, 'no thread was refused its guaranteed part');
    t.equal(threads.reachable(count), max, 'nothing is lost');
  });
}
