import type { Clock } from '../../../src/base/clock.ts';
import { CounterTable } from '../../../src/counters/embedded/counter-table.ts';
import { EmbeddedCounterStore } from '../../../src/counters/embedded/embedded-store.ts';
import type { CounterStore } from '../../../src/counters/store.ts';
import type { RuleGeneration } from '../../../src/decision/statistics/rule-statistics.ts';
import { RuleStatistics } from '../../../src/decision/statistics/rule-statistics.ts';
import { DemandBoard } from '../../../src/quota/demand-board.ts';
import { Payments } from '../../../src/quota/payments.ts';
import { quotaCounters } from '../../../src/quota/quota-counters.ts';
import { QuotaDesk } from '../../../src/quota/quota-desk.ts';
import type { QuotaStream } from '../../../src/quota/quota-stream.ts';
import { StatsRegistry } from '../../../src/stats/registry.ts';
import { KeepingLogger } from '../keeping-logger.ts';
import { ManualClock } from '../manual-clock.ts';
import { SeededRandom } from '../seeded-random.ts';
import { TEST_FINGERPRINT_KEY } from '../stores.ts';
import { type Fallback, ModelBucket, type ProxyKind, readActions, usageReports } from './model-proxy.ts';
import { SlowStore } from './slow-store.ts';

/** How often the simulation looks at everything. */
const STEP_MS = 20;

/** What a simulation consists of. */
export interface SimulationSetup {
  readonly seed: number;
  readonly generation: RuleGeneration;
  /** The bucket that all proxies have, in the domain `api`. */
  readonly entries: readonly (readonly [string, string])[];
  /** Number of instances that share the counters. */
  readonly desks: number;
  readonly proxies: readonly SimulatedProxy[];
  /** Messages are on their way for at most this time. */
  readonly delayMs: number;
  /** The longest that the store takes, and the part of its batches that fail; 0 unless given. */
  readonly storeMs?: number;
  readonly failing?: number;
  /** The part of the messages to proxies with which the connection breaks, so that they do not arrive; 0 unless given. */
  readonly breaking?: number;
  readonly startMs?: number;
  /** By how much the clock of each instance is ahead; 0 unless given. */
  readonly aheadMs?: readonly number[];
}

/** A proxy, and the requests that it gets per second. */
export interface SimulatedProxy {
  readonly kind: ProxyKind;
  readonly fallback: Fallback;
  readonly reportMs: number;
  readonly rate: number;
  /** Whether the requests come in bursts of some seconds, with three times the rate or less. */
  readonly isBursty?: boolean;
}

/** The requests of a window that proxies got and admitted, those of them that an assignment admitted, and those by proxy. */
export interface SimulatedWindow {
  readonly startMs: number;
  asked: number;
  admitted: number;
  assigned: number;
  readonly byProxy: number[];
}

/** Instances and proxies that exchange messages over connections with delays, in simulated time. */
export class Simulation {
  readonly clock: ManualClock;
  readonly random: SeededRandom;
  readonly store: CounterStore;
  readonly logger = new KeepingLogger();
  readonly stats = new StatsRegistry();
  readonly counters = quotaCounters(this.stats);
  readonly proxies: RunningProxy[];
  desks: QuotaDesk[];
  readonly #setup: SimulationSetup;
  readonly #statistics = new RuleStatistics();
  readonly #onTheWay: { readonly atMs: number; readonly run: () => void }[] = [];

