import { compressionAlgorithms } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { GRPC_STATUS } from '../../src/grpc/service.ts';
import { encodeRateLimitRequest, SHOULD_RATE_LIMIT_PATH } from '../../src/messages/client-codec.ts';
import { askOverGrpc, dialled, grpcTo } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import { GrpcClient } from '../support/grpc-client.ts';
import { encodeHealthCheckRequest } from '../support/health-messages.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import type { Teardown } from '../support/temp-directory.ts';

const RULES = `
domain: d
descriptors:
  - key: a
    rate_limit: {unit: day, requests_per_unit: 100000}
`;

async function start(t: Teardown, env: Readonly<Record<string, string>> = {}): Promise<ServiceProcess> {
  return await serviceFor(t, { rules: RULES, env: { RUNTIME_WATCH_ROOT: 'false', ...env } });
}

for (const engine of ['sluice', 'grpc-js']) {
  t.test(`callers that compress are answered, GRPC_SERVER_ENGINE=${engine}`, async t => {
    const { grpc } = await start(t, { GRPC_SERVER_ENGINE: engine });
    const client = new GrpcClient(dialled(grpc), undefined, {
      'grpc.default_compression_algorithm': compressionAlgorithms.gzip,
    });
    t.teardown(() => client.close());
    const large = request('d', ...Array.from({ length: 4_000 }, () => 'a=x'));
    t.equal((await askOverGrpc(client, large)).statuses.length, 4_000);
    const { statuses } = await askOverGrpc(client, request('d', 'a=x'));
    t.match(statuses, [{ limitRemaining: 100_000 - 4_001 }]);
    const health = await client.unary('/grpc.health.v1.Health/Check', encodeHealthCheckRequest('ratelimit'));
    t.strictSame(health, { status: GRPC_STATUS.ok, message: '', response: Buffer.from([8, 1]) });
    const watch = client.stream('/grpc.health.v1.Health/Watch', encodeHealthCheckRequest('ratelimit'));
    t.strictSame(await watch.next(), Buffer.from([8, 1]));
    watch.cancel();
    if (engine !== 'sluice') return;
    await t.test('more descriptors or entries than the maximum are rejected, and the error names it', t =>
      tooMany(t, grpc),
    );
  });
}

async function tooMany(t: Test, grpc: string): Promise<void> {
  const client = grpcTo(t, grpc);
  const call = (...descriptors: string[]) =>
    client.unary(SHOULD_RATE_LIMIT_PATH, encodeRateLimitRequest(request('d', ...descriptors)));
  const descriptors = Array.from({ length: 4_097 }, () => 'a=x');
  const entries = Array.from({ length: 257 }, () => 'a=x').join();
  const status = GRPC_STATUS.resourceExhausted;
  t.match(await call(...descriptors), { status, message: /at most 4096 descriptors/ });
  t.match(await call(entries), { status, message: /at most 256 entries/ });
  t.match(await call(...descriptors.slice(1)), { status: GRPC_STATUS.ok });
}
