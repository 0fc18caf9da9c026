import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { freePort } from '../../support/free-port.ts';
import { type Run, run, runIn, runWith } from './run.ts';

// What `sluice tasks` asks, and what it makes of answers that the service gives rarely or never. The commands against
// the service itself are in test/service/tasks-cli.test.ts.

const TOKEN = 'tk_acme_secret';

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: a test says what it expects by comparing
  readonly body: any;
}

interface Answer {
  readonly status?: number;
  /** Becomes JSON; a text is sent as it is. */
  readonly body: unknown;
}

/** A service that answers as a test says, and the tenant `acme` on it. */
async function scripted(t: Test, answer: (asked: Asked, count: number) => Answer) {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', chunk => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const { method = '', url: path = '', headers } = request;
      asked.push({ method, path, headers, body: text === '' ? null : JSON.parse(text) });
      const { status = 200, body } = answer(asked.at(-1)!, asked.length);
      response.writeHead(status);
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const url = `http://acme.localhost:${port}`;
  const tasks = (...argv: string[]): Promise<Run> =>
    runIn({ SLUICE_URL: url, SLUICE_TOKEN: TOKEN }, 'tasks', ...argv);
  return { asked, url, port, tasks };
}

function said(stderr: string): string {
  return stderr.replace(/\nSee "sluice tasks[a-z -]* --help"\.\n$/, '');
}

