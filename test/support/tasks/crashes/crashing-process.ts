import { randomBytes } from 'node:crypto';
import { systemClock } from '../../../../src/base/clock.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { LocalDeliveries, urlRules } from '../../../../src/tasks/delivery/delivery-thread.ts';
import { systemResolve } from '../../../../src/tasks/delivery/host-addresses.ts';
import { DEFAULT_TENANT_LIMITS } from '../../../../src/tasks/model/documents.ts';
import { IdMaker } from '../../../../src/tasks/model/ids.ts';
import { Signals } from '../../../../src/tasks/model/signals.ts';
import { TaskStatistics } from '../../../../src/tasks/model/task-statistics.ts';
import type { ReadHeader } from '../../../../src/tasks/rest/http/http.ts';
import type { ApiLimits, RestParts } from '../../../../src/tasks/rest/http/parts.ts';
import { RestService } from '../../../../src/tasks/rest/rest-service.ts';
import { taskRoutes } from '../../../../src/tasks/rest/routes.ts';
import { UsedShares } from '../../../../src/tasks/rest/threads/thread-signals.ts';
import { ScheduleFirer } from '../../../../src/tasks/scheduler/schedules/schedule-firer.ts';
import type { EngineThread } from '../../../../src/tasks/scheduler/tasks-engine.ts';
import type { WorkerTester } from '../../../../src/tasks/scheduler/workers/worker-tests.ts';
import { parseMasterKey } from '../../../../src/tasks/sealing/master-key.ts';
import { Sealer } from '../../../../src/tasks/sealing/sealer.ts';
import { Directory } from '../../../../src/tasks/store/directory.ts';
import { UsageCounts } from '../../../../src/tasks/store/usage-counts.ts';
import { KeepingLogger } from '../../keeping-logger.ts';
import { LOOPBACK_SETUP } from '../../push-workers.ts';
import { EngineWithDesk } from '../engine-with-desk.ts';
import { Factory } from '../factories.ts';
import { NO_LIMITS } from '../no-limits.ts';
import { HARNESS_CONFIG } from '../rest-harness.ts';
import { CRASH_DOMAIN, type CrashNews, type CrashPlan } from './crash-plan.ts';
import { storeOfPlan } from './crash-store.ts';
import { dying } from './dying.ts';

/** How often it looks whether all is done. */
const LOOK_MS = 10;
/** The same in each run, as an operator would have it. */
const MASTER_KEY = parseMasterKey(Buffer.alloc(32, 1).toString('hex'), 'the test');

/** The task service in one process, without its ports: asked by this program, and killed where the plan says so. */
class CrashingProcess {
  readonly #plan: CrashPlan;
  readonly #parts: RestParts;
  readonly #rest: RestService;
  readonly #engine: EngineWithDesk;
  #token: string;

