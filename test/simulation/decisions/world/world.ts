import { CounterTable } from '../../../../src/counters/embedded/counter-table.ts';
import { RefundMarks } from '../../../../src/counters/refund-marks.ts';
import type { CounterStore } from '../../../../src/counters/store.ts';
import { RulesPublisher } from '../../../../src/decision/generations/rules-publisher.ts';
import { RulesSubscriber } from '../../../../src/decision/generations/rules-subscriber.ts';
import { RuleGeneration, RuleStatistics } from '../../../../src/decision/statistics/rule-statistics.ts';
import { LEASE_ACTIONS } from '../../../../src/messages/lease-message.ts';
import type { SteeringRecord } from '../../../../src/steering/record.ts';
import { SharedRecords } from '../../../../src/steering/shared-records.ts';
import type { EntryText } from '../../../exam/decisions/rule-file.ts';
import { descriptor } from '../../../support/decisions.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { record } from '../../../support/steering.ts';
import { HostClock } from '../../world/host-clock.ts';
import { SimulatedTime } from '../../world/simulated-time.ts';
import type { Action, Ask, History, Step } from '../steps/step.ts';
import { Instance } from './instance.ts';
import { type LoadedRules, loadedRules } from './loaded-rules.ts';
import { ModelServer } from './model-server.ts';
import type { Call, RoundWatcher } from './round.ts';
import { type SentBatch, StoreLink } from './store-link.ts';
import { StoreTroubles } from './store-troubles.ts';
import { WatchedStore } from './watched-store.ts';

const MAX_KEYS = 4_096;
/** How long a process takes at most to hear of a refund. */
export const NOTICE_MS = 500;

/** How long an instance is down that has died at a call of the store. */
const RESTART_MS = 2_000;

/** Everything that takes part in a history: instances, the store, and callers. */
export class World {
  readonly history: History;
  readonly time: SimulatedTime;
  readonly troubles: StoreTroubles;
  readonly calls: Call[] = [];
  readonly instances: Instance[] = [];
  /** All that ever ran. */
  readonly lives: Instance[] = [];
  readonly #watcher: RoundWatcher;
  readonly #random: SeededRandom;
  readonly #storeClock: HostClock;
  readonly #server = new ModelServer();
  /** Of the threads of the process. */
  readonly #table: CounterTable | null;
  readonly #publisher = new RulesPublisher();
  readonly #marks = new RefundMarks();
  readonly #statistics = new RuleStatistics();
  /** The records of operators; null if the history has none. */
  readonly #shared: SharedRecords | null;
  #records: readonly SteeringRecord[] = [];
  /** The rules of each process; of threads, those of the first one. */
  readonly #rules: LoadedRules[];

  constructor(history: History, watcher: RoundWatcher) {
    this.history = history;
    this.#watcher = watcher;
    const time = new SimulatedTime(Date.parse(history.start), endOfTurn);
    this.time = time;
    this.troubles = new StoreTroubles(() => time.nowMs());
    this.#random = new SeededRandom(history.seed + 1);
    this.#storeClock = new HostClock(time, () => true);
    this.#table = this.#isOfThreads ? CounterTable.create(MAX_KEYS) : null;
    this.#shared = history.steps.some(step => step.do === 'steer') ? new SharedRecords() : null;
    const rules = loadedRules(history.rules);
    this.#rules = Array.from({ length: history.instances }, () => rules);
    for (let number = 0; number < history.instances; number++) this.#begin(number);
    if (this.#isOfThreads) this.#publish(rules);
  }

  get #isOfThreads(): boolean {
    return this.history.store === 'threads';
  }

  /** Plans all steps. Those of one moment are one event, so that its requests are decided together. */
  plan(): void {
    const moments = Map.groupBy(this.history.steps, ({ at }) => at);
    for (const [at, steps] of moments) {
      this.time.at(Date.parse(this.history.start) + at, () => {
        for (const step of steps) this.#take(step);
      });
    }
  }

  /** To be called at the end: the ports of threads keep nothing alive, but take memory. */
  close(): void {
    for (const place of this.lives.keys()) this.#publisher.detach(place);
  }

  #begin(number: number): void {
    const life = this.lives.filter(other => other.number === number).length;
    const isThread = this.#isOfThreads;
    const isPrimary = isThread && number === 0;
    let instance: Instance | null = null;
    const place = this.lives.length;
    const isAlive = () => instance?.isAlive ?? true;
    const clock =
      isThread && place > 0
        ? this.lives[0].clock
        : new HostClock(this.time, isAlive, this.history.aheadMs[number] ?? 0);
    instance = new Instance({
      ...{ history: this.history, time: this.time, watcher: this.#watcher, number, clock },
      name: `${isThread ? 'thread' : 'process'}-${number}-${life}`,
      marks: isThread ? this.#marks : new RefundMarks(),
      statistics: isThread ? this.#statistics : null,
      published: isThread && !isPrimary ? new RulesSubscriber(this.#publisher.attach(place)) : null,
      openStore: each => (isThread ? this.#sharedStore(each) : this.#linkOf(each)),
      rules: () => this.#rules[isThread ? 0 : number].set,
      records: () => this.#records,
      steering: this.#shared?.buffer ?? null,
    });
    this.instances[number] = instance;
    this.lives.push(instance);
    if (!isThread) this.#useIn(instance, this.#rules[number]);
    // A fault of the store lets an instance die at any of its calls.
    instance.onDeath(() => this.#died(number, RESTART_MS));
  }

  #sharedStore(instance: Instance): CounterStore {
    return new WatchedStore(this.#table!, instance.planned, () => {
      const round = instance.current;
      if (round === null) return;
      round.store = 'answered';
      this.#watcher.counted(
        round,
        { nowMs: round.nowMs, leasesMs: round.nowMs, atMs: this.time.nowMs() },
        () => false,
      );
      if (instance.number > 0 && this.troubles.fateOf(instance.number).kind === 'dies_after') instance.die();
    });
  }