t.test('what is wrong with the arguments is said before anybody is asked', async t => {
  const { asked, tasks } = await scripted(t, () => ({ body: {} }));
  for (const [args, text] of [
    [
      [],
      'missing command. Use one of: create-account, add-worker, create, list, show, history, retry, cancel, pause, resume, run, delete, workers, secrets, schedules, users, tokens, counts, limits, usage, audit, accounts, move, reopen.',
    ],
    [['--json'], 'missing command. Use one of: create-account, add-worker,'],
    [['lst'], 'unknown command "lst". Did you mean "list"?'],
    [['toString'], 'unknown command "toString".'],
    [['create-account'], 'missing argument: domain of the account.'],
    [['create-account', 'a', 'b'], 'unexpected argument "b".'],
    [['create-account', 'a', '--json', '--export'], '--json and --export cannot be combined.'],
    [['create-account', 'a', '--service', 'localhost'], '"localhost" is not a valid address.'],
    [['add-worker'], 'missing argument: name of the worker.'],
    [['add-worker', 'w', '--json', '--export'], '--json and --export cannot be combined.'],
    [['add-worker', 'w', '--events', 'failed'], '--events requires --on-finish NAME.'],
    [['add-worker', 'w', '--concurrency', 'many'], '--concurrency=many: '],
    [['add-worker', 'w', '--concurrency', '0'], '--concurrency=0: '],
    [['add-worker', 'w', '--limit', 'edge'], '--limit must be a domain and a descriptor'],
    [['add-worker', 'w', '--limit', 'edge:key'], '--limit must be a domain and a descriptor'],
    [['workers', 'w'], 'unknown command "workers w". Use one of: list, create, show, update, test, pause,'],
    [['workers', 'update', 'w'], 'nothing to change: give at least one flag, such as --concurrency 20.'],
    [['workers', 'update', 'w', '--group-concurrency', 'x'], '--group-concurrency=x: '],
    [['create'], 'missing argument: name of the worker.'],
    [['create', 'w', '--payload', 'text'], '--payload is not valid JSON: '],
    [['create', 'w', '--prio', 'low'], 'unknown flag --prio.'],
    [['list', 'w'], 'unexpected argument "w".'],
    [['list', '--limit', '0'], '--limit=0: '],
    [['show'], 'missing argument: id of the task.'],
    [['history'], 'missing argument: id of the task.'],
    [['history', 'tsk_1', '--newest'], 'unexpected argument "tsk_1".'],
    [['retry'], 'give either the ids of the tasks to retry, or flags that select tasks, such as --worker.'],
    [['retry', 'tsk_1', '--failed'], 'give either the ids of the tasks to retry, or flags'],
    [['retry', '--failed', '--status', 'expired'], '--failed and --status cannot be combined.'],
    [['retry', 'tsk_1', '--worker', 'w'], 'give either the ids of the tasks to retry, or flags'],
    [['cancel'], 'give either the ids of the tasks to cancel, or flags'],
    [['workers', 'test'], 'missing argument: name of the worker.'],
    [['workers', 'test', 'w', '--payload', 'text'], '--payload is not valid JSON: '],
    [
      ['schedules', 'lst'],
      'unknown command "schedules lst". Did you mean "list"? Use one of: list, create, show, update,',
    ],
    [['schedules', 'list', 'x'], 'unexpected argument "x".'],
    [['schedules', 'show'], 'missing argument: name of the schedule.'],
    [['schedules', 'create', 'x'], 'schedules create takes two arguments: '],
    [['schedules', 'create', 'x', 'w', '--max-runs', '0'], '--max-runs=0: '],
    [['schedules', 'pause'], 'missing argument: name of the schedule.'],
    [['schedules', 'delete', 'a', 'b'], 'unexpected argument "b".'],
    [['schedules', 'preview', '--count', '51'], '--count=51: '],
    [['secrets'], 'missing argument: name of the worker.'],
    [['secrets', 'rotate', 'w'], 'unknown command "secrets rotate". Use one of: list, create, delete.'],
    [['secrets', 'list'], 'missing argument: name of the worker.'],
    [['secrets', 'delete', 'w'], 'missing argument: id of the secret.'],
    [['secrets', 'delete', 'w', 'sec_1', 'x'], 'unexpected argument "x".'],
    [['secrets', 'create', 'w', '--type', 'header'], 'a header secret needs a value: give --value-from FILE'],
    [['secrets', 'create', 'w', '--value-from', '-'], 'cannot read the value: there is no standard input.'],
    [['secrets', 'create', 'w', '--value', 'x'], 'unknown flag --value.'],
    [['tokens', 'list'], 'missing argument: id or email of the user.'],
    [['tokens', 'delete', 'usr_1'], 'missing argument: id of the token.'],
    [['tokens', 'create', 'usr_1', '--json', '--export'], '--json and --export cannot be combined.'],
    [['users', 'create'], 'missing argument: email of the user.'],
    [['users', 'update', 'usr_1'], 'nothing to change: give at least one flag, such as --role admin.'],
    [['audit', '--limit', '0'], '--limit=0: '],
    [['limits', 'x'], 'unexpected argument "x".'],
    [['accounts', 'list'], 'this command is for the operator: set ACCOUNTS_OPERATOR_TOKEN'],
    [
      ['accounts', 'limits', 'acme'],
      'missing argument: the limits to change, such as in_flight=50 or in_flight=default.',
    ],
    [
      ['accounts', 'limits', 'acme', 'in_flight'],
      'invalid limit "in_flight". Write NAME=VALUE, such as in_flight=50',
    ],
  ] as const) {
    const { status, stdout, stderr } = await tasks(...args);
    t.match({ status, stdout }, { status: 2, stdout: '' }, args.join(' '));
    t.ok(said(stderr).startsWith(`sluice tasks: ${text}`), `${args.join(' ')}: ${stderr}`);
    t.match(stderr, /See "sluice tasks[a-z -]* --help"\.\n$/);
  }
  t.same(asked, []);
});

t.test('a tenant and a token have to be there', async t => {
  for (const argv of [['list'], ['workers'], ['show', 'tsk_1'], ['create', 'w'], ['cancel', 'tsk_1']]) {
    t.match(
      said((await run('tasks', ...argv)).stderr),
      /no tenant is given: set SLUICE_URL or give --url, such as http/,
    );
    const { status, stderr } = await runIn({ SLUICE_URL: 'http://acme.localhost:1' }, 'tasks', ...argv);
    t.equal(status, 2);
    t.match(
      said(stderr),
      /no token is given: set SLUICE_TOKEN\. "sluice tasks create-account" prints the first/,
    );
  }
});

