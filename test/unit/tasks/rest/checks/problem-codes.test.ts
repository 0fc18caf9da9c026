import t from 'tap';
import { Fault } from '../../../../../src/base/fault.ts';
import type { Service } from '../../../../../src/base/lifecycle.ts';
import { PROBLEMS, type ProblemCode } from '../../../../../src/tasks/rest/checks/problem-list.ts';
import { RecordedKeys } from '../../../../../src/tasks/scheduler/health/recorded-keys.ts';
import { each } from '../../../../support/each.ts';
import type { Answered, Asked } from '../../../../support/tasks/rest-harness.ts';
import type { TaskHarness } from '../../../../support/tasks/task-harness.ts';
import { type Belongings, NOBODYS, TwoTenants } from '../../../../support/tasks/two-tenants.ts';
import { testsOf } from '../../../../support/tests-of.ts';

const test = testsOf(scene);

interface Scene {
  readonly rest: TaskHarness;
  readonly mine: Belongings;
  /** As the owner, below `/api/v1/`. */
  readonly ask: (method: string, target: string, body?: unknown, asked?: Asked) => Promise<Answered>;
  readonly made: (target: string, body: unknown) => Promise<{ readonly id: string }>;
}

/** A request that has this code as its answer, and words that its detail has, so that it helps. */
interface Provocation {
  readonly detail: RegExp;
  readonly provoke: (scene: Scene) => Promise<Answered>;
  /** Nothing else can be asked of the scene afterwards. */
  readonly alone?: true;
}

const WITHIN_LIMIT = { limit: 10, remaining: 0, windowSeconds: 1, resetSeconds: 3 };
const accounts = (domain: unknown, asked: Asked = {}): Provocation['provoke'] => {
  return ({ rest }) => rest.ask('POST', '/', { host: 'accounts.tasks.test', body: { domain }, ...asked });
};
const limited = async ({ rest }: Scene, limits: Record<string, number>): Promise<void> => {
  await rest.change('acme', 'account', 'account', body => ({ ...body, limits }));
};

/**
 * `threads/rest-threads.test.ts`, for chunks `transports/http/tasks-bodies.test.ts`, and for the identity provider
 * `jwt-provider.test.ts` have these.
 */
type FrontCode = 'overloaded' | 'interrupted' | 'chunks_too_small' | 'identity_unavailable';

