import t from 'tap';
import type { Callback } from '../../../../../src/tasks/model/documents.ts';
import type { FinalStatus, Task } from '../../../../../src/tasks/model/task.ts';
import { givenHeaders, keptHeaders, traceOf } from '../../../../../src/tasks/model/task-headers.ts';
import { openApiDocument } from '../../../../../src/tasks/rest/openapi/document.ts';
import type { PutDocument } from '../../../../../src/tasks/store/documents.ts';
import { SeededRandom } from '../../../../support/seeded-random.ts';
import { settlement, taskChange, taskQuery } from '../../../../support/tasks/factories.ts';
import { Firing, MINUTE, TENANT } from '../../../../support/tasks/firing.ts';
import { SchemasOfDocument } from '../../../../support/tasks/schemas-of-document.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(() => Told.begun());

const START = '2026-03-01T10:00:00Z';
const TRACE = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'a=1',
};
const DOCUMENTED = new SchemasOfDocument(openApiDocument([], '1'), {
  'date-time': /^\d{4}-\d\d-\d\dT[\d:.]+Z$/,
});
const EVENTS: readonly FinalStatus[] = ['succeeded', 'failed', 'canceled', 'expired'];

/** What the OpenAPI document says against the payload of a callback; null if it fits. */
function documentedFault(payload: string | null | undefined): string | null {
  return DOCUMENTED.faultAt(['components', 'schemas', 'CallbackPayload'], JSON.parse(payload ?? 'null'));
}

/** A tenant whose tasks end and whose worker `listener` is told. */
class Told {
  readonly firing: Firing;
  readonly listener: PutDocument<'worker'>;

  private constructor(firing: Firing, listener: PutDocument<'worker'>) {
    this.firing = firing;
    this.listener = listener;
  }

  static async begun(processes = 1): Promise<Told> {
    const firing = await Firing.begun(START, processes);
    const listener = firing.factory.worker({ name: 'listener', timeoutMs: 7_000, priority: 'high' });
    await firing.store.apply(TENANT, [listener]);
    return new Told(firing, listener);
  }

  /** A task that has failed, or was canceled. */
  async ended(task: Partial<Task> = {}): Promise<string> {
    const { factory, store, worker } = this.firing;
    const onFinish = { workerId: this.listener.id, events: EVENTS };
    const body = { payload: null, headers: keptHeaders({ x: 'y' }, { trace: TRACE }) };
    const made = factory.newTask(worker, { onFinish, ...task, runAt: 0, expiresAt: null }, { body });
    await store.create(TENANT, factory.createRequest([made]));
    const { tasks } = await store.claim(TENANT, factory.claimRequest(worker.id, 1));
    const error = { code: 'http_4xx', message: 'gone', httpStatus: 410 };
    await store.settle(TENANT, [settlement(tasks[0].leaseId, 'no_retry', { error })]);
    return made.task.id;
  }

  async callbacks(): Promise<readonly Task[]> {
    return this.firing.store.list(TENANT, taskQuery({ workerId: this.listener.id }));
  }

  /** The tasks that were told of, sorted. */
  async told(): Promise<string[]> {
    return (await this.callbacks()).map(({ createdBy }) => createdBy.id).sort();
  }

  async waiting(): Promise<number> {
    return this.firing.store.countDocuments(TENANT, 'callback');
  }

  /** Due callbacks of another tenant, which has the listener as well. */
  async dueElsewhere(tenant: string, count: number, workerId: string, openTasks: number): Promise<void> {
    const { factory, store, clock } = this.firing;
    await this.ended();
    const query = { kind: 'callback', after: null, limit: 1, order: 'asc' } as const;
    const [{ id, body }] = await store.listDocuments(TENANT, query);
    await store.apply(TENANT, [{ op: 'delete', kind: 'callback', id, expect: 'any' }]);
    const account = factory.account(tenant);
    await store.apply(tenant, [
      { ...account, body: { ...account.body, limits: { openTasks } } },
      this.listener,
      ...Array.from({ length: count }, () => {
        const put = { op: 'put', kind: 'callback', expect: 'absent', unique: [] } as const;
        return {
          ...put,
          id: factory.id('task'),
          parent: workerId,
          dueAt: clock.nowMs(),
          body: body as Callback,
        };
      }),
    ]);
  }

