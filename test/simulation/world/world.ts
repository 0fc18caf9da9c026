import { SteadyClock } from '../../../src/tasks/store/sqlite/file/steady-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import type { Action, Ask, History, Step } from '../steps/step.ts';
import { Callers, type CallRequest } from './callers.ts';
import { HostClock } from './host-clock.ts';
import { Ledger } from './ledger.ts';
import { LimitService } from './limit-service.ts';
import { PullWorker } from './pull-worker.ts';
import { Receivers } from './receivers.ts';
import { OPERATOR_TOKEN, type ProcessWorld, SimulatedProcess } from './simulated-process.ts';
import { SimulatedTime } from './simulated-time.ts';
import { StoreUnderTest } from './store-under-test.ts';
import { Troubles } from './troubles.ts';

/** How long after a trouble things may still be slow because of it. */
const AFTERMATH_MS = 2_000;
const MOST_PAGES = 200;

/** Everything that takes part in a history: processes, the store, receivers, pull workers and callers. */
export class World {
  readonly history: History;
  readonly time: SimulatedTime;
  readonly troubles: Troubles;
  readonly store: StoreUnderTest;
  readonly receivers: Receivers;
  readonly limits: LimitService;
  readonly callers: Callers;
  readonly ledger = new Ledger();
  readonly pullWorkers: PullWorker[] = [];
  readonly processes: SimulatedProcess[] = [];
  /** All that ever ran. */
  readonly lives: SimulatedProcess[] = [];
  readonly #storeHost: HostClock;
  readonly #storeClock: SteadyClock;
  readonly #shared: ProcessWorld;
  /** Steps and other callers that are not done. */
  #busy = 0;
  #isKind = false;

