import type { Test } from 'tap';
import t from 'tap';
import { DecidedStartLimits } from '../../../../../src/app/start-limits.ts';
import { StartRefunds } from '../../../../../src/app/start-refunds.ts';
import {
  type LimitAsker,
  type LimitQuestion,
  StartLimits,
} from '../../../../../src/tasks/scheduler/attempts/start-limits.ts';
import type { LeaseRequest } from '../../../../../src/tasks/scheduler/pull/pull-line.ts';
import { Decisions, request } from '../../../../support/decisions.ts';
import { KeepingLogger } from '../../../../support/keeping-logger.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { sharedStoreKind } from '../../../../support/stores.ts';
import { ACME, EngineScene, NOON, OK, type Process } from '../../../../support/tasks/engine-scene.ts';
import { PULLER } from '../../../../support/tasks/factories.ts';

// Starts of tasks and calls of a proxy that count for one limit, decided by the real engine.

const LIMIT = { domain: 'edge', descriptor: [{ key: 'upstream', value: 'billing' }] };

function rules(unit: string, count: number): string {
  return `
domain: edge
descriptors:
  - key: upstream
    value: billing
    rate_limit: { unit: ${unit}, requests_per_unit: ${count} }
`;
}

/** Two clocks that show the same time: that of the tasks and that of the decisions. */
class Budget {
  readonly scene: EngineScene;
  readonly decisions: Decisions;
  readonly limitAsker: LimitAsker;
  /** How many tasks each question was about. */
  readonly asked: number[] = [];
  givenBack = 0;

  constructor(scene: EngineScene, decisions: Decisions) {
    this.scene = scene;
    this.decisions = decisions;
    const domains = { ofTenants: [], shared: ['edge'] };
    const refunds = new StartRefunds(() => decisions.rules);
    const decided = new DecidedStartLimits(decisions.batcher, domains, refunds, decisions.clock);
    this.limitAsker = {
      ask: (question: LimitQuestion) => {
        this.asked.push(question.tasks);
        return decided.ask(question);
      },
      giveBack: unused => {
        this.givenBack += unused.tasks;
        decided.giveBack(unused);
      },
    };
  }

  static async open(t: Test, unit: string, count: number): Promise<Budget> {
    const store = await sharedStoreKind.open(t);
    const decisions = new Decisions({ store, rules: rules(unit, count), nowMs: NOON });
    return new Budget(await EngineScene.open(), decisions);
  }

  process(t: Test): Promise<Process> {
    const { limitAsker } = this;
    return this.scene.process(t, { limitAsker });
  }

  /** Lets time pass for both. */
  async pass(ms: number, stepMs = 5): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.decisions.clock.advance(Math.min(left, stepMs));
      await this.scene.pass(Math.min(left, stepMs), stepMs);
    }
    await this.settle();
  }

  /** Lets everything happen that needs no time. The embedded store answers within some turns. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 60; turn++) await this.scene.turn();
  }

  /** Calls that a proxy asks about; how many are allowed. */
  async proxied(count: number): Promise<number> {
    const ask = () => this.decisions.ask(request('edge', 'upstream=billing'));
    const answers = await Promise.all(Array.from({ length: count }, ask));
    return answers.filter(({ overallCode }) => overallCode === 1).length;
  }
}