const PROVOCATIONS: Readonly<Record<Exclude<ProblemCode, FrontCode>, Provocation>> = {
  invalid_json: {
    detail: /not valid JSON/,
    provoke: ({ ask }) => ask('POST', 'tasks', '{"worker":'),
  },
  invalid_parameter: {
    detail: /"workers" is not a known parameter; known parameters are: worker/,
    provoke: ({ ask }) => ask('GET', 'tasks?workers=acme-mailer'),
  },
  invalid_cursor: {
    detail: /cursor/,
    provoke: ({ ask }) => ask('GET', 'tasks?cursor=AQEBAQ'),
  },
  invalid_status: {
    detail: /"done" is not a status; statuses are: scheduled, running/,
    provoke: ({ ask }) => ask('GET', 'tasks?status=retry,done'),
  },
  conflicting_fields: {
    detail: /\/run_at and \/delay exclude each other\. Give only one/,
    provoke: ({ ask, mine }) =>
      ask('POST', 'tasks', { worker: mine.worker, delay: 5, run_at: '2026-03-02T00:00:00Z' }),
  },
  invalid_time_range: {
    detail: /start "yesterday" is not valid: use .*RFC 3339/,
    provoke: ({ ask }) => ask('GET', 'tasks?start=yesterday'),
  },
  authentication_required: {
    detail: /Authorization: Bearer/,
    provoke: ({ ask }) => ask('GET', 'tasks', undefined, { token: undefined }),
  },
  invalid_token: {
    detail: /token is not valid/,
    provoke: ({ ask }) => ask('GET', 'tasks', undefined, { token: 'tk_x' }),
  },
  token_expired: {
    alone: true,
    detail: /Create a new one/,
    provoke: async ({ rest, ask, mine }) => {
      rest.clock.advance(367 * 86_400_000);
      return ask('GET', 'tasks', undefined, { token: mine.token });
    },
  },
  insufficient_role: {
    detail: /requires the role admin\. The role of the caller is member/,
    provoke: async ({ rest, ask, mine }) => {
      const { token } = await rest.addUser(mine.token, 'member');
      return ask('POST', 'workers', { name: 'new' }, { token });
    },
  },
  insufficient_scope: {
    detail: /scope tasks:write/,
    provoke: async ({ rest, ask, mine }) => {
      const { token } = await rest.addUser(mine.token, 'owner', ['tasks:read']);
      return ask('POST', 'tasks', { worker: mine.worker }, { token });
    },
  },
  tenant_suspended: {
    alone: true,
    detail: /suspended, so nothing can be changed\. Contact the operator/,
    provoke: async ({ rest, ask, mine }) => {
      await rest.change('acme', 'account', 'account', body => ({ ...body, status: 'suspended' }));
      return ask('DELETE', `tasks/${mine.task}`);
    },
  },
  payload_hidden: {
    detail: /Leave out include=payload/,
    provoke: async ({ rest, ask, mine }) => {
      const { token } = await rest.addUser(mine.token, 'viewer');
      return ask('GET', 'tasks?include=payload', undefined, { token });
    },
  },
  not_found: {
    detail: /There is no task "tsk_7/,
    provoke: ({ ask }) => ask('GET', `tasks/${NOBODYS.task}`),
  },
  tenant_not_found: {
    detail:
      /does not name an existing tenant\. Use the host \{domain\}\.tasks\.test, or a valid token of the tenant/,
    provoke: ({ ask }) => ask('GET', 'tasks', undefined, { host: 'nobody.tasks.test' }),
  },
  method_not_allowed: {
    detail: /DELETE is not allowed for this path\. Allowed methods: GET, POST, HEAD/,
    provoke: ({ ask }) => ask('DELETE', 'tasks'),
  },
  not_acceptable: {
    detail: /Accept header must allow application\/json/,
    provoke: ({ ask }) => ask('GET', 'tasks', undefined, { headers: { accept: 'text/html' } }),
  },
  domain_taken: { detail: /acme is taken\. Choose another/, provoke: accounts('acme') },
  name_taken: {
    detail: /"acme-mailer"\. Choose another/,
    provoke: ({ ask }) => ask('POST', 'workers', { name: 'acme-mailer' }),
  },
  task_key_exists: {
    detail: /already open \(tsk_\w+\)\. Wait until it finishes, or set on_conflict/,
    provoke: ({ ask, mine }) =>
      ask('POST', 'tasks', { worker: mine.worker, key: 'acme', on_conflict: 'reject' }),
  },
  idempotency_in_progress: {
    detail: /still in progress\. Retry in a second/,
    provoke: async ({ ask, mine }) => {
      const asked = { headers: { 'idempotency-key': 'both' } };
      const both = [1, 2].map(() => ask('POST', 'tasks', { worker: mine.worker }, asked));
      const [first, second] = await Promise.all(both);
      return first.status === 201 ? second : first;
    },
  },
  task_running: {
    alone: true,
    detail: /Wait until it finishes, or use force=true/,
    provoke: async ({ rest, ask, mine }) => {
      await rest.start(mine.worker, 10);
      return ask('DELETE', `tasks/${mine.task}`);
    },
  },
  invalid_transition: {
    detail: /A task that is scheduled cannot be replayed\. .*POST …\/run/,
    provoke: ({ ask, mine }) => ask('POST', `tasks/${mine.task}/retry`),
  },
  lease_lost: {
    detail: /Stop working on the task/,
    provoke: ({ ask }) => ask('POST', `leases/${NOBODYS.lease}/complete`),
  },
  worker_has_tasks: {
    detail: /\d open tasks.*cancel_tasks=true/,
    provoke: ({ ask, mine }) => ask('DELETE', `workers/${mine.worker}`),
  },
  worker_in_use: {
    detail: /on_finish of worker "naming" refers to this worker/,
    provoke: async ({ ask }) => {
      await ask('POST', 'workers', { name: 'told' });
      await ask('POST', 'workers', { name: 'naming', on_finish: { worker: 'told' } });
      return ask('DELETE', 'workers/told');
    },
  },
  worker_mode_mismatch: {
    detail: /"acme-mailer" is a push worker\. Only tasks of pull workers can be leased/,
    provoke: ({ ask }) => ask('POST', 'workers/acme-mailer/leases'),
  },
  secrets_unreadable: {
    detail: /Replace the secret/,
    provoke: ({ ask, rest }) => {
      rest.testAnswer = { kind: 'impossible', reason: 'secrets_unreadable' };
      return ask('POST', 'workers/acme-mailer/test');
    },
  },
  last_owner_token: {
    alone: true,
    detail: /Create another one first/,
    provoke: async ({ ask }) => {
      const [owner] = (await ask('GET', 'users?order=asc&limit=1')).json.data;
      const [token] = (await ask('GET', `users/${owner.id}/tokens`)).json.data;
      return ask('DELETE', `users/${owner.id}/tokens/${token.id}`);
    },
  },
  last_owner: {
    alone: true,
    detail: /Make another user an owner first/,
    provoke: async ({ ask }) => {
      const { json } = await ask('GET', 'users?order=asc&limit=1');
      return ask('DELETE', `users/${json.data[0].id}`);
    },
  },
  version_mismatch: {
    detail: /Read it again, and repeat the change/,
    provoke: ({ ask, mine }) =>
      ask('PUT', `tasks/${mine.task}`, { type: 'x' }, { headers: { 'if-match': '"99"' } }),
  },
  payload_too_large: {
    detail:
      /\/payload must have at most 262144 bytes, but has \d+ bytes of JSON\. Store large data elsewhere/,
    provoke: ({ ask, mine }) => ask('POST', 'tasks', { worker: mine.worker, payload: 'x'.repeat(262_143) }),
  },
  body_too_large: {
    detail: /larger than 6291456 bytes/,
    provoke: ({ ask }) => ask('POST', 'tasks', Buffer.alloc(6 * 1024 * 1024 + 1, ' ')),
  },
  batch_too_large: {
    detail: /\/tasks must have at most 500 items/,
    provoke: ({ ask, mine }) =>
      ask('POST', 'tasks/batch', { tasks: Array.from({ length: 501 }, () => ({ worker: mine.worker })) }),
  },
  unsupported_media_type: {
    detail: /Content-Type: application\/json/,
    provoke: ({ ask }) => ask('POST', 'tasks', 'a=b', { headers: { 'content-type': 'text/plain' } }),
  },
  validation_failed: {
    detail: /\/worker is required/,
    provoke: ({ ask }) => ask('POST', 'tasks', {}),
  },
  unknown_field: {
    detail: /\/runat is not a known field; known fields are: .*run_at/,
    provoke: ({ ask, mine }) => ask('POST', 'tasks', { worker: mine.worker, runat: '2027-01-01' }),
  },
  invalid_cron: {
    detail: /\/cron: .*61/,
    provoke: ({ ask, mine }) =>
      ask('POST', 'schedules', { name: 'x', worker: mine.worker, cron: '61 * * * *' }),
  },
  invalid_timezone: {
    detail: /\/timezone: .*Europe\/Berlon/,
    provoke: ({ ask, mine }) =>
      ask('PUT', `schedules/${mine.schedule}`, { cron: '1 * * * *', timezone: 'Europe/Berlon' }),
  },
  invalid_url: {
    detail: /\/url: .*https/,
    provoke: ({ ask }) => ask('POST', 'workers', { name: 'x', url: 'http://example.com/' }),
  },
  forbidden_address: {
    detail: /\/url: .*169\.254\.169\.254/,
    provoke: ({ ask }) => ask('POST', 'workers', { name: 'x', url: 'https://169.254.169.254/latest' }),
  },
  idempotency_key_reused: {
    detail: /Idempotency-Key was used for a different request/,
    provoke: async ({ ask, mine }) => {
      const asked = { headers: { 'idempotency-key': 'k' } };
      await ask('POST', 'tasks', { worker: mine.worker }, asked);
      return ask('POST', 'tasks', { worker: mine.worker, type: 'other' }, asked);
    },
  },
  invalid_domain: { detail: /reserved for the service/, provoke: accounts('www') },
  rate_limited: {
    alone: true,
    detail: /Retry in 3 s/,
    provoke: ({ rest, ask }) => {
      rest.limits.verdict = { allowed: false, nearest: WITHIN_LIMIT };
      return ask('GET', 'tasks');
    },
  },
  quota_exceeded: {
    alone: true,
    detail: /already has 2 workers.*Delete a worker/,
    provoke: async scene => {
      await limited(scene, { workers: 2 });
      return scene.ask('POST', 'workers', { name: 'third' });
    },
  },
  internal: {
    alone: true,
    detail: /The log of the service has the cause, with the request id req_/,
    provoke: ({ rest, ask, mine }) => {
      rest.store.get = async () => {
        throw new TypeError('a defect');
      };
      rest.store.getWhole = rest.store.get as never;
      return ask('GET', `tasks/${mine.task}`);
    },
  },
  store_unavailable: {
    alone: true,
    detail: /retry a POST with the same Idempotency-Key/,
    provoke: ({ rest, ask, mine }) => {
      rest.store.create = async () => {
        throw new Fault('store_failed', 'gone');
      };
      return ask('POST', 'tasks', { worker: mine.worker });
    },
  },
  wrong_master_key: {
    alone: true,
    detail: /another master key than the task store.*SECRETS_MASTER_KEY/,
    provoke: async ({ rest, ask, mine }) => {
      await rest.change('acme', 'account', 'account', body => ({ ...body, dataKey: null }));
      const sealer = {
        currentKeyId: 'of another process',
        keyIds: ['of another process'],
        knows: () => true,
      };
      const others = new RecordedKeys({ store: rest.store, sealer });
      await others.foreign();
      await others.add();
      return ask('POST', `workers/${mine.worker}/secrets`);
    },
  },
  shutting_down: {
    alone: true,
    detail: /no longer hands out leases\. Retry/,
    provoke: async ({ rest, ask, made }) => {
      await made('workers', { name: 'puller', mode: 'pull' });
      await (rest.parts.pullDesk as unknown as Service).stop();
      return ask('POST', 'workers/puller/leases');
    },
  },
};