  constructor(history: History) {
    this.history = history;
    const { seed, slots, delayMs } = history;
    const time = new SimulatedTime(Date.parse(history.start));
    this.time = time;
    this.troubles = new Troubles(() => time.nowMs());
    this.#storeHost = new HostClock(time, () => true);
    this.#storeClock = new SteadyClock(
      () => this.#storeHost.nowMs(),
      () => time.nowMs(),
    );
    this.store = new StoreUnderTest(history.store, {
      nowMs: () => this.#storeClock.nowMs(),
      after: (ms, run) => time.after(ms, run),
    });
    const { troubles, store } = this;
    const random = new SeededRandom(seed + 1);
    this.receivers = new Receivers({ time, troubles, random, delayMs, storeMs: () => this.storeMs() });
    this.limits = new LimitService(time, delayMs);
    const { limits, receivers } = this;
    this.#shared = { time, troubles, store, seed, slots, delayMs, limits, receivers };
    this.callers = new Callers({ seed, time, troubles, delayMs, processes: () => this.processes });
    for (let number = 0; number < history.processes; number++) this.#begin(number);
  }

  /** The clock of the store. */
  storeMs(): number {
    return this.#storeClock.nowMs();
  }

  /** By how much the clock of the store was set forward in the last `ms`. */
  storeJumpedWithin(ms: number): number {
    return this.#storeHost.jumpedWithin(ms);
  }

  /** Whether all calls of steps have their answers, and nothing is on its way that was sent before. */
  get isIdle(): boolean {
    return this.#busy === 0 && this.troubles.underway === 0 && !this.callers.areBusy;
  }

  /** Plans all steps. */
  plan(): void {
    const { steps, start } = this.history;
    for (const [number, step] of steps.entries()) {
      this.time.at(Date.parse(start) + step.at, () => this.#take(step, number));
    }
  }

  /** From now on nothing goes wrong, and processes that are down come back. */
  becomeKind(): void {
    this.troubles.note('end of troubles', AFTERMATH_MS);
    this.troubles.end();
    this.#isKind = true;
    for (const [number, process] of this.processes.entries()) if (!process.isServing) this.#again(number);
  }

  #begin(number: number): void {
    const life = this.lives.filter(other => other.number === number).length;
    const process = new SimulatedProcess(this.#shared, number, life);
    this.processes[number] = process;
    this.lives.push(process);
    // A fault of the store lets a process die at any of its calls.
    process.onDeath(() => {
      this.troubles.note('crash', AFTERMATH_MS);
      this.time.after(2_000, () => this.#again(number));
    });
    void process.start();
  }

  #again(number: number): void {
    if (!this.processes[number].isServing) {
      this.processes[number].die();
      this.#begin(number);
    }
  }

  #take(step: Step, number: number): void {
    const { troubles } = this;
    if (this.#isKind && step.do !== 'ask') return;
    switch (step.do) {
      case 'ask':
        this.#during(this.#ask(step, number));
        break;
      case 'operator':
        this.#during(this.#operate(step, number));
        break;
      case 'pages':
        this.#during(this.#readPages(step, number));
        break;
      case 'pull':
        this.pull(step.tenant, step.worker, step.max, number, step.as);
        break;
      case 'again':
        this.#during(this.#askAgain(step.label, step.at * 41 + number));
        break;
      case 'signals':
        troubles.loseSignals(step.process, step.ms);
        break;
      case 'crash':
        this.#crash(step);
        break;
      case 'restart':
        this.#restart(step);
        break;
      case 'fault':
        troubles.plan(step);
        break;
      case 'outage':
        troubles.begin({ ...step, ms: step.ms });
        break;
      case 'clock':
        troubles.note(step.process === null ? 'clock of the store' : 'clock of a process', AFTERMATH_MS);
        if (step.process === null) this.#storeHost.jump(step.byMs);
        else this.processes[step.process]?.clock.jump(step.byMs);
        break;
      case 'network':
        troubles.loseMessages(step.percent, step.ms);
        break;
      case 'receiver':
        troubles.disturb(step);
        break;
    }
  }

  #during(done: Promise<void>): void {
    this.#busy++;
    void done.finally(() => this.#busy--);
  }

  async #ask(step: Step & Ask, number: number): Promise<void> {
    const resolved = this.ledger.resolved(step.path);
    if (resolved === null) return;
    // Who never got a token asks nothing.
    if (step.as !== undefined && this.ledger.tokenOf(step.tenant, step.as) === null) return;
    const idempotencyKey = step.method === 'POST' ? `step-${step.at}-${number}` : undefined;
    const askedMs = this.time.nowMs();
    const answer = await this.#call(step, resolved.path, idempotencyKey, step.at * 31 + number);
    const answeredMs = this.time.nowMs();
    const { taskId } = resolved;
    this.ledger.answered({ step, taskId, answer, idempotencyKey, askedMs, answeredMs });
  }

  #call({ tenant, method, body, as }: Ask, path: string, idempotencyKey: string | undefined, salt: number) {
    const request = {
      ...{ method, body, idempotencyKey },
      host: `${tenant}.tasks.test`,
      target: `/api/v1/${path}`,
      token: this.ledger.tokenOf(tenant, as),
    };
    return this.callers.ask(request, salt);
  }

  async #askAgain(label: string, salt: number): Promise<void> {
    const { ledger, time } = this;
    const first = ledger.calls.find(({ step }) => step.labels?.includes(label));
    const path = first === undefined ? undefined : ledger.resolved(first.step.path)?.path;
    if (first === undefined || path === undefined || first.answer === null || first.answer.status >= 300)
      return;
    const answer = await this.#call(first.step, path, first.idempotencyKey, salt);
    ledger.repeats.push({ first, answer, answeredMs: time.nowMs() });
  }

  async #operate(step: Extract<Action, { do: 'operator' }> & Step, number: number): Promise<void> {
    const { tenant, method, body } = step;
    const { ledger } = this;
    const ask = (request: Pick<CallRequest, 'method' | 'target' | 'body'>) =>
      this.callers.ask(
        { ...request, host: 'accounts.tasks.test', token: OPERATOR_TOKEN },
        step.at * 31 + number,
      );
    if (method !== 'POST') {
      await ask({ method, target: `/accounts/${tenant}`, body });
      return;
    }
    const made = await ask({ method, target: '/', body: { domain: tenant } });
    let token = made?.json?.token;
    // The answer to the first request was lost.
    if (made !== null && typeof token !== 'string') {
      token = (await ask({ method, target: `/accounts/${tenant}/owner-token` }))?.json?.token;
    }
    if (typeof token === 'string') ledger.tokens.set(tenant, token);
    if (body !== undefined) await ask({ method: 'PATCH', target: `/accounts/${tenant}`, body });
  }

  async #readPages(
    { tenant, query, at }: Extract<Action, { do: 'pages' }> & Step,
    number: number,
  ): Promise<void> {
    const ids: string[] = [];
    const from = this.storeMs();
    let cursor = '';
    for (let page = 0; page < MOST_PAGES; page++) {
      const answer = await this.callers.ask(
        {
          method: 'GET',
          host: `${tenant}.tasks.test`,
          target: `/api/v1/tasks?${query}${cursor}`,
          token: this.ledger.tokens.get(tenant) ?? null,
        },
        at * 37 + number + page,
      );
      if (answer?.status !== 200) return;
      ids.push(...answer.json.data.map((task: { id: string }) => task.id));
      if (answer.json.next_cursor === null) {
        const statuses = new URLSearchParams(query).get('status')?.split(',') ?? null;
        this.ledger.lists.push({ tenant, statuses, ids, from, until: this.storeMs() });
        return;
      }
      cursor = `&cursor=${answer.json.next_cursor}`;
    }
  }

  /** Somebody begins to take tasks of a pull worker. */
  pull(
    tenant: string,
    worker: string,
    max: number,
    salt = this.pullWorkers.length + 1_000,
    person?: string,
  ): void {
    const { callers, time } = this;
    const token = () => this.ledger.tokenOf(tenant, person);
    const puller = new PullWorker({ callers, time, tenant, worker, max, token, salt, person });
    this.pullWorkers.push(puller);
    void puller.run();
  }

  #crash({ process: number, downMs }: Extract<Action, { do: 'crash' }>): void {
    const process = this.processes[number];
    if (process === undefined || !process.isAlive) return;
    process.onDeath(() => {});
    process.die();
    this.troubles.note('crash', downMs + AFTERMATH_MS);
    this.time.after(downMs, () => this.#again(number));
  }

  #restart({ process: number, downMs }: Extract<Action, { do: 'restart' }>): void {
    const process = this.processes[number];
    if (process === undefined || !process.isServing) return;
    this.troubles.note('restart', downMs + AFTERMATH_MS);
    void process.stop().then(() => this.time.after(downMs, () => this.#again(number)));
  }
}