t.test('starts and calls of a proxy are together no more than the limit, in each window', async t => {
  const budget = await Budget.open(t, 'minute', 20);
  const process = await budget.process(t);
  process.deliveries.reply = () => OK;
  const worker = await budget.scene.worker({ limit: LIMIT, concurrency: 100 });
  t.equal(await budget.proxied(4), 4);
  const ids = await budget.scene.add(worker, 50, {}, { heardBy: process });
  await budget.pass(100);
  t.equal(process.deliveries.requests.length, 16, 'what the proxy left');
  t.equal(await budget.proxied(3), 0);
  const waiting = await budget.scene.get(ids[49]);
  t.match(waiting, { status: 'scheduled', attempt: 0, deferrals: 0 }, 'waiting is no attempt');
  t.same(await budget.scene.events(ids[49]), ['created']);

  const { length: asked } = budget.asked;
  await budget.scene.add(worker, 5, {}, { heardBy: process });
  await budget.pass(59_000, 100);
  t.equal(process.deliveries.requests.length, 16);
  t.equal(budget.asked.length, asked, 'nothing is asked before the window ends');
  await budget.pass(1_000);
  t.equal(process.deliveries.requests.length, 36, 'the next window is for tasks alone');
  t.equal(await budget.proxied(1), 0);
  await budget.pass(60_000, 100);
  t.equal(process.deliveries.requests.length, 55, 'all have started');
  await budget.pass(5_000, 100);
  t.equal(await budget.proxied(10), 1, 'what was counted is what has started');
});

t.test('the number of tasks that is asked about grows while there are more', async t => {
  const budget = await Budget.open(t, 'hour', 1_000);
  const process = await budget.process(t);
  const worker = await budget.scene.worker({ limit: LIMIT, concurrency: 100 });
  await budget.scene.add(worker, 20, {}, { heardBy: process });
  await budget.pass(100);
  t.same(budget.asked, [1, 2, 4, 8, 16]);
  t.equal(process.deliveries.requests.length, 20);
  t.equal(budget.givenBack, 11);
  t.equal(await budget.proxied(1_000), 980, 'one hit for each start');
  t.same(budget.asked.length, 5);
});

t.test('a worker without due tasks, or without room for one, asks for nothing', async t => {
  const budget = await Budget.open(t, 'hour', 1_000);
  const process = await budget.process(t);
  const worker = await budget.scene.worker({ limit: LIMIT, concurrency: 1 });
  await budget.scene.add(worker, 1, { runAt: NOON + 10_000 }, { heardBy: process });
  await budget.scene.change(worker, { pauseReason: null }, process);
  await budget.pass(9_000, 100);
  t.same(budget.asked, []);
  await budget.pass(1_200);
  t.same(budget.asked, [1]);
  await budget.scene.add(worker, 5, {}, { heardBy: process });
  await budget.pass(5_000, 50);
  t.equal(process.deliveries.requests.length, 1);
  t.same(budget.asked, [1], 'nothing is asked while the worker is at its concurrency');
  t.equal(await budget.proxied(1_000), 999);
});

t.test('in windows of a second, too, a worker at its concurrency spends one hit for each start', async t => {
  const budget = await Budget.open(t, 'second', 10);
  const process = await budget.process(t);
  process.deliveries.reply = () => OK;
  const worker = await budget.scene.worker({ limit: LIMIT, concurrency: 1 });
  await budget.scene.add(worker, 6, {}, { heardBy: process });
  await budget.pass(900);
  t.equal(process.deliveries.requests.length, 6);
  t.equal(await budget.proxied(10), 4);
});

t.test('what a claim that failed did not start is given back', async t => {
  const budget = await Budget.open(t, 'hour', 10);
  const process = await budget.process(t);
  const worker = await budget.scene.worker({ limit: LIMIT });
  let claims = 0;
  budget.scene.store.fault = operation => (operation === 'claim' && ++claims === 2 ? 'before' : 'none');
  await budget.scene.add(worker, 1, {}, { heardBy: process });
  await budget.pass(5_000, 50);
  t.equal(process.deliveries.requests.length, 1);
  t.ok(claims > 2);
  t.equal(await budget.proxied(10), 9);
});

