import { StatsRegistry } from '../../../src/stats/registry.ts';
import { DEFAULT_TENANT_LIMITS } from '../../../src/tasks/model/documents.ts';
import { TaskStatistics } from '../../../src/tasks/model/task-statistics.ts';
import type { RestConfig, RestParts } from '../../../src/tasks/rest/http/parts.ts';
import { taskRoutes } from '../../../src/tasks/rest/routes.ts';
import { scheduleRoutes } from '../../../src/tasks/rest/schedules/schedules.ts';
import { usageRoutes } from '../../../src/tasks/rest/usage/usage.ts';
import type { LimitAsker } from '../../../src/tasks/scheduler/attempts/start-limits.ts';
import { StartLimits } from '../../../src/tasks/scheduler/attempts/start-limits.ts';
import { PullClaims } from '../../../src/tasks/scheduler/pull/pull-claims.ts';
import { PullDesk } from '../../../src/tasks/scheduler/pull/pull-desk.ts';
import { PullLeases } from '../../../src/tasks/scheduler/pull/pull-leases.ts';
import type {
  WorkerTest,
  WorkerTestAnswer,
  WorkerTester,
} from '../../../src/tasks/scheduler/workers/worker-tests.ts';
import { parseMasterKey } from '../../../src/tasks/sealing/master-key.ts';
import { Sealer } from '../../../src/tasks/sealing/sealer.ts';
import type { Settlement } from '../../../src/tasks/store/requests.ts';
import { type AnswerCheck, answerCheckOf } from './answer-check.ts';
import { Factory, settlement } from './factories.ts';
import { NO_LIMITS } from './no-limits.ts';
import { type Answered, type Asked, type ClockedStore, RestHarness } from './rest-harness.ts';

/** A signal that was told. */
export type Told = readonly [name: string, ...details: readonly unknown[]];

const MASTER_KEY = parseMasterKey(Buffer.alloc(32, 5).toString('hex'), 'the test');

/** The REST service with all its routes. Each answer is compared with what its route and the document declare. */
export class TaskHarness extends RestHarness {
  readonly told: Told[] = [];
  /** What tests of workers come to. */
  testAnswer: WorkerTestAnswer = { kind: 'refused', reason: 'rate', retryAfterMs: 1_000 };
  readonly tests: WorkerTest[] = [];
  /** Decides about limits of workers. */
  limitAsker: LimitAsker = NO_LIMITS;
  readonly factory: Factory;
  readonly sealer: Sealer;
  readonly #check: AnswerCheck;
  /** Of the owner of `acme`; empty before {@link open}. */
  token = '';

  constructor(config: Partial<RestConfig> = {}, over?: ClockedStore) {
    let desk: PullDesk | null = null;
    const sealer = new Sealer({ current: MASTER_KEY, older: [] });
    // The desk needs parts that are made with the service.
    const pullDesk = new Proxy({} as PullDesk, {
      get: (_, name) => {
        const member = desk?.[name as keyof PullDesk];
        return typeof member === 'function' ? member.bind(desk) : member;
      },
    });
    const tester: WorkerTester = {
      test: async test => {
        this.tests.push(test);
        return this.testAnswer;
      },
    };
    super({
      over,
      config,
      parts: { sealer, pullDesk, tester, limitAsker: { ask: question => this.limitAsker.ask(question) } },
      routes: (parts: RestParts) => [...taskRoutes(parts), ...scheduleRoutes(parts), ...usageRoutes(parts)],
    });
    this.sealer = sealer;
    this.factory = new Factory(this.clock, 7);
    this.#check = answerCheckOf(this.routes);
    const { directory, signals, clock, randomBytes } = this.parts;
    const statistics = new TaskStatistics(new StatsRegistry());
    const thread = {
      ...{ store: this.store, directory, signals, statistics, clock, randomBytes, logger: this.logger },
      limits: DEFAULT_TENANT_LIMITS,
      random: () => 0.5,
    };
    const claims = new PullClaims(thread, new StartLimits(thread, NO_LIMITS));
    const storeDesk = new PullDesk(thread, claims, new PullLeases(thread), 100);
    desk = storeDesk;
    // It begins to listen before its promise is there, and holds nothing that a test must close.
    void storeDesk.start();
    const keep =
      (name: string) =>
      (...details: unknown[]) =>
        this.told.push([name, ...details]);
    signals.listen({
      taskDue: keep('taskDue'),
      cancelRequested: keep('cancelRequested'),
      workerChanged: keep('workerChanged'),
      accountChanged: keep('accountChanged'),
    });
  }