async function scene(): Promise<Scene> {
  const { rest, mine } = await TwoTenants.open();
  const { token, host } = mine;
  return {
    rest,
    mine,
    ask: (method, target, body, asked = {}) => rest.at(method, target, body, { token, host, ...asked }),
    made: (target, body) => rest.made(target, body, { token, host }),
  };
}

const shared = scene();

for (const [code, provocation] of Object.entries(PROVOCATIONS)) {
  t.test(`${code} comes with its status, and a detail that helps`, async t => {
    const answer = await provocation.provoke(await (provocation.alone ? scene() : shared));
    const { status, title } = PROBLEMS[code as ProblemCode];
    t.equal(answer.status, status, answer.body);
    t.match(answer.json, { code, status, title, type: `/errors/${code}`, detail: provocation.detail });
    t.match(answer.json.instance, /^req_[0-9A-Z]{26}$/);
  });
}

test('each route with a body documents what it can be refused for', async ({ rest, ask, mine }, t) => {
  const bodies: [unknown, ProblemCode, string?][] = [
    ['{', 'invalid_json'],
    ['{"a":1}', 'unknown_field'],
    ['[]', 'validation_failed'],
    ['a', 'unsupported_media_type', 'text/plain'],
    [Buffer.alloc(6 * 1024 * 1024 + 1, ' '), 'body_too_large'],
  ];
  for (const route of rest.routes.filter(({ method }) => method !== 'GET' && method !== 'DELETE')) {
    const target = route.path.slice('/v1/'.length).replaceAll(/:\w+/g, mine.task);
    for (const [body, code, type = 'application/json'] of bodies) {
      const answer = await ask(route.method, target, body, { headers: { 'content-type': type } });
      t.equal(answer.json.code, code, route.operation);
    }
  }
});