t.test('without a decision tasks wait, and are tried again each second', async t => {
  const budget = await Budget.open(t, 'minute', 20);
  let isAway = true;
  const { limitAsker } = budget;
  const process = await budget.scene.process(t, {
    limitAsker: {
      ask: question => (isAway ? Promise.reject(new Error('no store')) : limitAsker.ask(question)),
      giveBack: () => {},
    },
  });
  const limited = await budget.scene.worker({ limit: LIMIT });
  const free = await budget.scene.worker({ name: 'free' });
  const [id] = await budget.scene.add(limited, 1, {}, { heardBy: process });
  await budget.scene.add(free, 1, {}, { heardBy: process });
  await budget.pass(3_500, 50);
  t.equal(process.deliveries.requests.length, 1, 'only that of the other worker');
  t.match(await budget.scene.get(id), { status: 'scheduled', attempt: 0 });
  const warnings = process.logger.lines.filter(({ message }) => message.startsWith('Tasks wait'));
  t.match(warnings, [{ level: 'warning', fields: { tenant: ACME, worker: limited.id, reason: 'no store' } }]);
  isAway = false;
  await budget.pass(1_050, 50);
  t.same(process.deliveries.running.includes(id), true);
});

t.test('a question without an answer holds up nobody else', async t => {
  const budget = await Budget.open(t, 'minute', 20);
  const process = await budget.scene.process(t, {
    limitAsker: { ask: () => new Promise(() => {}), giveBack: () => {} },
  });
  for (let worker = 0; worker < 40; worker++) {
    const limited = await budget.scene.worker({ name: `limited-${worker}`, limit: LIMIT });
    await budget.scene.add(limited, 2, {}, { heardBy: process });
  }
  await budget.settle();
  const free = await budget.scene.worker({ name: 'free' });
  const [id] = await budget.scene.add(free, 1, {}, { heardBy: process });
  await budget.settle();
  t.same(process.deliveries.running, [id]);
});

t.test('a worker whose limit is taken away starts its tasks at once', async t => {
  const budget = await Budget.open(t, 'hour', 1);
  const process = await budget.process(t);
  const worker = await budget.scene.worker({ limit: LIMIT });
  await budget.scene.add(worker, 4, {}, { heardBy: process });
  await budget.pass(100);
  t.equal(process.deliveries.requests.length, 1);
  await budget.scene.change(worker, { limit: null }, process);
  await budget.pass(100);
  t.equal(process.deliveries.requests.length, 4);
});

t.test('a raised limit is noticed as soon as the limits have changed', async t => {
  const budget = await Budget.open(t, 'day', 1);
  const process = await budget.process(t);
  const worker = await budget.scene.worker({ limit: LIMIT });
  await budget.scene.add(worker, 4, {}, { heardBy: process });
  await budget.pass(100);
  t.equal(process.deliveries.requests.length, 1);
  const pullWorker = await budget.scene.worker({ name: 'puller', mode: 'pull', url: null, limit: LIMIT });
  await budget.scene.add(pullWorker, 1);
  const leased = lease(process, pullWorker.id, { waitMs: 10_000 });
  await budget.pass(2_000, 100);
  budget.decisions.load(rules('day', 100));
  process.signals.tell('limitsChanged');
  await budget.pass(1_000, 100);
  t.equal(process.deliveries.requests.length, 4);
  t.equal(await leased, 1, 'at the next look of the call');
});

t.test('after a change of limits, at most a thousand workers ask in a second', async t => {
  const clock = new ManualClock(NOON);
  const window = { leftMs: 60_000, refundableUntilMs: 0 };
  const verdict = { granted: 0, isUsedUp: true, remaining: 0, window };
  const asker = { ask: async () => verdict, giveBack: () => {} };
  const limits = new StartLimits({ clock, logger: new KeepingLogger() }, asker);
  for (let n = 0; n < 3_000; n++) await limits.ask({ tenant: ACME, workerId: `wrk_${n}`, limit: LIMIT }, 1);
  const { length } = limits.limitsChanged().filter(({ workerId }) => limits.waitMs(ACME, workerId) < 1_000);
  t.equal(length, 1_000);
  clock.advance(1_000);
  const waiting = limits.limitsChanged().map(({ workerId }) => limits.waitMs(ACME, workerId));
  t.ok(Math.max(...waiting) < 2_000, 'a further change makes nobody wait longer');
});

