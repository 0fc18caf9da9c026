import { randomBytes } from 'node:crypto';
import { systemClock } from '../../src/base/clock.ts';
import { DEFAULT_TENANT_LIMITS } from '../../src/tasks/model/documents.ts';
import type { Task } from '../../src/tasks/model/task.ts';
import { resolveTime } from '../../src/tasks/model/time.ts';
import type { RestRequest } from '../../src/tasks/rest/http/http.ts';
import { RestService } from '../../src/tasks/rest/rest-service.ts';
import { createTaskRoute } from '../../src/tasks/rest/tasks/task-create.ts';
import type { CreateAnswer, CreateRequest } from '../../src/tasks/store/requests.ts';
import { Factory } from '../../test/support/tasks/factories.ts';
import { RestHarness } from '../../test/support/tasks/rest-harness.ts';

/**
 * What the frame of the REST service costs: `POST /v1/tasks` with authentication, limits, schema and answer, over a
 * store that does nothing; beside it the same with a key, one that is refused, and the least there is to do
 * (`JSON.parse` of the body and `JSON.stringify` of the answer). Run it: `node bench/part/tasks-rest.ts`.
 */

const WARM_UP_MS = 400;
const ROUND_MS = 80;
const ROUNDS = 5;
const CALLS_AT_ONCE = 64;

const PAYLOAD = { to: 'ada@example.com', template: 'welcome', text: 'x'.repeat(420) };

interface Scenario {
  readonly name: string;
  readonly run: () => Promise<unknown> | unknown;
}

/** Takes every task, and keeps none. */
async function createNothing(_tenant: string, { tasks }: CreateRequest): Promise<CreateAnswer> {
  const [{ task }] = tasks;
  const runAt = resolveTime(task.runAt, task.createdAt);
  const made: Task = {
    ...task,
    runAt,
    expiresAt: null,
    status: 'scheduled',
    dueAt: runAt,
    attempt: 0,
    deferrals: 0,
    lastError: null,
    cancelRequestedAt: null,
    updatedAt: task.createdAt,
    startedAt: null,
    finishedAt: null,
    version: 1,
  };
  return { kind: 'done', results: [{ kind: 'created', task: made }], note: '' };
}

async function scenarios(): Promise<readonly Scenario[]> {
  const harness = new RestHarness({ parts: { clock: systemClock, randomBytes } });
  const { token } = await harness.signUp();
  await harness.store.apply('acme', [new Factory(harness.clock).worker({ name: 'mailer' })]);
  harness.store.create = createNothing;
  const service = new RestService({
    parts: { ...harness.parts, config: { ...harness.parts.config, limits: DEFAULT_TENANT_LIMITS } },
    limits: { ask: async () => ({ allowed: true, nearest: NEAREST }) },
    routes: [createTaskRoute(harness.parts)],
    version: '1',
  });
  const body = Buffer.from(JSON.stringify({ worker: 'mailer', type: 'email.welcome', payload: PAYLOAD }));
  const post =
    (headers: RestRequest['headers'], bytes: Uint8Array = body) =>
    () =>
      service.handle({
        ...REQUEST,
        body: bytes,
        headers: { ...headers, 'content-type': 'application/json' },
      });
  const authorization = `Bearer ${token}`;
  let key = 0;
  const { status, body: sample } = await post({ authorization })();
  if (status !== 201) throw new Error(sample);
  const answer = JSON.parse(sample);
  return [
    { name: 'POST /v1/tasks', run: post({ authorization }) },
    {
      name: '… with Idempotency-Key',
      run: () => post({ authorization, 'idempotency-key': `key ${key++}` })(),
    },
    { name: '… with a field that there is not', run: post({ authorization }, Buffer.from('{"wroker":"a"}')) },
    { name: '… with a token that there is not', run: post({ authorization: `${authorization}x` }) },
    { name: 'JSON.parse and JSON.stringify', run: () => [JSON.parse(String(body)), JSON.stringify(answer)] },
  ];
}

const NEAREST = { limit: 1_000, remaining: 500, windowSeconds: 1, resetSeconds: 1 };

const REQUEST = {
  method: 'POST',
  host: 'acme.tasks.test',
  path: '/api/v1/tasks',
  query: '',
  remoteAddress: '192.0.2.1',
  gone: new AbortController().signal,
};

/** Nanoseconds of processor time for a call, as many being under way at once as a busy service has. */
async function timePerCall(run: Scenario['run'], forMs: number): Promise<number> {
  const end = performance.now() + forMs;
  const start = process.cpuUsage();
  let calls = 0;
  while (performance.now() < end) {
    const running: unknown[] = [];
    for (let i = 0; i < CALLS_AT_ONCE; i++) running.push(run());
    await Promise.all(running);
    calls += CALLS_AT_ONCE;
  }
  const { user, system } = process.cpuUsage(start);
  return ((user + system) * 1_000) / calls;
}

async function row({ name, run }: Scenario): Promise<object> {
  await timePerCall(run, WARM_UP_MS);
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await timePerCall(run, ROUND_MS));
  const median = rounds.sort((a, b) => a - b)[ROUNDS >> 1];
  return {
    request: name,
    'CPU µs': Number((median / 1_000).toFixed(2)),
    'a second, one core': Math.round(1e9 / median),
  };
}

const rows: object[] = [];
for (const scenario of await scenarios()) rows.push(await row(scenario));
console.table(rows);