  constructor(plan: CrashPlan) {
    this.#plan = plan;
    this.#token = plan.token ?? '';
    const own = {
      store: storeOfPlan(plan.store),
      deliveries: new LocalDeliveries(LOOPBACK_SETUP, systemResolve, systemClock),
    };
    const { store, deliveries } = plan.point === null ? own : dying(own, plan.point);
    const statistics = new TaskStatistics(new StatsRegistry());
    const common = {
      store,
      directory: new Directory(store, systemClock),
      signals: new Signals(),
      sealer: new Sealer({ current: MASTER_KEY, older: [] }),
      clock: systemClock,
      random: Math.random,
      randomBytes,
      logger: new KeepingLogger(),
      statistics,
      limits: DEFAULT_TENANT_LIMITS,
    };
    const ids = new IdMaker(systemClock.nowMs, randomBytes);
    const parts: EngineThread = {
      ...common,
      usage: new UsageCounts(),
      deliveries,
      limitAsker: NO_LIMITS,
      firer: workerDue => new ScheduleFirer({ ...common, ids }, { count() {} }, workerDue),
      notReady: () => {},
      options: {
        node: `process-${process.pid}`,
        pushSlots: LOOPBACK_SETUP.capacity,
        drainMs: 5_000,
      },
    };
    this.#engine = new EngineWithDesk(parts, 10);
    const config = { ...HARNESS_CONFIG, urls: urlRules(LOOPBACK_SETUP) };
    const tester: WorkerTester = {
      test: async () => ({ kind: 'refused', reason: 'busy', retryAfterMs: 1_000 }),
    };
    const usedShares = new UsedShares(systemClock, common.signals);
    const apiLimits: ApiLimits = { ask: async () => ({ allowed: true, nearest: null }) };
    this.#parts = {
      ...common,
      pullDesk: this.#engine.pullDesk,
      tester,
      limitAsker: NO_LIMITS,
      apiLimits,
      identities: null,
      usedShares,
      ids,
      config,
    };
    this.#rest = new RestService({
      parts: this.#parts,
      limits: apiLimits,
      version: '1.2.3',
      routes: taskRoutes(this.#parts),
      onAnswer: () => {},
    });
  }

  async run(): Promise<void> {
    const { store } = this.#parts;
    await store.start();
    if (this.#plan.token === null) await this.#signUp();
    await this.#engine.start();
    if (this.#plan.work !== 'schedule') await this.#create();
    if (this.#plan.work === 'pull') await this.#pull();
    await this.#allEnded();
    await this.#engine.stop();
    await store.stop();
    say({ ended: true });
  }

  async #signUp(): Promise<void> {
    const account = await this.#ask('POST', '/', { domain: CRASH_DOMAIN }, { host: 'accounts.tasks.test' });
    this.#token = account.json.token;
    const retry = { max_attempts: 3, base: '100ms', factor: 1, jitter: 0 };
    const { url, work } = this.#plan;
    const mode = work === 'pull' ? {} : { url, timeout: '1s' };
    const worker = await this.#ask('POST', '/api/v1/workers', { name: 'worker', ...mode, retry });
    if (worker.status !== 201) throw new Error(`no worker: ${JSON.stringify(worker.json)}`);
    if (work === 'schedule') await this.#schedule(worker.json.id);
    say({ token: this.#token });
  }

  /** One that is due now, and then not for a long time. */
  async #schedule(workerId: string): Promise<void> {
    const make = new Factory(systemClock, process.pid);
    const schedule = { nextAt: systemClock.nowMs() - 1_000, everyMs: 365 * 86_400_000 };
    await this.#parts.store.apply(CRASH_DOMAIN, [
      make.schedule({ id: workerId, body: { name: 'worker' } }, schedule),
    ]);
  }

  async #create(): Promise<void> {
    const asked = { headers: { 'idempotency-key': 'once' } };
    const { status, json, headers } = await this.#ask('POST', '/api/v1/tasks', { worker: 'worker' }, asked);
    say({ created: { status, id: json.id, replayed: headers['Idempotency-Replayed'] === 'true' } });
  }

  async #pull(): Promise<void> {
    const { json } = await this.#ask('POST', '/api/v1/workers/worker/leases', { wait: '30s' });
    const leaseId = json.leases[0].lease_id;
    say({ lease: leaseId });
    // The first of the two runs has the lease until it is killed from outside.
    if (this.#plan.point !== null) await new Promise(() => {});
    const complete = (lease: string) => this.#ask('POST', `/api/v1/leases/${lease}/complete`, {});
    const { oldLease } = this.#plan;
    if (oldLease !== null) say({ oldLease: (await complete(oldLease)).status });
    await complete(leaseId);
  }

  async #allEnded(): Promise<void> {
    const { store } = this.#parts;
    for (;;) {
      const { scheduled, running, retry, succeeded } = await store.counts(CRASH_DOMAIN, null);
      if (scheduled + running + retry === 0 && succeeded > 0) return;
      await new Promise(resolve => setTimeout(resolve, LOOK_MS));
    }
  }

  async #ask(
    method: string,
    path: string,
    body: object,
    { host = `${CRASH_DOMAIN}.tasks.test`, headers = {} as Partial<Record<ReadHeader, string>> } = {},
  ) {
    const answer = await this.#rest.handle({
      method,
      host,
      path,
      query: '',
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json', ...headers },
      remoteAddress: '127.0.0.1',
      body: Buffer.from(JSON.stringify(body)),
      gone: new AbortController().signal,
    });
    return { ...answer, json: JSON.parse(answer.body) };
  }
}

function say(news: CrashNews): void {
  process.stdout.write(`${JSON.stringify(news)}\n`);
}

// Timers of the service do not keep a process alive.
const alive = setInterval(() => {}, 60_000);
await new CrashingProcess(JSON.parse(process.argv[2])).run();
clearInterval(alive);
