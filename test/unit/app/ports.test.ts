import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import t, { type Test } from 'tap';
import { Ports } from '../../../src/app/ports.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { Health } from '../../../src/base/health.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import { StatsRegistry } from '../../../src/stats/registry.ts';
import { freePort } from '../../support/free-port.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { isOpen } from './connecting.ts';
import { holdLookups } from './held-lookup.ts';

const LOOPBACK = { HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1', DEBUG_HOST: '127.0.0.1' };

/** Ports of a service that decides nothing, each on a loopback port of its own that was free a moment ago. */
async function freePorts(t: Test, env: Readonly<Record<string, string>> = {}) {
  const [http, grpc, debug] = [await freePort(), await freePort(), await freePort()];
  const numbers = { PORT: String(http), GRPC_PORT: String(grpc), DEBUG_PORT: String(debug) };
  const ports = new Ports({
    settings: loadSettings({ ...LOOPBACK, ...numbers, ...env }),
    decider: { decide: () => t.fail('nobody asks') },
    health: new Health(),
    stats: new StatsRegistry(),
    dumpRules: () => [],
    clock: systemClock,
    logger: new KeepingLogger(),
  });
  t.teardown(() => ports.stop());
  const open = async () => ({
    http: await isOpen(http),
    grpc: await isOpen(grpc),
    debug: await isOpen(debug),
  });
  return { ports, open };
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

t.test('no other port opens before that of gRPC, which is the one that is not shared', async t => {
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

t.test('a debug port that cannot be opened is told, and the others open', async t => {
  const { ports, open } = await freePorts(t, { DEBUG_HOST: '256.256.256.256' });
  await ports.start();
  t.same(await open(), { http: true, grpc: true, debug: false });
  t.equal(ports.addresses.debug, null);
});