test('all faults of a body are reported at once, without values', async ({ rest, ask, mine }, t) => {
  const canary = 'c4nary-c4nary';
  const answer = await ask('POST', 'tasks', {
    worker: mine.worker,
    priority: canary,
    tags: [canary, 5, ''],
    retry: { max_attempts: canary, base: { a: canary } },
    metadata: { 'a/b~c': 5 },
    run_at: 5,
    nonsense: canary,
  });
  t.equal(answer.status, 422);
  const pointers = each(answer.json.errors, 'pointer').sort();
  t.same(pointers, [
    '/metadata/a~1b~0c',
    '/nonsense',
    '/priority',
    '/retry/base',
    '/retry/max_attempts',
    '/run_at',
    '/tags/1',
    '/tags/2',
  ]);
  t.notMatch(answer.body + JSON.stringify(rest.logger.lines), canary);
});

test('what might be a token is in no detail', async ({ ask, mine }, t) => {
  const word = 'tk_acme_s3cr3t';
  for (const asked of [{ token: word }, { headers: { authorization: `Basic ${word}` } }]) {
    t.notMatch((await ask('GET', 'tasks', undefined, asked)).body, word);
  }
  t.notMatch((await ask('GET', `tasks?cursor=${mine.token}`)).body, mine.token);
});