t.test('a limit of a pull worker that another process has changed is noticed within two seconds', async t => {
  const budget = await Budget.open(t, 'day', 1);
  const process = await budget.process(t);
  const worker = await budget.scene.worker({ mode: 'pull', url: null, limit: LIMIT });
  await budget.scene.add(worker, 3);
  t.equal(await lease(process, worker.id), 1);
  const waiting = lease(process, worker.id, { waitMs: 10_000 });
  await budget.pass(1_000, 100);
  const limit = { domain: 'edge', descriptor: [{ key: 'upstream', value: 'other' }] };
  await budget.scene.change(worker, { limit });
  await budget.pass(2_000, 100);
  t.equal(await waiting, 1);
});

t.test('an unchanged limit is asked about again within a minute', async t => {
  const budget = await Budget.open(t, 'day', 1);
  const process = await budget.process(t);
  const worker = await budget.scene.worker({ limit: LIMIT });
  await budget.scene.add(worker, 2, {}, { heardBy: process });
  await budget.pass(100);
  const { length: asked } = budget.asked;
  await budget.pass(58_000, 500);
  t.equal(budget.asked.length, asked);
  await budget.pass(3_000, 100);
  t.equal(budget.asked.length, asked + 1);
});

t.test('two processes share the limit', async t => {
  const budget = await Budget.open(t, 'minute', 15);
  const processes = [await budget.process(t), await budget.process(t)];
  const started = () => processes.reduce((sum, { deliveries }) => sum + deliveries.requests.length, 0);
  for (const [at, process] of processes.entries()) {
    const worker = await budget.scene.worker({ name: `mailer-${at}`, limit: LIMIT, concurrency: 50 });
    await budget.scene.add(worker, 20, {}, { heardBy: process });
  }
  await budget.pass(1_500, 50);
  t.equal(started(), 15);
  await budget.pass(58_500, 100);
  await budget.pass(1_000, 50);
  t.equal(started(), 30);
});

/** Asks for leases as a pull worker does. */
async function lease(process: Process, workerId: string, rest: Partial<LeaseRequest> = {}): Promise<number> {
  const tasks = await process.engine.pullDesk.lease({
    ...{ tenant: ACME, workerId, max: 10, waitMs: 0, leaseMs: null, actor: PULLER },
    ...{ gone: new AbortController().signal, allowed: async () => {}, ...rest },
  });
  return tasks.length;
}

t.test('leases of pull workers count as well', async t => {
  const budget = await Budget.open(t, 'minute', 10);
  const process = await budget.process(t);
  const puller = await budget.scene.worker({ mode: 'pull', url: null, limit: LIMIT });
  t.equal(await lease(process, puller.id), 0);
  t.same(budget.asked, [], 'nothing is due');
  await budget.scene.add(puller, 30, {}, { heardBy: process });
  t.equal(await budget.proxied(2), 2);
  let leased = 0;
  for (let call = 0; call < 10; call++) leased += await lease(process, puller.id);
  t.equal(leased, 8);
  t.equal(await budget.proxied(1), 0);
  const waiting = lease(process, puller.id, { waitMs: 30_000, max: 1 });
  const others = lease(process, puller.id, { waitMs: 30_000, max: 10 });
  await budget.pass(30_500, 100);
  t.same([await waiting, await others], [0, 0]);
  const { length: asked } = budget.asked;
  const last = lease(process, puller.id, { waitMs: 30_000, max: 1 });
  await budget.pass(29_300, 100);
  t.equal(budget.asked.length, asked, 'a call that waits does not ask before the window ends');
  await budget.pass(1_500, 100);
  t.equal(await last, 1, 'in the next window');
});
