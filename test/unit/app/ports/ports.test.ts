import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import t, { type Test } from 'tap';
import { Ports } from '../../../../src/app/ports/ports.ts';
import { systemClock } from '../../../../src/base/clock.ts';
import { Health } from '../../../../src/base/health.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { freePort } from '../../../support/free-port.ts';
import { HTTP_ENGINE } from '../../../support/http-engine.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { operatorApi } from '../../../support/operator-api.ts';
import { holdSharedPort } from '../../../support/shared-port.ts';
import { isOpen } from '../connecting.ts';
import { holdLookups } from '../held-lookup.ts';

const LOOPBACK = { HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1', DEBUG_HOST: '127.0.0.1' };

/** Ports of a service that decides nothing, each on a loopback port of its own that was free a moment ago. */
async function freePorts(t: Test, env: Readonly<Record<string, string>> = {}) {
  const [http, grpc, debug] = [await freePort(), await freePort(), await freePort()];
  const numbers = { PORT: String(http), GRPC_PORT: String(grpc), DEBUG_PORT: String(debug) };
  const logger = new KeepingLogger();
  const decisions = {
    settings: loadSettings({ ...LOOPBACK, ...numbers, ...env }),
    decider: { decide: () => t.fail('nobody asks') },
    rules: () => null,
    quotas: null,
    tracing: null,
    health: new Health(),
    stats: new StatsRegistry(),
    clock: systemClock,
    logger,
  };
  const ports = new Ports(decisions, HTTP_ENGINE, null, null, {
    dumpRules: () => [],
    dumpResources: () => [],
    explain: () => Promise.reject(new Error('nobody asks')),
    operator: operatorApi(),
  });
  t.teardown(() => ports.stop());
  const open = async () => ({
    http: await isOpen(http),
    grpc: await isOpen(grpc),
    debug: await isOpen(debug),
  });
  return { ports, open, numbers, logger };
}

const ALL_OPEN = { http: true, grpc: true, debug: true };
const NONE_OPEN = { http: false, grpc: false, debug: false };

t.test('all ports open, and all close', async t => {
  const { ports, open } = await freePorts(t);
  await ports.start();
  t.same(await open(), ALL_OPEN);
  await ports.stop();
  t.same(await open(), NONE_OPEN);
});

t.test('no other port opens before that of gRPC, which tells why it cannot be opened', async t => {
  const lookup = holdLookups(t);
  const { ports, open } = await freePorts(t, { GRPC_HOST: 'localhost' });
  const starting = ports.start();
  await lookup.asked;
  t.same(await open(), NONE_OPEN);
  lookup.release();
  await starting;
  t.same(await open(), ALL_OPEN);
});

t.test('a stop while a port is being opened leaves none open, and the start fails', async t => {
  const lookup = holdLookups(t);
  const { ports, open } = await freePorts(t, { GRPC_HOST: 'localhost' });
  const failing = t.rejects(ports.start(), { message: 'grpc was stopped while it started' });
  await lookup.asked;
  const stopped = ports.stop();
  lookup.release();
  await Promise.all([failing, stopped]);
  t.same(await open(), NONE_OPEN);
});

t.test('a stop at once after the start leaves nothing open', async t => {
  const { ports, open } = await freePorts(t);
  const failing = t.rejects(ports.start());
  await Promise.all([failing, ports.stop()]);
  t.same(await open(), NONE_OPEN);
});

t.test('when a port cannot be opened, those that were are closed again', async t => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.teardown(() => other.close());
  const { port } = other.address() as AddressInfo;
  const { ports, open } = await freePorts(t, { PORT: String(port) });
  await t.rejects(ports.start(), /cannot listen on 127\.0\.0\.1:\d+/);
  t.same(await open(), NONE_OPEN);
});

t.test('by default each port is for one process: a second fails and says how to share', async t => {
  const first = await freePorts(t);
  await first.ports.start();
  const second = await freePorts(t, { PORT: first.numbers.PORT, GRPC_PORT: first.numbers.GRPC_PORT });
  await t.rejects(second.ports.start(), /GRPC_PORT.*SHARE_PORTS=true/);
  const third = await freePorts(t, { PORT: first.numbers.PORT });
  await t.rejects(
    third.ports.start(),
    /set PORT to a free port, or start every process with SHARE_PORTS=true/,
  );
  t.same(await first.open(), ALL_OPEN);
});

t.test('with SHARE_PORTS=true HTTP and gRPC are shared, and the debug port is not', async t => {
  const http = await holdSharedPort();
  const grpc = await holdSharedPort();
  const env = { SHARE_PORTS: 'true', PORT: String(http.port), GRPC_PORT: String(grpc.port) };
  const first = await freePorts(t, env);
  await first.ports.start();
  const second = await freePorts(t, { ...env, DEBUG_PORT: first.numbers.DEBUG_PORT });
  await second.ports.start();
  await Promise.all([http.release(), grpc.release()]);
  t.equal(second.ports.addresses.http, `127.0.0.1:${http.port}`);
  t.equal(second.ports.addresses.grpc, `127.0.0.1:${grpc.port}`);
  t.equal(second.ports.addresses.debug, null);
  t.match(
    second.logger.lines.map(line => `${line.message} ${line.fields['error'] ?? ''}`),
    [
      /embedded store/,
      /Debug port could not be opened.*set DEBUG_PORT to a free port, because each process needs its own/,
    ],
  );
});

t.test('processes that share ports and a store are not warned of counting apart', async t => {
  const env = { SHARE_PORTS: 'true', PORT: '0', GRPC_PORT: '0', KVCACHE_URL: '127.0.0.1:1' };
  const { ports, logger } = await freePorts(t, env);
  await ports.start();
  t.same(logger.lines, []);
});

t.test('a debug port that cannot be opened is logged, and the other ports open', async t => {
  const { ports, open } = await freePorts(t, { DEBUG_HOST: '256.256.256.256' });
  await ports.start();
  t.same(await open(), { http: true, grpc: true, debug: false });
  t.equal(ports.addresses.debug, null);
});
