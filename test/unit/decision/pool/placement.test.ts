import t from 'tap';
import { Placement } from '../../../../src/decision/pool/placement.ts';

/** What a request and a batch cost this thread, and what the machine answers in a second. */
interface Machine {
  /** Requests a second when this thread decides everything. */
  readonly alone: number;
  /** Requests a second when the pool takes what it is given. */
  readonly pooled: number;
  readonly busyAlone: number;
  readonly busyPooled: number;
}

const BATCH = 64;

/** Time and load by hand: a placement, and a machine that answers batches as it can. */
class Bench {
  nowMs = 0;
  machine: Machine;
  #pooling = false;
  readonly placement: Placement;
  /** For each second: the part of the requests that the pool decided. */
  readonly shares: number[] = [];

  constructor(machine: Machine) {
    this.machine = machine;
    this.placement = new Placement(
      () => this.nowMs,
      () => (this.#pooling ? this.machine.busyPooled : this.machine.busyAlone),
    );
  }

  run(seconds: number, batch = BATCH): void {
    for (let second = 0; second < seconds; second++) {
      const endMs = this.nowMs + 1_000;
      let pooled = 0;
      let all = 0;
      while (this.nowMs < endMs) {
        this.#pooling = this.placement.isForPool(batch);
        if (this.#pooling) this.placement.decidedInPool(batch, 0.02, batch * 0.000_3);
        else this.placement.decidedHere(batch, batch * 0.003);
        all += batch;
        if (this.#pooling) pooled += batch;
        this.nowMs += (batch * 1_000) / (this.#pooling ? this.machine.pooled : this.machine.alone);
      }
      this.shares.push(pooled / all);
    }
  }

  /** The part that the pool decided from the second `from` on. */
  share(from: number): number {
    const later = this.shares.slice(from);
    return later.reduce((sum, share) => sum + share, 0) / later.length;
  }
}

const IDLE = { alone: 50_000, pooled: 50_000, busyAlone: 0.2, busyPooled: 0.1 };
const SATURATED_WITH_CORES = { alone: 200_000, pooled: 600_000, busyAlone: 1, busyPooled: 0.95 };
const SATURATED_MACHINE = { alone: 200_000, pooled: 150_000, busyAlone: 1, busyPooled: 1 };

t.test('a thread with time to spare decides everything itself', async t => {
  const bench = new Bench(IDLE);
  bench.run(20);
  t.equal(bench.share(0), 0);
});

t.test('a saturated thread on a machine with idle cores leaves nearly everything to the pool', async t => {
  const bench = new Bench(SATURATED_WITH_CORES);
  bench.run(60);
  t.ok(bench.shares[1] > 0.9, 'within two seconds');
  t.ok(bench.share(10) > 0.95, `${bench.share(10)}`);
});

t.test('on a machine without idle cores the pool is tried less and less, and not used', async t => {
  const bench = new Bench(SATURATED_MACHINE);
  bench.run(180);
  t.ok(bench.share(0) < 0.05, `${bench.share(0)}`);
  t.ok(bench.share(120) < 0.01, `${bench.share(120)}`);
});

t.test('lone requests are never for the pool', async t => {
  const bench = new Bench(SATURATED_WITH_CORES);
  bench.run(5);
  t.ok(bench.placement.pooling);
  t.notOk(bench.placement.isForPool(1));
  t.notOk(bench.placement.isForPool(4));
});

t.test('how large a batch must be follows from what a request costs here', async t => {
  const dear = new Placement(
    () => 0,
    () => 1,
  );
  t.notOk(dear.isForPool(512), 'nothing is for the pool before it was found to be of use');
  const bench = new Bench(SATURATED_WITH_CORES);
  bench.run(5);
  t.ok(bench.placement.isForPool(8), 'requests of 3 µs: 8 of them cost more than the hop');
  for (let i = 0; i < 200; i++) bench.placement.decidedHere(32, 32 * 0.000_7);
  t.notOk(bench.placement.isForPool(32), 'requests of 0.7 µs: 32 do not');
  t.ok(bench.placement.isForPool(100));
});

t.test('when the load has gone, this thread decides again', async t => {
  const bench = new Bench(SATURATED_WITH_CORES);
  bench.run(10);
  bench.machine = { ...IDLE, busyPooled: 0.05 };
  bench.run(2);
  t.notOk(bench.placement.pooling);
});

t.test('after a pause it begins as at the start', async t => {
  const bench = new Bench(SATURATED_WITH_CORES);
  bench.run(10);
  t.ok(bench.placement.pooling);
  bench.nowMs += 60_000;
  t.notOk(bench.placement.isForPool(512));
});

t.test('a load that comes to the machine from elsewhere is noticed', async t => {
  const bench = new Bench(SATURATED_WITH_CORES);
  bench.run(10);
  bench.machine = SATURATED_MACHINE;
  bench.run(70);
  t.notOk(bench.placement.pooling, 'other work took the idle cores');
});