  constructor(setup: SimulationSetup) {
    this.#setup = setup;
    this.clock = new ManualClock(setup.startMs ?? 1_700_000_000_000);
    this.random = new SeededRandom(setup.seed);
    this.store = this.#newStore();
    this.#statistics.publish(setup.generation);
    this.desks = Array.from({ length: setup.desks }, (_, number) => this.#newDesk(number));
    this.proxies = setup.proxies.map(proxy => new RunningProxy(this, proxy, setup.entries));
  }

  /** Runs for a time. Calls `each` before each step. Returns the windows of a length, the first and the last of which may be a part of one. */
  async run(
    forMs: number,
    windowMs: number,
    each: (windows: readonly SimulatedWindow[]) => void = () => {},
  ): Promise<SimulatedWindow[]> {
    const windows: SimulatedWindow[] = [];
    const endMs = this.clock.nowMs() + forMs;
    while (this.clock.nowMs() < endMs) {
      this.clock.advance(STEP_MS);
      const nowMs = this.clock.nowMs();
      const startMs = nowMs - (nowMs % windowMs);
      if (windows.at(-1)?.startMs !== startMs) windows.push(emptyWindow(startMs, this.proxies.length));
      this.#deliver(nowMs);
      each(windows);
      for (const [i, proxy] of this.proxies.entries()) proxy.step(STEP_MS, windows.at(-1)!, i);
      await this.settled();
    }
    return windows;
  }

  /** Waits until all instances have done what there is to do now. */
  async settled(): Promise<void> {
    await new Promise(setImmediate);
    if (this.store instanceof SlowStore) await new Promise(setImmediate);
    else for (const desk of this.desks) await desk.idle();
  }

  /** An instance dies without a word: its streams break, and another one takes its place. */
  kill(number: number): void {
    const dead = this.desks[number];
    this.desks[number] = this.#newDesk(number);
    for (const proxy of this.proxies) proxy.lose(dead);
  }

  /** Whether a message to a proxy gets lost, because the connection breaks. */
  get isBreaking(): boolean {
    const { breaking = 0 } = this.#setup;
    return breaking > 0 && this.random.next() < breaking;
  }

  /** Runs something after a delay, and after everything that was given the same line before. */
  later(line: { lastMs: number }, run: () => void): void {
    line.lastMs = Math.max(line.lastMs, this.clock.nowMs() + this.random.next() * this.#setup.delayMs);
    this.#onTheWay.push({ atMs: line.lastMs, run });
  }

  #deliver(nowMs: number): void {
    const due = this.#onTheWay.filter(({ atMs }) => atMs <= nowMs).sort((a, b) => a.atMs - b.atMs);
    for (const message of due) this.#onTheWay.splice(this.#onTheWay.indexOf(message), 1);
    for (const { run } of due) run();
  }

  #newStore(): CounterStore {
    const { storeMs: slowestMs = 0, failing = 0 } = this.#setup;
    if (slowestMs === 0) return new EmbeddedCounterStore(CounterTable.create(10_000));
    const after = (delayMs: number, run: () => void) =>
      void this.#onTheWay.push({ atMs: this.clock.nowMs() + delayMs, run });
    return new SlowStore({ random: this.random, slowestMs, failing, after });
  }

  #newDesk(number: number): QuotaDesk {
    const { generation, aheadMs = [] } = this.#setup;
    const clock: Clock = {
      nowMs: () => this.clock.nowMs() + (aheadMs[number] ?? 0),
      after: (delayMs, run) => this.clock.after(delayMs, run),
    };
    return new QuotaDesk({
      payments: new Payments({
        store: this.store,
        cacheKeyPrefix: '',
        fingerprintKey: TEST_FINGERPRINT_KEY,
        named: this.#statistics,
        marks: null,
        steering: null,
      }),
      board: new DemandBoard(''),
      rules: { current: () => generation },
      isShadow: false,
      clock,
      observer: { isActive: false, observe() {} },
      logger: this.logger,
      counters: this.counters,
    });
  }
}

/** A stream of a proxy to an instance. */
interface Connection {
  readonly desk: QuotaDesk;
  readonly stream: QuotaStream;
  /** Messages to the instance. */
  readonly up: { lastMs: number };
  isOpen: boolean;
}

