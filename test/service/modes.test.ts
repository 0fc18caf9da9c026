import t, { type Test } from 'tap';
import { askOverGrpc, askOverHttp, dialled, getPage, statistic } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import { freePort } from '../support/free-port.ts';
import { GrpcClient } from '../support/grpc-client.ts';
import { writeRules } from '../support/rule-files.ts';
import { ServiceProcess, startService } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const RULES = `
domain: d
descriptors:
  - {key: a, rate_limit: {unit: year, requests_per_unit: 1}}
  - {key: b, rate_limit: {unit: year, requests_per_unit: 100}}
`;
const RULE = 'ratelimit.service.rate_limit.d';

const asking = (hitsAddend: number, ...keys: string[]) => ({
  domain: 'd',
  descriptors: keys.map(key => ({ entries: [{ key, value: 'x' }] })),
  hitsAddend,
});

function rules(t: Test, text = RULES): Record<string, string> {
  const RUNTIME_ROOT = writeRules(tempDirectory(t), { 'config/rules.yaml': text });
  return { RUNTIME_ROOT, RUNTIME_WATCH_ROOT: 'false' };
}

async function start(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  const service = await startService({ env: { ...rules(t), ...env } });
  t.teardown(() => service.terminate());
  return service;
}

t.test('SHADOW_MODE lets every request pass, and counts those that it lets pass', async t => {
  const service = await start(t, { SHADOW_MODE: 'true' });
  t.match(await askOverHttp(service.http, asking(1, 'a', 'b')), { status: 200 });
  t.match(await askOverHttp(service.http, asking(1, 'a', 'b')), {
    status: 200,
    body: { overallCode: 'OK', statuses: [{ code: 'OVER_LIMIT' }, { code: 'OK' }] },
  });
  t.equal(await statistic(service.debug, 'ratelimit.service.global_shadow_mode'), 1);
  t.equal(await statistic(service.debug, `${RULE}.a.over_limit`), 1);
});

t.test('NEAR_LIMIT_RATIO is the share of a limit above which hits are near it', async t => {
  for (const [ratio, near] of [
    ['0.5', 40],
    ['1', 0],
  ] as const) {
    const service = await start(t, { NEAR_LIMIT_RATIO: ratio });
    t.match(await askOverHttp(service.http, asking(90, 'b')), { status: 200 });
    t.equal(await statistic(service.debug, `${RULE}.b.near_limit`), near, ratio);
    await service.terminate();
  }
});

t.test('LocalCacheSizeInBytes remembers keys that are over their limit', async t => {
  const service = await start(t, { LocalCacheSizeInBytes: '600000' });
  for (const status of [200, 429, 429]) t.match(await askOverHttp(service.http, asking(1, 'a')), { status });
  t.equal(await statistic(service.debug, `${RULE}.a.over_limit_with_local_cache`), 1);
  t.equal(await statistic(service.debug, 'ratelimit.localcache.entryCount'), 1);
});

t.test('STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT keeps hits beside one over its limit uncounted', async t => {
  const service = await start(t, { STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: 'true' });
  t.match(await askOverHttp(service.http, asking(1, 'a', 'b')), { status: 200 });
  t.match(await askOverHttp(service.http, asking(1, 'a', 'b')), { status: 429 });
  t.match(await askOverHttp(service.http, asking(1, 'b')), { body: { statuses: [{ limitRemaining: 98 }] } });
});

const oneLoopback = process.platform !== 'linux' && 'this system has one loopback address only';

t.test('each server listens at its own host and port', { skip: oneLoopback }, async t => {
  const [PORT, GRPC_PORT, DEBUG_PORT] = await Promise.all([freePort(), freePort(), freePort()]);
  const service = await start(t, {
    HOST: '127.0.0.2',
    PORT: String(PORT),
    GRPC_HOST: '127.0.0.3',
    GRPC_PORT: String(GRPC_PORT),
    DEBUG_HOST: '127.0.0.4',
    DEBUG_PORT: String(DEBUG_PORT),
  });
  t.equal(service.http, `127.0.0.2:${PORT}`);
  t.equal(service.grpc, `127.0.0.3:${GRPC_PORT}`);
  t.equal(service.debug, `127.0.0.4:${DEBUG_PORT}`);
  t.match(await askOverHttp(service.http, asking(1, 'b')), { status: 200 });
  t.equal((await getPage(service.debug, '/rlconfig')).status, 200);
  const grpc = new GrpcClient(dialled(service.grpc));
  t.teardown(() => grpc.close());
  t.equal((await askOverGrpc(grpc, request('d', 'b=x'))).overallCode, 1);
});

t.test('LOG_LEVEL is the least severe level that is written', async t => {
  const levels = async (LOG_LEVEL: string): Promise<unknown[]> => {
    const service = new ServiceProcess({ env: { ...rules(t, 'domain: ""\n'), LOG_LEVEL } });
    t.teardown(() => service.terminate());
    await service.logged(line => line['level'] === 'error');
    await service.terminate();
    return [...new Set(service.logs.map(line => line['level']))];
  };
  t.same(await levels('error'), ['error']);
  const atInfo = await levels('info');
  t.ok(atInfo.includes('info') && !atInfo.includes('debug'), atInfo.join());
  t.ok((await levels('debug')).includes('debug'));
});
