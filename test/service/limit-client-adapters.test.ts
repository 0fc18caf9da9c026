import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  LimitClient,
  type LimitRequest,
  limitExpress,
  limitFastify,
  limitFetch,
  limitHono,
} from '../../clients/limit/src/index.ts';
import { Child } from '../support/child-process.ts';
import { repositoryRoot } from '../support/repository.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';

/** The frameworks are packages of the client's folder, which only tests install. */
const load = createRequire(join(repositoryRoot(), 'clients/limit/package.json'));

const RULES = {
  'config/plain.yaml': `domain: plain
descriptors:
  - {key: user, rate_limit: {name: per "user", unit: day, requests_per_unit: 2}}
`,
  'config/explained.yaml': `domain: explained
answers: {retry_after: true, ratelimit_headers: true, problem_body: true}
descriptors:
  - {key: user, rate_limit: {unit: day, requests_per_unit: 1}}
`,
};

let service: ServiceProcess;
t.before(async () => {
  service = await serviceFor(t, { rules: RULES });
});

/** What to ask about a request of `domain:user`; requests without one are not limited. */
function ask(user: string | null | undefined): LimitRequest | null {
  if (user === 'mistake') throw new Error('a mistake in ask');
  return user ? { domain: user.split(':')[0], descriptors: [{ entries: { user } }] } : null;
}

/** Sends a request to an application. */
type Send = (user?: string) => Promise<Response>;

/** An application that answers `hello`, with a client that limits it. It ends with the test. */
type Start = (t: Test, client: LimitClient) => Promise<Send>;

const URL_OF_APP = 'http://app.test/';
const headersOf = (user?: string): Record<string, string> => (user === undefined ? {} : { 'x-user': user });
const fetchFrom =
  (port: number): Send =>
  user =>
    fetch(`http://127.0.0.1:${port}/`, { headers: headersOf(user) });