t.test('an address has to be one, and --url goes before SLUICE_URL', async t => {
  const { asked, url, tasks } = await scripted(t, () => ({ body: { data: [], next_cursor: null } }));
  for (const wrong of [
    'acme.localhost:8080',
    'ftp://acme.localhost/',
    `${url}/api/v1`,
    'http://u:p@acme.localhost/',
  ]) {
    t.match(
      await tasks('list', '--url', wrong),
      { status: 2, stderr: /is not a valid address\. Write it as http:\/\/acme\.loc/ },
      wrong,
    );
  }
  t.same(asked, []);
  const env = { SLUICE_URL: 'http://elsewhere.invalid', SLUICE_TOKEN: TOKEN };
  t.match(await runIn(env, 'tasks', 'list', '--url', url), { status: 0 });
  t.match(asked, [{ method: 'GET', headers: { host: new URL(url).host, authorization: `Bearer ${TOKEN}` } }]);
});

t.test('an unreachable service is reported with its address and advice', async t => {
  const url = `http://acme.localhost:${await freePort()}`;
  const { status, stdout, stderr } = await runIn({ SLUICE_URL: url, SLUICE_TOKEN: TOKEN }, 'tasks', 'list');
  t.match({ status, stdout }, { status: 2, stdout: '' });
  t.ok(stderr.startsWith(`sluice tasks: request to ${url} failed: `), stderr);
  t.match(
    stderr,
    /ECONNREFUSED.*Is the service running there\? Change the address with --url or SLUICE_URL\.\n$/,
  );
  t.notMatch(stderr, TOKEN);
});

t.test('a service without the task service is reported as such', async t => {
  for (const body of ['', 'Not Found', '{"error":{"code":"not_found"}}', '[]']) {
    const { url, tasks } = await scripted(t, () => ({ status: 404, body }));
    t.match(await tasks('workers'), {
      status: 2,
      stderr:
        `sluice tasks: ${url} answered with HTTP status 404, which is not a response of the task ` +
        'service. Is the service running there with TASKS_ENABLED=true?\n',
    });
  }
});

t.test('so is something else that answers there', async t => {
  const { port, url, tasks } = await scripted(t, () => ({ body: { hello: 'world' } }));
  const other = `http://localhost:${port}`;
  for (const argv of [['list'], ['workers'], ['history', 'x'], ['retry', 'x'], ['create-account', 'a']]) {
    const isAccount = argv[0] === 'create-account';
    t.match(await tasks(...argv, ...(isAccount ? ['--service', other] : [])), {
      status: 2,
      stdout: '',
      stderr:
        `sluice tasks: ${isAccount ? other : url} answered with unexpected JSON, which is not a response ` +
        'of the task service. Is the service running there with TASKS_ENABLED=true?\n',
    });
  }
});

t.test('a rejection shows every field at fault once', async t => {
  const problem = {
    code: 'validation_failed',
    detail: '/key: it is too long (and 2 more; see errors)',
    errors: [
      { pointer: '/key', code: 'x', detail: 'it is too long' },
      { pointer: '/delay', code: 'x', detail: '/delay has to be a duration' },
      { parameter: 'limit', code: 'x', detail: 'it is too \u001b[31mlarge' },
    ],
  };
  const { tasks } = await scripted(t, () => ({ status: 422, body: problem }));
  t.match(await tasks('create', 'w'), {
    status: 2,
    stderr: `sluice tasks: /key: it is too long (and 2 more; see errors) (validation_failed)
  /delay has to be a duration
  limit: it is too \\u001b[31mlarge
`,
  });
});