  async changeAccount(body: object): Promise<void> {
    const put = this.firing.factory.account(TENANT);
    await this.firing.store.apply(TENANT, [{ ...put, expect: 'any', body: { ...put.body, ...body } }]);
    this.firing.signals.tell('documentsChanged', TENANT);
  }
}

test('the worker gets a task of its own, which says what has ended', async (told, t) => {
  const { firing, listener } = told;
  const due: string[] = [];
  firing.signals.listen({ taskDue: (_tenant, workerId) => due.push(workerId) });
  const id = await told.ended({ type: 'mail', key: 'k', tags: ['a'] });
  await firing.pass(250);
  const [callback] = await told.callbacks();
  t.match(callback, {
    worker: 'listener',
    type: 'task.failed',
    status: 'scheduled',
    dueAt: firing.clock.nowMs(),
    timeoutMs: 7_000,
    priority: 'high',
    retry: listener.body.retry,
    createdBy: { type: 'task', id },
    onFinish: null,
  });
  t.ok(due.includes(listener.id), 'which is told of');
  const body = (await firing.store.getWhole(TENANT, callback.id))?.body;
  t.same([traceOf(body?.headers ?? {}), givenHeaders(body?.headers ?? {})], [TRACE, {}]);
  t.strictSame(JSON.parse(body?.payload ?? ''), {
    id,
    worker: firing.worker.body.name,
    worker_id: firing.worker.id,
    type: 'mail',
    key: 'k',
    tags: ['a'],
    status: 'failed',
    attempts: 1,
    error: { code: 'http_4xx', message: 'gone', http_status: 410, at: '2026-03-01T10:00:00.000Z' },
    finished_at: '2026-03-01T10:00:00.000Z',
    links: { task: `/api/v1/tasks/${id}`, history: `/api/v1/tasks/${id}/history` },
    result_omitted: false,
    result: null,
  });
  t.equal(documentedFault(body?.payload), null);
  await firing.store.change(TENANT, callback.id, taskChange('cancel'));
  await firing.pass(MINUTE, 1_000);
  t.equal((await told.callbacks()).length, 1, 'a callback has no callback');
  await firing.stop();
});

test('a callback contains the result unchanged, and no error', async (told, t) => {
  const { firing } = told;
  const { factory, store, worker } = firing;
  const onFinish = { workerId: told.listener.id, events: EVENTS };
  await store.create(TENANT, factory.createRequest([factory.newTask(worker, { onFinish })]));
  for (const [event, result] of [
    ['attempt_failed', null],
    ['succeeded', '{"big":12345678901234567890}'],
  ] as const) {
    const { tasks } = await store.claim(TENANT, factory.claimRequest(worker.id, 1));
    const error = event === 'succeeded' ? null : { code: 'timeout', message: 'slow' };
    await store.settle(TENANT, [settlement(tasks[0].leaseId, event, { result, error })]);
  }
  await firing.pass(250);
  const [callback] = await told.callbacks();
  const payload = (await store.getWhole(TENANT, callback.id))?.body.payload;
  t.match(payload, /"status":"succeeded","attempts":2,"error":null,/);
  t.match(payload, /"result":\{"big":12345678901234567890\}\}$/);
  t.equal(documentedFault(payload), null);
  await firing.stop();
});

t.test('several processes and a store that fails create each callback once', async t => {
  const told = await Told.begun(3);
  const { firing } = told;
  const random = new SeededRandom(12);
  firing.store.fault = () => random.pick(['none', 'before', 'after']);
  const ended: string[] = [];
  for (let round = 0; round < 20; round++) {
    const fault = firing.store.fault;
    firing.store.fault = () => 'none';
    for (let n = 0; n < 13; n++) ended.push(await told.ended());
    firing.store.fault = fault;
    await firing.pass(1_000, 250);
  }
  firing.store.fault = () => 'none';
  await firing.pass(10_000, 250);
  t.strictSame(await told.told(), ended.sort());
  t.equal(await told.waiting(), 0);
  await firing.stop();
});