test('making an account is refused as the document says', async ({ rest }, t) => {
  const make = async (body: unknown, asked: Asked = {}) => {
    const { json, status } = await rest.ask('POST', '/', { host: 'accounts.tasks.test', body, ...asked });
    return json?.code ?? status;
  };
  const key = { headers: { 'idempotency-key': 'k' } };
  t.equal(await make({ domain: 'fresh' }, key), 201);
  t.equal(await make({ domain: 'fresh' }, key), 201);
  t.equal(await make({ domain: 'fresh', more: 1 }, key), 'unknown_field');
  t.equal(await make({ domain: 'Fresh' }, key), 'idempotency_key_reused');
  t.equal(await make({ domain: 'FRESH' }), 'domain_taken');
  t.equal(await make({ domain: 5 }), 'validation_failed');
  t.equal(await make('{'), 'invalid_json');
  t.equal(await make({ domain: 'x' }, { headers: { 'idempotency-key': 'é' } }), 'invalid_domain');
  t.equal(await make({ domain: 'fine' }, { headers: { 'idempotency-key': 'é' } }), 'invalid_parameter');
  t.equal(await make({ domain: 'fine' }, { headers: { accept: 'text/html' } }), 'not_acceptable');
  t.equal(
    await make({ domain: 'fine' }, { headers: { 'content-type': 'text/xml' } }),
    'unsupported_media_type',
  );
  t.equal(await make(Buffer.alloc(6 * 1024 * 1024 + 1, ' ')), 'body_too_large');
  rest.limits.verdict = { allowed: false, nearest: WITHIN_LIMIT };
  t.equal(await make({ domain: 'late' }), 'rate_limited');
});