t.test('what a service says cannot steer the terminal, nor run in a shell', async t => {
  const answers: Record<string, unknown> = {
    '/accounts': {
      domain: 'a\u001b[2J',
      api_url: 'http://a$(id).localhost:8080/api/v1',
      token: "x'; rm -rf ~; '",
    },
    '/api/v1/workers': { id: 'wrk_\u0007', name: 'w' },
    '/api/v1/workers/w/secrets': { value: '`id`' },
    '/api/v1/tasks': { id: 'tsk_\u001b[2J', status: 'scheduled' },
  };
  const { tasks, port } = await scripted(t, ({ path }) => ({ status: 201, body: answers[path] }));
  const account = ['create-account', 'a', '--service', `http://localhost:${port}`];
  const exports =
    "export SLUICE_URL='http://a$(id).localhost:8080'\nexport SLUICE_TOKEN='x'\\''; rm -rf ~; '\\'''\n";
  t.equal((await tasks(...account, '--export')).stdout, exports);
  t.match((await tasks(...account)).stdout, /^a\\u001b\[2J is at /);
  t.equal((await tasks('add-worker', 'w', '--export')).stdout, "export WORKER_TOKEN='`id`'\n");
  t.match((await tasks('add-worker', 'w')).stdout, /^wrk_\\u0007 /);
  t.match((await tasks('create', 'w')).stdout, /^tsk_\\u001b\[2J /);
});

t.test('names go into paths as they are', async t => {
  const { asked, tasks } = await scripted(t, () => ({
    body: { data: [], next_cursor: null, status: 'failed' },
  }));
  await tasks('show', '../workers?x#y');
  await tasks('history', 'a/b');
  t.match(asked, [
    { path: '/api/v1/tasks/..%2Fworkers%3Fx%23y' },
    { path: '/api/v1/tasks/a%2Fb/history?order=asc&limit=200' },
  ]);
});

t.test('writes have an idempotency key, a new one each time', async t => {
  const { asked, tasks } = await scripted(t, () => ({ body: { matched: 0, changed: 0, skipped: [] } }));
  for (const argv of [
    ['create', 'w'],
    ['create', 'w'],
    ['cancel', 'tsk_1'],
  ])
    await tasks(...argv);
  const keys = asked.map(({ headers }) => headers['idempotency-key']);
  t.equal(new Set(keys).size, 3);
  for (const key of keys) t.match(key, /^[\w-]{36}$/);
});

t.test('retry --failed asks on until nothing is left, and adds up', async t => {
  const { asked, tasks } = await scripted(t, ({ body }, count) => ({
    body: {
      matched: 10_000,
      changed: count === 1 ? 9_850 : 10_000,
      skipped:
        count === 1 ? Array.from({ length: 100 }, (_, i) => ({ id: `tsk_${i}`, code: 'not_found' })) : [],
      next_cursor: count < 3 ? `after ${body.cursor ?? 'nothing'}` : null,
    },
  }));
  const flags = ['--worker', 'mailer', '--start', '-24h', '--end', '2026-03', '--dry-run'];
  const { status, stdout } = await tasks('retry', '--failed', ...flags);
  t.equal(status, 1);
  const lines = stdout.split('\n');
  t.equal(lines[0], '29850 of 30000 tasks would run again');
  t.equal(lines[1], '  skipped tsk_0: there is no such task (not_found)');
  t.same(lines.slice(101), ['  skipped 50 more', '']);
  const asking = {
    ...{ action: 'retry', limit: 10_000, dry_run: true },
    filter: { status: 'failed', worker: 'mailer', start: '-24h', end: '2026-03' },
  };
  t.same(
    asked.map(({ body }) => body),
    [asking, { ...asking, cursor: 'after nothing' }, { ...asking, cursor: 'after after nothing' }],
  );
});

t.test('more names than one request takes are asked about in several', async t => {
  const { asked, tasks } = await scripted(t, ({ body }) => ({
    body: { matched: body.ids.length, changed: body.ids.length, skipped: [], next_cursor: null },
  }));
  const ids = Array.from({ length: 2_001 }, (_, number) => `tsk_${number}`);
  t.match(await tasks('cancel', ...ids), { status: 0, stdout: '2001 of 2001 tasks canceled\n' });
  t.same(
    asked.flatMap(({ body }) => body.ids),
    ids,
  );
  t.same(
    asked.map(({ body }) => body.ids.length),
    [1_000, 1_000, 1],
  );
});

t.test('a list ends where the service says, also after a short page', async t => {
  const { asked, tasks } = await scripted(t, (_, count) => ({
    body: { data: count === 2 ? [] : [{ id: `tsk_${count}` }], next_cursor: count < 3 ? `c${count}` : null },
  }));
  const { stdout } = await tasks('list', '--limit', '300', '--json');
  t.same(JSON.parse(stdout), [{ id: 'tsk_1' }, { id: 'tsk_3' }]);
  t.same(
    asked.map(({ path }) => path),
    ['/api/v1/tasks?limit=200', '/api/v1/tasks?limit=200&cursor=c1', '/api/v1/tasks?limit=200&cursor=c2'],
  );
});

t.test('history --newest says when there is no task, history of many entries pages on', async t => {
  const none = await scripted(t, () => ({ body: { data: [], next_cursor: null } }));
  t.match(await none.tasks('history', '--newest'), { status: 2, stderr: /there are no tasks yet\./ });
  const entry = (seq: number) => ({
    seq,
    at: 'T',
    event: 'updated',
    from: 'scheduled',
    to: 'scheduled',
    attempt: 0,
  });
  const actor = { type: 'user', id: 'usr_1' };
  const many = await scripted(t, (_, count) => ({
    body: { data: [{ ...entry(count), actor }], next_cursor: count < 3 ? `c${count}` : null },
  }));
  const { stdout } = await many.tasks('history', 'tsk_1', '--json');
  t.same(
    stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line).seq),
    [1, 2, 3],
  );
});