test('callbacks are created at the quota, and up to twice as many open tasks wait', async (told, t) => {
  const { firing } = told;
  await told.changeAccount({ limits: { openTasks: 1 } });
  const { factory, store, worker } = firing;
  const ended = [await told.ended()];
  await store.create(
    TENANT,
    factory.createRequest([factory.newTask(worker, { runAt: Date.parse('2027-01-01') })]),
  );
  await firing.pass(250);
  t.strictSame(await told.told(), ended, 'another task has taken the place of the one that ended');
  ended.push(await told.ended());
  await firing.pass(250);
  t.equal((await told.callbacks()).length, 1);
  t.equal(await told.waiting(), 1, 'beyond that they wait');
  const [first] = await told.callbacks();
  await store.change(TENANT, first.id, taskChange('cancel'));
  await firing.pass(MINUTE, 1_000);
  t.strictSame(await told.told(), ended.sort(), 'and are not lost');
  await firing.stop();
});

test('callbacks wait while the account is suspended', async (told, t) => {
  const ended = [await told.ended(), await told.ended()];
  await told.changeAccount({ status: 'suspended' });
  await told.firing.pass(5 * MINUTE, 1_000);
  t.equal((await told.callbacks()).length, 0);
  await told.changeAccount({ status: 'active' });
  await told.firing.pass(MINUTE, 1_000);
  t.strictSame(await told.told(), ended.sort());
  await told.firing.stop();
});

test('callbacks to a worker that was deleted are dropped, which the log says; others are created', async (told, t) => {
  const { firing } = told;
  const lost = await told.ended({ onFinish: { workerId: 'wrk_gone', events: EVENTS } });
  const kept = await told.ended();
  await firing.pass(250);
  t.strictSame(await told.told(), [kept]);
  t.equal(await told.waiting(), 0);
  t.strictSame(
    firing.logger.lines.filter(({ level }) => level === 'warning'),
    [
      {
        level: 'warning',
        message: 'Callback dropped because its worker was deleted',
        fields: { tenant: TENANT, task: lost, worker: 'wrk_gone' },
      },
    ],
  );
  await firing.stop();
});

t.test('callbacks for many tasks that end together are created within a few checks', async t => {
  const told = await Told.begun(2);
  const ended: string[] = [];
  for (let n = 0; n < 250; n++) ended.push(await told.ended());
  await told.firing.pass(1_000, 250);
  t.strictSame(await told.told(), ended.sort());
  t.ok(told.firing.store.creates < 2 * 250 + 30, 'many are created in one step');
  await told.firing.stop();
});

t.test('a process that finds its callbacks created by another one does not try each of them', async t => {
  const told = await Told.begun(2);
  const { firing } = told;
  for (let n = 0; n < 50; n++) await told.ended();
  firing.store.creates = 0;
  await firing.pass(1_000, 250);
  t.equal((await told.callbacks()).length, 50);
  t.equal(await told.waiting(), 0);
  t.ok(firing.store.creates <= 4, `${firing.store.creates} steps`);
  await firing.stop();
});

for (const [what, goesTo, openTasks] of [
  ['are created', 'listener', 10_000],
  ['go to a deleted worker', 'nobody', 10_000],
  ['are above its quota', 'listener', 0],
] as const) {
  t.test(`a due schedule waits for a few writes of another tenant whose 2,000 callbacks ${what}`, async t => {
    const told = await Told.begun();
    const { firing, listener } = told;
    await told.dueElsewhere('globex', 2_000, goesTo === 'nobody' ? 'wrk_gone' : listener.id, openTasks);
    let schedule: Promise<string> | null = null;
    let writes = 0;
    let writesBefore = -1;
    firing.store.fault = tenant => {
      if (tenant === TENANT) {
        if (schedule !== null) writesBefore = writes;
        return 'none';
      }
      // The schedule becomes due when the work for the other tenant has begun.
      if (++writes === 1) schedule = firing.schedule({ nextAt: firing.clock.nowMs(), overlap: 'allow' });
      return 'none';
    };
    await firing.pass(250);
    t.equal((await firing.fired(await schedule)).length, 1);
    // One read of the store has five batches of them, and each batch has at most three writes.
    t.ok(writesBefore <= 15, `${writesBefore} writes before the schedule has fired`);
    await firing.stop();
  });
}
