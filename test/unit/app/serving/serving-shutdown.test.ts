import t from 'tap';
import { SERVING_STATUS } from '../../../../src/messages/health-codec.ts';
import { dialled } from '../../../support/asking.ts';
import { decodeHealthCheckResponse, encodeHealthCheckRequest } from '../../../support/health-messages.ts';
import { block } from '../../../support/threads/deaths.ts';
import { startServing } from '../../../support/threads/serving-service.ts';
import { WireClient } from '../../../support/wire-client.ts';

const CONNECTIONS = 24;
const BLOCKED_MS = 400;

t.test('no connection is closed before all threads know that the process is unhealthy', async t => {
  const { service, at, workers, client } = await startServing(t, 3);
  const watches = Array.from({ length: CONNECTIONS }, () =>
    client().stream('/grpc.health.v1.Health/Watch', encodeHealthCheckRequest('ratelimit')),
  );
  for (const watch of watches) {
    t.equal(decodeHealthCheckResponse(await watch.next()), SERVING_STATUS.serving);
  }
  await block(workers[1], BLOCKED_MS);
  const began = performance.now();
  const ended: number[] = [];
  for (const watch of watches) void watch.status.then(() => ended.push(performance.now() - began));
  const refused = watches.map(async watch => {
    await watch.status;
    await t.rejects(WireClient.connect(t, dialled(at.grpc)), { code: 'ECONNREFUSED' });
  });
  await service.stop();
  await Promise.all(refused);
  t.equal(ended.length, CONNECTIONS);
  // The loop began before the clock was read, so a few milliseconds may be missing.
  t.ok(Math.min(...ended) > BLOCKED_MS - 100, `the first one ended after ${Math.min(...ended)} ms`);
});