  #linkOf(instance: Instance): CounterStore {
    const { time, troubles, history } = this;
    const count = (sent: SentBatch) => this.#count(sent);
    return new StoreLink({ time, troubles, random: this.#random, delayMs: history.delayMs, count }, instance);
  }

  #count({ batch, holdsBack, round, isPartial }: SentBatch): void {
    const leasesMs = this.#storeClock.nowMs();
    const isUncountable = isPartial ? isUnlucky : () => false;
    // Probes count nothing.
    if (round === null) {
      batch.opAfters.fill(isPartial ? Number.NaN : 0, 0, batch.opCount);
      if (isPartial) batch.failureText = 'the key is refused';
      return;
    }
    this.#server.count(batch, { holdsBack, leasesMs }, isUncountable);
    this.#watcher.counted(round, { nowMs: round.nowMs, leasesMs, atMs: this.time.nowMs() }, isUncountable);
    const words: number[] = [];
    for (let op = 0; op < batch.opCount; op++) if (batch.opRefunds[op] === 1) words.push(batch.markWord(op));
    if (words.length > 0) for (const instance of this.instances) this.#notify(instance, words);
  }

  #notify(instance: Instance, words: readonly number[]): void {
    this.time.after(this.#random.below(NOTICE_MS), () => {
      for (const word of words) instance.marks.refunded(word);
    });
  }

  #useIn(instance: Instance, { compiled }: LoadedRules): void {
    const generation = new RuleGeneration(compiled);
    instance.statistics.publish(generation);
    instance.use(generation);
  }

  #publish({ compiled }: LoadedRules): void {
    const generation = new RuleGeneration(compiled);
    this.#statistics.publish(generation);
    this.instances[0].use(generation);
    this.#publisher.publish(generation);
  }

  #take(step: Step): void {
    const { troubles } = this;
    switch (step.do) {
      case 'ask':
        this.#ask(step);
        break;
      case 'rules':
        this.#load(step.rules, step.instance);
        break;
      case 'steer':
        this.#steer(step);
        break;
      case 'crash':
        this.#crash(step);
        break;
      case 'fault':
        troubles.plan(step);
        break;
      case 'outage':
        this.#lose(step);
        break;
      case 'clock':
        troubles.note(step.instance === null ? 'the clock of the store is set' : 'a clock is set');
        if (step.instance === null) this.#storeClock.jump(step.byMs);
        else this.instances[step.instance]?.clock.jump(step.byMs);
        break;
    }
  }

  #ask({ instance: number, descriptors, hits, isGone }: Ask): void {
    const instance = this.instances[number % this.instances.length];
    if (!instance.isAlive) return;
    const asked = descriptors.map(({ of, hits: own, isRefund, limit, lease }) =>
      descriptor(of, {
        ...(own !== undefined && { hitsAddend: own }),
        ...(isRefund && { isNegativeHits: true }),
        ...(limit !== undefined && { limit }),
        ...(lease !== undefined && { lease: { id: lease.id, action: LEASE_ACTIONS[lease.action] } }),
      }),
    );
    const call: Call = {
      instance: instance.name,
      request: { domain: 'd', descriptors: asked, hitsAddend: hits ?? 0 },
      isGone: isGone === true,
      askedMs: this.time.nowMs(),
      answers: [],
      isLost: false,
    };
    this.calls.push(call);
    instance.ask(call);
  }

  #load(entries: readonly EntryText[], only: number | null): void {
    this.troubles.note('rules are loaded');
    const rules = loadedRules(entries);
    for (const [number, instance] of this.instances.entries()) {
      if (only !== null && only !== number && !this.#isOfThreads) continue;
      this.#rules[number] = rules;
      if (!this.#isOfThreads && instance.isAlive) this.#useIn(instance, rules);
    }
    if (this.#isOfThreads) this.#publish(rules);
  }

  #steer({ records }: Extract<Action, { do: 'steer' }>): void {
    const nowS = Date.parse(this.history.start) / 1_000;
    this.#records = records.map(({ kind, of, requestsPerUnit, untilS }) =>
      record(kind, of, {
        ...{ nowS: Math.floor(nowS), seconds: untilS },
        ...(requestsPerUnit !== undefined && { requests_per_unit: requestsPerUnit }),
      }),
    );
    this.#shared!.publish(this.#records);
    this.troubles.note('an operator steers');
  }

  /** While its feed is away, an instance does not use its local cache. */
  #lose(outage: Extract<Action, { do: 'outage' }>): void {
    if (this.#isOfThreads) return;
    this.troubles.begin(outage);
    for (const instance of this.instances) {
      if (outage.instance !== null && outage.instance !== instance.number) continue;
      instance.marks.feedDown();
      this.time.after(outage.ms, () => instance.marks.feedUp());
    }
  }

  /** The primary thread ends with its process. */
  #crash({ instance: number, downMs }: Extract<Action, { do: 'crash' }>): void {
    const instance = this.instances[number];
    if (instance === undefined || !instance.isAlive || (this.#isOfThreads && number === 0)) return;
    instance.onDeath(() => {});
    instance.die();
    this.#died(number, downMs);
  }

  #died(number: number, downMs: number): void {
    this.troubles.note('an instance dies');
    this.time.after(downMs, () => this.#begin(number));
  }
}

/** Batches are decided when the sockets have been read, so each event is a whole turn of the event loop. */
function endOfTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}

/** Keys that a store refuses that has a fault of a part. */
function isUnlucky(key: string): boolean {
  return (key.charCodeAt(2) + key.length) % 2 === 0;
}