/** A proxy of a simulation. */
export class RunningProxy {
  readonly bucket: ModelBucket;
  isAlive = true;
  /** Nothing that it sends or is sent arrives. */
  isDeaf = false;
  readonly #simulation: Simulation;
  readonly #proxy: SimulatedProxy;
  #connection: Connection | null = null;
  #nextReportMs = Number.POSITIVE_INFINITY;
  /** Requests that have not come yet, below 1. */
  #coming = 0;
  /** The part of the rate at which requests come, and until when. */
  #burst = 1;
  #burstEndMs = 0;

  constructor(simulation: Simulation, proxy: SimulatedProxy, entries: SimulationSetup['entries']) {
    this.#simulation = simulation;
    this.#proxy = proxy;
    const order = simulation.random.next() < 0.5 ? entries : [...entries].reverse();
    this.bucket = new ModelBucket(order, proxy.kind, proxy.fallback);
  }

  /** The requests of a step arrive, and a report is sent if it is time. */
  step(stepMs: number, window: SimulatedWindow, number: number): void {
    if (!this.isAlive) return;
    const { random, clock } = this.#simulation;
    const nowMs = clock.nowMs();
    this.#coming += (this.#rateAt(nowMs) * stepMs) / 1_000;
    while (this.#coming > random.next() * 2) {
      this.#coming--;
      const { isAllowed, isAssigned } = this.bucket.request(nowMs);
      window.asked++;
      if (isAllowed) window.admitted++;
      if (isAllowed && isAssigned) window.assigned++;
      if (isAllowed) window.byProxy[number]++;
      if (this.#nextReportMs === Number.POSITIVE_INFINITY) this.#nextReportMs = nowMs;
    }
    if (nowMs < this.#nextReportMs) return;
    this.#nextReportMs = nowMs + this.#proxy.reportMs;
    this.#report();
  }

  #rateAt(nowMs: number): number {
    const { rate, isBursty = false } = this.#proxy;
    if (isBursty && nowMs >= this.#burstEndMs) {
      this.#burst = this.#simulation.random.pick([0, 0, 0.3, 1, 3]);
      this.#burstEndMs = nowMs + 500 + this.#simulation.random.below(6_000);
    }
    return rate * this.#burst;
  }

  /** The connection breaks if it is one to this instance. Messages that are on their way get lost. */
  lose(desk: QuotaDesk): void {
    if (this.#connection?.desk === desk) this.disconnect(false);
  }

  /** The stream ends. @param isNoticed whether the instance is told, which takes a while */
  disconnect(isNoticed: boolean): void {
    const connection = this.#connection;
    if (connection === null) return;
    connection.isOpen = false;
    this.#connection = null;
    if (isNoticed) this.#simulation.later(connection.up, () => connection.desk.close(connection.stream));
  }

  die(): void {
    this.isAlive = false;
    this.disconnect(true);
  }

  #report(): void {
    this.#connection ??= this.#connect();
    const connection = this.#connection;
    const { desk, stream, up } = connection;
    const message = usageReports('api', [this.bucket.take()]);
    this.#simulation.later(up, () => {
      if (connection.isOpen && !this.isDeaf) desk.report(stream, message);
    });
  }

  #connect(): Connection {
    const { random, desks, clock } = this.#simulation;
    const desk = random.pick(desks);
    const down = { lastMs: 0 };
    const stream = desk.open('', bytes => {
      if (this.#simulation.isBreaking && connection.isOpen) this.disconnect(random.next() < 0.7);
      const message = bytes.slice();
      this.#simulation.later(down, () => {
        if (!connection.isOpen || this.isDeaf) return;
        for (const action of readActions(message)) this.bucket.apply(action, clock.nowMs());
      });
    });
    const connection: Connection = { desk, stream, up: { lastMs: 0 }, isOpen: true };
    return connection;
  }
}

function emptyWindow(startMs: number, proxies: number): SimulatedWindow {
  return { startMs, asked: 0, admitted: 0, assigned: 0, byProxy: new Array(proxies).fill(0) };
}
