import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { SluiceClient } from '../../../../clients/typescript/src/client.ts';
import { Heartbeats } from '../../../../clients/typescript/src/heartbeats.ts';
import { runPullWorker } from '../../../../clients/typescript/src/pull-worker.ts';
import type { Lease } from '../../../../clients/typescript/src/schemas.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A client of a server that answers as a proxy may. */
async function clientOf(t: Test, answer: Answer): Promise<SluiceClient> {
  const server = createServer((request, response) => {
    request.resume();
    answer(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return new SluiceClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'x' });
}

t.test('a pull worker goes on after answers that are not of Sluice, and ends after one that is', async t => {
  const answers: [status: number, type: string, body: string][] = [
    [404, 'text/html', '<h1>No such host</h1>'],
    [403, 'text/html', '<h1>Forbidden</h1>'],
    [404, 'application/problem+json', JSON.stringify({ code: 'not_found', title: 'Not found', status: 404 })],
  ];
  const client = await clientOf(t, (_request, response) => {
    const [status, type, body] = answers.shift()!;
    response.writeHead(status, { 'Content-Type': type }).end(body);
  });
  const errors: string[] = [];
  const handle = async (): Promise<void> => {};
  const options = { client, worker: 'w', handle, onError: (error: unknown) => errors.push(String(error)) };
  await t.rejects(runPullWorker(options, new AbortController().signal), { code: 'not_found' });
  t.match(errors, [/status 404 and is not one of Sluice/, /status 403 and is not one of Sluice/]);
});

t.test('a heartbeat that failed waits as long as Retry-After says, also if there is progress', async t => {
  const times: number[] = [];
  const third = Promise.withResolvers<void>();
  const client = await clientOf(t, (_request, response) => {
    times.push(performance.now());
    if (times.length === 3) third.resolve();
    response.writeHead(503, { 'Retry-After': '2' }).end();
  });
  const now = new Date().toISOString();
  const task = { updated_at: now };
  const lease = { lease_id: 'l', expires_at: new Date(Date.now() + 60_000).toISOString(), task };
  const heartbeats = new Heartbeats({
    client,
    lease: lease as unknown as Lease,
    leaseMs: 60_000,
    failed: () => {},
    canceled: () => {},
    lost: () => {},
  });
  t.teardown(() => heartbeats.end());
  heartbeats.begin(true);
  const progressing = setInterval(() => heartbeats.progress(50), 100);
  t.teardown(() => clearInterval(progressing));
  await third.promise;
  t.ok(times[1] - times[0] > 1_900, `${times[1] - times[0]} ms`);
  t.ok(times[2] - times[1] > 1_900, `${times[2] - times[1]} ms`);
});