  /** A service with the account `acme`, whose owner asks unless a test says who. */
  static async open(config: Partial<RestConfig> = {}): Promise<TaskHarness> {
    const rest = new TaskHarness(config);
    rest.token = (await rest.signUp()).token;
    return rest;
  }

  /** The same with the worker `mailer`, which is pushed to. */
  static async withMailer() {
    const rest = await TaskHarness.open();
    return { rest, worker: await rest.pushWorker() };
  }

  override async ask(method: string, target: string, asked: Asked = {}): Promise<Answered> {
    const token = 'token' in asked || asked.host !== undefined ? asked.token : this.token;
    const answer = await super.ask(method, target, { ...asked, token });
    this.#check.check(method, target.split('?')[0], answer);
    return answer;
  }

  /** What one of the paths below `/api/v1/` answers. */
  at(method: string, target: string, body?: unknown, asked: Asked = {}): Promise<Answered> {
    return this.ask(method, `/api/v1/${target}`, { ...asked, ...(body === undefined ? {} : { body }) });
  }

  /** The body of what is read at a path below `/api/v1/`. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects by comparing
  async read(target: string, asked: Asked = {}): Promise<any> {
    return (await this.at('GET', target, undefined, asked)).json;
  }

  /** The pages of a list from the first to the last; `between` is run after each. The target has a query. */
  async pages(
    target: string,
    asked: Asked = {},
    between: () => Promise<void> = async () => {},
    // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects by comparing
  ): Promise<any[]> {
    const pages = [];
    for (let cursor = ''; ; ) {
      const page = await this.read(`${target}${cursor}`, asked);
      if (page.data === undefined) throw new Error(`no page: ${JSON.stringify(page)}`);
      pages.push(page);
      await between();
      if (page.next_cursor === null) return pages;
      cursor = `&cursor=${page.next_cursor}`;
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects by comparing
  async made(target: string, body: unknown, asked: Asked = {}): Promise<any> {
    const answer = await this.at('POST', target, body, asked);
    if (answer.status !== 201) throw new Error(`not made: ${answer.status} ${answer.body}`);
    return answer.json;
  }

  /** A worker that is pushed to, `mailer` unless named otherwise. */
  pushWorker(fields: object = {}) {
    return this.made('workers', { name: 'mailer', url: 'https://mailer.example.com/tasks', ...fields });
  }

  /** A worker that pulls, `crawler` unless named otherwise. */
  pullWorker(fields: object = {}) {
    return this.made('workers', { name: 'crawler', ...fields });
  }

  task(fields: object = {}, asked: Asked = {}) {
    return this.made('tasks', { worker: 'mailer', ...fields }, asked);
  }

  /** Starts the due tasks of a worker as a dispatcher does. @returns their leases, by task */
  async start(workerId: string, max = 1): Promise<ReadonlyMap<string, string>> {
    const { tasks } = await this.store.claim('acme', this.factory.claimRequest(workerId, max));
    return new Map(tasks.map(({ task, leaseId }) => [task.id, leaseId]));
  }

  /** Ends an attempt. */
  async end(leaseId: string, event: Settlement['event'], rest: Partial<Settlement> = {}): Promise<void> {
    const [answer] = await this.store.settle('acme', [
      settlement(leaseId, event, { delayMs: 60_000, ...rest }),
    ]);
    if (answer.kind !== 'settled') throw new Error(`the lease was ${answer.kind}`);
  }

  /** Brings a new task to a status, and gives its id. */
  async taskIn(status: string, worker: { readonly id: string; readonly name: string }): Promise<string> {
    const { id } = await this.task({ worker: worker.name });
    if (status === 'paused') await this.at('POST', `tasks/${id}/pause`);
    if (status === 'canceled') await this.at('POST', `tasks/${id}/cancel`);
    if (!['running', 'retry', 'succeeded', 'failed'].includes(status)) return id;
    const leaseId = (await this.start(worker.id, 100)).get(id)!;
    if (status === 'retry')
      await this.end(leaseId, 'attempt_failed', { error: { code: 'x', message: 'broken' } });
    if (status === 'succeeded') await this.end(leaseId, 'succeeded', { result: '{"ok":true}' });
    if (status === 'failed') await this.end(leaseId, 'no_retry', { error: { code: 'x', message: 'broken' } });
    return id;
  }
}