const FRAMEWORKS: Readonly<Record<string, Start>> = {
  'a fetch handler': async (_, client) => {
    const handler = limitFetch(
      client,
      ({ headers }: Request) => ask(headers.get('x-user')),
      (_request: Request, text: string) => new Response(text, { status: 201, headers: { 'x-own': 'yes' } }),
    );
    return user => handler(new Request(URL_OF_APP, { headers: headersOf(user) }), 'hello');
  },
  Express: async (t, client) => {
    const app = load('express')();
    app.use(limitExpress(client, request => ask(request.headers['x-user'] as string | undefined)));
    app.get('/', (_request: unknown, response: { status(code: number): { send(text: string): void } }) =>
      response.status(201).send('hello'),
    );
    // Otherwise Express writes the error of the test to the console.
    app.use(
      (_error: unknown, _request: unknown, response: { sendStatus(code: number): void }, _next: unknown) =>
        response.sendStatus(500),
    );
    const server = createServer(app).listen(0, '127.0.0.1');
    await new Promise(resolve => server.once('listening', resolve));
    t.teardown(() => server.close());
    return fetchFrom((server.address() as AddressInfo).port);
  },
  Fastify: async (t, client) => {
    const app = load('fastify')();
    const limit = limitFastify(client, ({ headers }: { headers: Record<string, string> }) =>
      ask(headers['x-user']),
    );
    app.get('/', { onRequest: limit }, async (_request: unknown, reply: { code(status: number): void }) => {
      reply.code(201);
      return 'hello';
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    t.teardown(() => app.close());
    return fetchFrom(app.server.address().port);
  },
  Hono: async (_, client) => {
    const app = new (load('hono').Hono)();
    app.use(
      limitHono(
        client,
        (context: {
          res: Response;
          header(name: string, value: string): void;
          req: { header(name: string): string };
        }) => ask(context.req.header('x-user')),
      ),
    );
    app.get('/', () => new Response('hello', { status: 201 }));
    app.onError((_error: unknown, context: { text(text: string, status: number): Response }) =>
      context.text('failed', 500),
    );
    return user => app.request(URL_OF_APP, { headers: headersOf(user) });
  },
};

function clientOf(t: Test, address: string): LimitClient {
  const client = new LimitClient({ address, timeoutMs: 30_000, onFailure: 'deny' });
  t.teardown(() => client.close());
  return client;
}

for (const [name, start] of Object.entries(FRAMEWORKS)) {
  t.test(`${name} passes on what is allowed, and answers what is not`, async t => {
    const send = await start(t, clientOf(t, service.grpc));
    const ann = `plain:ann of ${name}`;
    const first = await send(ann);
    t.match([first.status, await first.text()], [201, 'hello']);
    t.match(first.headers.get('ratelimit'), /^"per \\"user\\"";r=1;t=\d+$/);
    t.equal(first.headers.get('ratelimit-policy'), '"per \\"user\\"";q=2');
    t.equal(first.headers.get('retry-after'), null);
    await send(ann);
    const rejected = await send(ann);
    t.match([rejected.status, await rejected.text()], [429, 'Too many requests\n']);
    const [, reset] = /;r=0;t=(\d+)$/.exec(rejected.headers.get('ratelimit') ?? '') ?? [];
    t.ok(Number(reset) > 0);
    t.equal(rejected.headers.get('retry-after'), reset);
    const unlimited = await send();
    t.match([unlimited.status, await unlimited.text()], [201, 'hello']);
    t.equal(unlimited.headers.get('ratelimit'), null);
  });

  t.test(`${name} sends the headers and the body of the service`, async t => {
    const send = await start(t, clientOf(t, service.grpc));
    const ann = `explained:ann of ${name}`;
    const first = await send(ann);
    t.equal(first.headers.get('ratelimit-policy'), '"explained.user";q=1;w=86400');
    await first.text();
    const rejected = await send(ann);
    t.equal(rejected.status, 429);
    t.match(rejected.headers.get('ratelimit'), /^"explained\.user";r=0;t=\d+$/);
    // Fastify adds the charset.
    t.match(rejected.headers.get('content-type'), /^application\/problem\+json\b/);
    t.match(await rejected.json(), { status: 429, 'violated-policies': ['explained.user'] });
  });

  t.test(`${name} is unavailable without a decision, if the program says so`, async t => {
    const send = await start(t, clientOf(t, '127.0.0.1:1'));
    const denied = await send('plain:ann');
    t.match([denied.status, await denied.text()], [503, 'Service unavailable\n']);
    t.equal(denied.headers.get('retry-after'), '1');
  });

  t.test(`${name} handles errors of the program as its own`, async t => {
    const send = await start(t, clientOf(t, '127.0.0.1:1'));
    if (name === 'a fetch handler') await t.rejects(send('mistake'), /a mistake in ask/);
    else t.equal((await send('mistake')).status, 500);
  });
}

t.test('the headers of a response that cannot be changed are copied', async t => {
  const client = clientOf(t, service.grpc);
  const handler = limitFetch(
    client,
    () => ask('plain:ann'),
    () => Response.redirect('http://app.test/other'),
  );
  const response = await handler(new Request(URL_OF_APP));
  t.match([response.status, response.headers.get('location')], [302, 'http://app.test/other']);
  t.ok(response.headers.has('ratelimit'));
});

t.test('a response that cannot be copied is returned as it is', async t => {
  const failed = Response.error();
  const limited = () => ask('plain:bob');
  const handler = limitFetch(clientOf(t, service.grpc), limited, () => failed);
  t.equal(await handler(new Request(URL_OF_APP)), failed);
  const app = new (load('hono').Hono)();
  app.use(limitHono(clientOf(t, service.grpc), limited));
  app.get('/', () => failed);
  t.equal(await app.request(URL_OF_APP), failed);
});

const PROGRAM = `
const { LimitClient, limitExpress } = await import(process.argv[1]);
process.on('uncaughtException', (error, origin) => console.log(origin + ' ' + error.message));
const client = new LimitClient({ address: '127.0.0.1:1' });
const next = error => {
  throw error ?? new Error('from next');
};
limitExpress(client, () => null)({}, {}, next);
limitExpress(client, () => Promise.reject(new Error('from ask')))({}, {}, next);
`;

t.test('what the next middleware of Express throws is not a rejection of the adapter', async t => {
  const entry = join(repositoryRoot(), 'build/clients/limit/src/index.js');
  const program = new Child({
    command: process.execPath,
    args: ['--input-type=module', '--eval', PROGRAM, '--', entry],
    env: {},
  });
  t.teardown(() => program.end('SIGKILL', 0));
  t.match(await program.ended, { status: 0 }, program.output);
  t.same(program.output.split('\n').sort(), [
    '',
    'uncaughtException from ask',
    'uncaughtException from next',
  ]);
});
