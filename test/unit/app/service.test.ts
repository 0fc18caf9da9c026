import t, { type Test } from 'tap';
import { DecisionService } from '../../../src/app/service.ts';
import { loadSteeringStore } from '../../../src/app/steering/open-steering.ts';
import { loadStoreFactory } from '../../../src/app/stores/stores.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import { freePort } from '../../support/free-port.ts';
import { HTTP_ENGINE } from '../../support/http-engine.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { memcachedFor } from '../../support/memcached-server.ts';
import { writeRules } from '../../support/rule-files.ts';
import { tempDirectory } from '../../support/temp-directory.ts';
import { until } from '../../support/until.ts';
import { isOpen } from './connecting.ts';
import { holdLookups } from './held-lookup.ts';

const RULES = 'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: day, requests_per_unit: 3}\n';

/** A service with the embedded store and one rule, on loopback ports that were free a moment ago. */
async function freshService(t: Test, env: Readonly<Record<string, string>> = {}, rules = RULES) {
  const numbers = [await freePort(), await freePort(), await freePort()];
  const [PORT, GRPC_PORT, DEBUG_PORT] = numbers.map(String);
  const logger = new KeepingLogger();
  const settings = loadSettings({
    ...{ HOST: '127.0.0.1', GRPC_HOST: '127.0.0.1', DEBUG_HOST: '127.0.0.1' },
    ...{ PORT, GRPC_PORT, DEBUG_PORT },
    RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': rules }),
    ...env,
  });
  const service = new DecisionService({
    settings,
    logger,
    clock: systemClock,
    random: () => 0,
    openTracing: null,
    version: '0.0.0',
    httpEngine: HTTP_ENGINE,
    createStore: await loadStoreFactory(settings),
    openSteeringStore: await loadSteeringStore(settings),
    openTasks: null,
    openDecisionLog: null,
  });
  t.teardown(() => service.stop());
  const openPorts = async () => (await Promise.all(numbers.map(isOpen))).filter(open => open).length;
  return { service, logger, openPorts };
}

t.test('a stop that does not wait for the start leaves nothing open, and the start tells so', async t => {
  const { service, logger, openPorts } = await freshService(t);
  const started = service.start();
  await service.stop();
  t.equal(await started, null);
  t.equal(await openPorts(), 0);
  t.same(logger.lines, []);
});

t.test('a stop while the ports are being opened closes what was opened', async t => {
  const lookup = holdLookups(t);
  const { service, logger, openPorts } = await freshService(t, { GRPC_HOST: 'localhost' });
  const started = service.start();
  await lookup.asked;
  const stopped = service.stop();
  lookup.release();
  await stopped;
  t.equal(await started, null);
  t.equal(await openPorts(), 0);
  t.notOk(logger.messages('info').some(message => message.endsWith('server listening')));
});

t.test('nothing starts after a stop', async t => {
  const { service, openPorts } = await freshService(t);
  await service.stop();
  t.equal(await service.start(), null);
  t.equal(await openPorts(), 0);
});

t.test('a start that fails stops what was started and tells why', async t => {
  const first = await freshService(t);
  const addresses = await first.service.start();
  const taken = addresses?.grpc.split(':')[1] as string;
  const { service, openPorts } = await freshService(t, { GRPC_PORT: taken });
  await t.rejects(service.start(), /cannot listen on 127\.0\.0\.1:\d+.*GRPC_PORT/);
  t.equal(await openPorts(), 0);
});

t.test('rules that memcached cannot count are refused if it is the store', async t => {
  const memcached = await memcachedFor(t);
  const rules = RULES.replace('{unit: day,', '{unit: day, algorithm: token_bucket,');
  const env = { BACKEND_TYPE: 'altcache', ALTCACHE_HOST_PORT: memcached.address };
  const { service, logger } = await freshService(t, env, rules);
  const refused = () => logger.messages('error').includes('Rules not loaded; no rules are active yet');
  const started = service.start();
  await Promise.race([started, until(refused)]);
  t.ok(refused());
  await service.stop();
  await started;
});
