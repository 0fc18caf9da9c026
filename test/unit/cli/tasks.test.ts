import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { freePort } from '../../support/free-port.ts';
import { type Run, run, runIn } from './run.ts';

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
      'say what: create-account, add-worker, create, list, show, history, retry, cancel, pause, resume, run, delete, workers, secrets, schedules, users, tokens, counts, limits, audit, accounts.',
    ],
    [['--json'], 'say what: create-account, add-worker,'],
    [['lst'], 'there is no "lst". Did you mean "list"?'],
    [['toString'], 'there is no "toString".'],
    [['create-account'], 'the domain of the account is missing.'],
    [['create-account', 'a', 'b'], '"b" is one argument too many.'],
    [['create-account', 'a', '--json', '--export'], '--json and --export exclude each other.'],
    [['create-account', 'a', '--service', 'localhost'], '"localhost" is no address:'],
    [['add-worker'], 'the name of the worker is missing.'],
    [['add-worker', 'w', '--json', '--export'], '--json and --export exclude each other.'],
    [['add-worker', 'w', '--events', 'failed'], '--events needs --on-finish NAME.'],
    [['add-worker', 'w', '--concurrency', 'many'], '--concurrency=many: '],
    [['add-worker', 'w', '--concurrency', '0'], '--concurrency=0: '],
    [['add-worker', 'w', '--limit', 'edge'], '--limit takes a domain and its descriptor'],
    [['add-worker', 'w', '--limit', 'edge:key'], '--limit takes a domain and its descriptor'],
    [['workers', 'w'], 'workers: there is no "w". There are list, create, show, update, test, pause,'],
    [['workers', 'update', 'w'], 'say what to change, as --concurrency 20.'],
    [['workers', 'update', 'w', '--group-concurrency', 'x'], '--group-concurrency=x: '],
    [['create'], 'the name of the worker is missing.'],
    [['create', 'w', '--payload', 'text'], '--payload is not JSON: '],
    [['create', 'w', '--prio', 'low'], 'there is no flag --prio.'],
    [['list', 'w'], '"w" is one argument too many.'],
    [['list', '--limit', '0'], '--limit=0: '],
    [['show'], 'the id of the task is missing.'],
    [['history'], 'the id of the task is missing.'],
    [['history', 'tsk_1', '--newest'], '"tsk_1" is one argument too many.'],
    [['retry'], 'name the tasks to retry, or say which by flags such as --worker: one of the two.'],
    [['retry', 'tsk_1', '--failed'], 'name the tasks to retry, or say which by flags'],
    [['retry', '--failed', '--status', 'expired'], '--failed and --status exclude each other.'],
    [['retry', 'tsk_1', '--worker', 'w'], 'name the tasks to retry, or say which by flags'],
    [['cancel'], 'name the tasks to cancel, or say which by flags'],
    [['workers', 'test'], 'the name of the worker is missing.'],
    [['workers', 'test', 'w', '--payload', 'text'], '--payload is not JSON: '],
    [
      ['schedules', 'lst'],
      'schedules: there is no "lst". Did you mean "list"? There are list, create, show, update,',
    ],
    [['schedules', 'list', 'x'], '"x" is one argument too many.'],
    [['schedules', 'show'], 'the name of the schedule is missing.'],
    [['schedules', 'create', 'x'], 'schedules create takes two arguments: '],
    [['schedules', 'create', 'x', 'w', '--max-runs', '0'], '--max-runs=0: '],
    [['schedules', 'pause'], 'the name of the schedule is missing.'],
    [['schedules', 'delete', 'a', 'b'], '"b" is one argument too many.'],
    [['schedules', 'preview', '--count', '51'], '--count=51: '],
    [['secrets'], 'the name of the worker is missing.'],
    [['secrets', 'rotate', 'w'], 'secrets: there is no "rotate". There are list, create, delete.'],
    [['secrets', 'list'], 'the name of the worker is missing.'],
    [['secrets', 'delete', 'w'], 'the id of the secret is missing.'],
    [['secrets', 'delete', 'w', 'sec_1', 'x'], '"x" is one argument too many.'],
    [['secrets', 'create', 'w', '--type', 'header'], 'a header needs a value: give --value-from FILE,'],
    [['secrets', 'create', 'w', '--value-from', '-'], 'there is no standard input to read the value from.'],
    [['secrets', 'create', 'w', '--value', 'x'], 'there is no flag --value.'],
    [['tokens', 'list'], 'the id or email of the user is missing.'],
    [['tokens', 'delete', 'usr_1'], 'the id of the token is missing.'],
    [['tokens', 'create', 'usr_1', '--json', '--export'], '--json and --export exclude each other.'],
    [['users', 'create'], 'the email of the user is missing.'],
    [['users', 'update', 'usr_1'], 'say what to change, as --role admin.'],
    [['audit', '--limit', '0'], '--limit=0: '],
    [['limits', 'x'], '"x" is one argument too many.'],
    [['accounts', 'list'], 'only the operator may do this: set ACCOUNTS_OPERATOR_TOKEN'],
    [['accounts', 'limits', 'acme'], 'say which limits: in_flight=50, or in_flight=default.'],
    [['accounts', 'limits', 'acme', 'in_flight'], '"in_flight" is no limit: write in_flight=50,'],
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
      /no tenant is named: set SLUICE_URL or give --url \(http/,
    );
    const { status, stderr } = await runIn({ SLUICE_URL: 'http://acme.localhost:1' }, 'tasks', ...argv);
    t.equal(status, 2);
    t.match(
      said(stderr),
      /there is no token: set SLUICE_TOKEN\. "sluice tasks create-account" shows the first/,
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
      { status: 2, stderr: /is no address: write http:\/\/acme\.loc/ },
      wrong,
    );
  }
  t.same(asked, []);
  const env = { SLUICE_URL: 'http://elsewhere.invalid', SLUICE_TOKEN: TOKEN };
  t.match(await runIn(env, 'tasks', 'list', '--url', url), { status: 0 });
  t.match(asked, [{ method: 'GET', headers: { host: new URL(url).host, authorization: `Bearer ${TOKEN}` } }]);
});