t.test('each command has help of its own, with its own flags', async t => {
  const all = (await run('tasks', '--help')).stdout;
  t.match(all, /^Usage: sluice tasks <command> \[flags\]\n/);
  const calls = [...all.matchAll(/^ {2}([a-z][a-z -]*?)(?: (?:[A-Z[].*?)?)? {2,}\S/gm)].map(
    ([, name]) => name,
  );
  t.ok(calls.length > 40, calls.join(', '));
  for (const name of calls) {
    const { status, stdout } = await run('tasks', ...name.split(' '), '--help');
    t.equal(status, 0);
    t.ok(stdout.startsWith(`Usage: sluice tasks ${name}`), `${name}: ${stdout.split('\n', 1)[0]}`);
    t.match(stdout, /\nFlags:\n {2}--/, name);
  }
  const create = (await run('tasks', 'schedules', 'create', 'x', '-h')).stdout;
  t.match(create, / --cron TEXT /);
  t.notMatch(create, / --push-to /);
  const group = (await run('tasks', 'accounts', '--help')).stdout;
  t.match(group, /^Usage: sluice tasks accounts <command> \[flags\]\n[\s\S]*accounts owner-token DOMAIN /);
  t.notMatch(group, /schedules/);
});

t.test('an unreachable service of an operator is reported with advice on naming another one', async t => {
  const service = `http://localhost:${await freePort()}`;
  const env = { SLUICE_SERVICE: service, ACCOUNTS_OPERATOR_TOKEN: 'operator' };
  const { stderr } = await runIn(env, 'tasks', 'accounts', 'suspend', 'acme');
  t.match(stderr, `request to ${service} failed: `);
  t.match(stderr, /Change the address with --service or SLUICE_SERVICE\.\n$/);
});

t.test('accounts are changed by PATCH', async t => {
  const { asked, port } = await scripted(t, () => ({ body: { domain: 'acme', status: 'suspended' } }));
  const env = { SLUICE_SERVICE: `http://localhost:${port}`, ACCOUNTS_OPERATOR_TOKEN: 'operator' };
  t.match(await runIn(env, 'tasks', 'accounts', 'suspend', 'acme'), {
    status: 0,
    stdout: 'acme suspended\n',
  });
  t.match(asked, [
    {
      method: 'PATCH',
      path: '/accounts/acme',
      headers: { authorization: 'Bearer operator' },
      body: { status: 'suspended' },
    },
  ]);
});

t.test('a line of the history continues on further lines of a narrow terminal', async t => {
  const entry = {
    ...{ seq: 1, at: '2026-03-01T10:00:00.000Z', event: 'created', from: null, to: 'scheduled', attempt: 0 },
    actor: { type: 'user', id: 'usr_1' },
  };
  const { url } = await scripted(t, () => ({ body: { data: [entry], next_cursor: null } }));
  const env = { SLUICE_URL: url, SLUICE_TOKEN: TOKEN };
  const { stdout } = await runWith({ env, columns: 60 }, 'tasks', 'history', 'tsk_1');
  t.equal(stdout, '2026-03-01T10:00:00.000Z  created           → scheduled\n    attempt 0  by user usr_1\n');
});
