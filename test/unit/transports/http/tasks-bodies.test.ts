import type { Test } from 'tap';
import t from 'tap';
import type { RestHandler, RestRequest, RestResponse } from '../../../../src/tasks/rest/http/http.ts';
import type { HttpEngine } from '../../../../src/transports/http/listener.ts';
import { nodeEngine } from '../../../../src/transports/http/node/node-server.ts';
import { tasksRoutes } from '../../../../src/transports/http/routes/tasks-routes.ts';
import { jsonNotFound } from '../../../../src/transports/http/routes.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { JoinedCalls } from '../../../support/tasks/joined-calls.ts';
import { until } from '../../../support/until.ts';
import { frontCalls, httpEngine, onEachFront } from './on-each-engine.ts';
import { RawConnection } from './raw-connection.ts';
import { serve } from './serving.ts';

// Bodies of task requests whose callers go away, or send them in an odd way, at every moment.

const REFUSED: RestResponse = { status: 401, headers: {}, body: '{}' };
const DONE: RestResponse = { status: 200, headers: {}, body: '{}' };

/** Checks heads when the test says so; then rejects the request or reads the body. */
class SlowHandler implements RestHandler {
  readonly bodies: Uint8Array[] = [];
  asked = 0;
  readonly #takes: boolean;
  readonly #looks = Promise.withResolvers<void>();

  constructor(takes: boolean) {
    this.#takes = takes;
  }

  look(): void {
    this.#looks.resolve();
  }

  async handle(request: RestRequest): Promise<RestResponse> {
    this.asked++;
    await this.#looks.promise;
    if (!this.#takes) return REFUSED;
    await request.takeBody?.();
    this.bodies.push(request.body);
    return DONE;
  }
}

interface Bounds {
  readonly calls?: number;
  readonly heldBytes?: number;
  readonly engine?: HttpEngine;
}

async function front(
  t: Test,
  handler: RestHandler,
  { calls: max = 1_000, heldBytes = 2 ** 26, engine = httpEngine() }: Bounds = {},
) {
  const unknown = jsonNotFound([]);
  const log = new KeepingLogger();
  const calls = new JoinedCalls(handler, log, { calls: max, bytes: 2 ** 26 });
  const routes = tasksRoutes({ calls: frontCalls(t, calls), serviceHost: 'tasks.localhost', root: unknown });
  const limits = { maxConnections: 100, maxHeldBytes: heldBytes };
  const listener = await serve(t, routes, { engine, unknown, limits });
  const open = async (): Promise<RawConnection> => {
    const connection = await RawConnection.openFor(t, listener.port);
    return connection;
  };
  return { calls, open };
}

function head(...fields: readonly string[]): string {
  return ['POST /api/v1/tasks HTTP/1.1', 'Host: acme.tasks.localhost', ...fields, '', ''].join('\r\n');
}

for (const takes of [false, true]) {
  const outcome = takes ? 'whose body would be taken in' : 'that is refused';
  onEachFront(
    `a call ${outcome} after its caller has reset the connection takes no place any more`,
    async t => {
      const handler = new SlowHandler(takes);
      const { calls, open } = await front(t, handler);
      const other = await open();
      for (const sent of ['', 'x'.repeat(100)]) {
        const connection = await open();
        const { asked } = handler;
        await connection.write(head('Content-Length: 100000') + sent);
        await until(() => handler.asked > asked);
        connection.reset();
        t.equal(
          (await other.ask('GET / HTTP/1.1\r\nHost: x\r\n\r\n')).status,
          404,
          'the reset has been noticed by now, if it is',
        );
      }
      handler.look();
      await until(() => calls.places.calls === 0 && calls.places.bytes === 0);
      t.equal(handler.bodies.length, 0);
    },
  );
}

for (const takes of [false, true]) {
  const outcome = takes ? 'whose body would be taken in' : 'that is refused';
  onEachFront(`a call ${outcome} after it has given way to others takes no place any more`, async t => {
    const handler = new SlowHandler(takes);
    const { calls, open } = await front(t, handler, { heldBytes: 10_000 });
    const connections = await Promise.all([open(), open()]);
    for (const connection of connections) {
      const { asked } = handler;
      await connection.write(head('Content-Length: 100000') + 'x'.repeat(8_000));
      await until(() => handler.asked > asked);
    }
    t.equal((await connections[0].response()).status, 503, 'what came first gives way');
    handler.look();
    await connections[1].write('x'.repeat(92_000));
    t.equal((await connections[1].response()).status, takes ? 200 : 401);
    await until(() => calls.places.calls === 0 && calls.places.bytes === 0);
  });
}

t.test('node: a call whose body does not come in time takes no place any more', async t => {
  const handler = new SlowHandler(true);
  handler.look();
  const engine = nodeEngine({ maxHeaderBytes: 16_384, idleMs: 50 });
  const { calls, open } = await front(t, handler, { engine });
  const connection = await open();
  t.equal((await connection.ask(head('Content-Length: 100000'))).status, 408);
  await until(() => calls.places.calls === 0 && calls.places.bytes === 0);
});

onEachFront('a large body for which there is no place is not kept', async t => {
  const handler = new SlowHandler(true);
  const { open } = await front(t, handler, { calls: 0 });
  const connection = await open();
  await connection.write(head('Content-Length: 1000000') + 'x'.repeat(900_000));
  const { status, headers } = await connection.ask('x'.repeat(100_000));
  t.equal(status, 503);
  t.equal(headers.get('retry-after'), '1');
  t.equal(headers.get('connection'), 'close', 'what still comes is dropped, not waited for');
  t.equal(handler.asked, 0);
});

onEachFront('a body in thousands of tiny chunks is refused, and its connection ends', async t => {
  const handler = new SlowHandler(true);
  const { calls, open } = await front(t, handler);
  const connection = await open();
  const { status, headers, body } = await connection.ask(
    head('Transfer-Encoding: chunked') + '1\r\nx\r\n'.repeat(3_000),
  );
  t.equal(status, 400);
  t.equal(headers.get('connection'), 'close');
  t.match(JSON.parse(body), { code: 'chunks_too_small' });
  t.strictSame([handler.asked, calls.places.calls, calls.places.bytes], [0, 0, 0]);
});