t.test('a service that is not there is told with its address and what to do', async t => {
  const url = `http://acme.localhost:${await freePort()}`;
  const { status, stdout, stderr } = await runIn({ SLUICE_URL: url, SLUICE_TOKEN: TOKEN }, 'tasks', 'list');
  t.match({ status, stdout }, { status: 2, stdout: '' });
  t.ok(stderr.startsWith(`sluice tasks: ${url} could not be asked: `), stderr);
  t.match(stderr, /ECONNREFUSED.*Is the service running there\? Name another with --url or SLUICE_URL\.\n$/);
  t.notMatch(stderr, TOKEN);
});

t.test('a service without tasks is told apart', async t => {
  for (const body of ['', 'Not Found', '{"error":{"code":"not_found"}}', '[]']) {
    const { url, tasks } = await scripted(t, () => ({ status: 404, body }));
    t.match(await tasks('workers'), {
      status: 2,
      stderr:
        `sluice tasks: ${url} answered with HTTP status 404 and nothing that the task service would say: ` +
        'is it running with TASKS_ENABLED=true there?\n',
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
        `sluice tasks: ${isAccount ? other : url} answered with JSON, but with nothing that the task service ` +
        'would say: is it running with TASKS_ENABLED=true there?\n',
    });
  }
});

t.test('a refusal is told with every field that is at fault, once', async t => {
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
  t.equal(lines[0], '29850 of 30000 tasks would start again');
  t.equal(lines[1], '  not tsk_0: not_found');
  t.same(lines.slice(101), ['  and 50 more', '']);
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
  t.match(await none.tasks('history', '--newest'), { status: 2, stderr: /there is no task yet\./ });
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
  t.match(all, /^Usage: sluice tasks <what> \[flags\]\n/);
  const calls = [...all.matchAll(/^ {2}([a-z][a-z -]*?)(?: (?:[A-Z[].*?)?)? {2,}\S/gm)].map(
    ([, name]) => name,
  );
  t.ok(calls.length > 40, calls.join(', '));
  for (const name of calls) {
    const { status, stdout } = await run('tasks', ...name.split(' '), '--help');
    t.equal(status, 0);
    t.ok(stdout.startsWith(`Usage: sluice tasks ${name}`), `${name}: ${stdout.split('\n', 1)[0]}`);
    t.match(stdout, /\nFlags:\n {2}--/, name);
    for (const line of stdout.split('\nFlags:')[0].split('\n')) t.ok(line.length <= 120, line);
  }
  const create = (await run('tasks', 'schedules', 'create', 'x', '-h')).stdout;
  t.match(create, / --cron TEXT /);
  t.notMatch(create, / --push-to /);
  const group = (await run('tasks', 'accounts', '--help')).stdout;
  t.match(group, /^Usage: sluice tasks accounts <what> \[flags\]\n[\s\S]*accounts owner-token DOMAIN /);
  t.notMatch(group, /schedules/);
});

t.test('a service of an operator that is not there is told with how to name another', async t => {
  const service = `http://localhost:${await freePort()}`;
  const env = { SLUICE_SERVICE: service, ACCOUNTS_OPERATOR_TOKEN: 'operator' };
  const { stderr } = await runIn(env, 'tasks', 'accounts', 'suspend', 'acme');
  t.match(stderr, `${service} could not be asked: `);
  t.match(stderr, /Name another with --service or SLUICE_SERVICE\.\n$/);
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
