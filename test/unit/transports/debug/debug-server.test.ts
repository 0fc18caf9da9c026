import type { Test } from 'tap';
import { systemClock } from '../../../../src/base/clock.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import type { DebugServer, DebugServerOptions } from '../../../../src/transports/debug/debug-server.ts';
import { MAX_PAGE_READERS } from '../../../../src/transports/debug/pages.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { onEachEngine } from '../http/on-each-engine.ts';
import { plain, RawConnection } from '../http/raw-connection.ts';
import { debugServer, startedDebugServer } from './debugging.ts';

const INDEX =
  "/api/v1/*: the operator's API; /api/v1/openapi.json describes it\n" +
  '/debug/pprof/: the available profiles\n' +
  '/debug/pprof/heap: memory that the primary thread allocates during the next `seconds` and still holds at the end\n' +
  '/debug/pprof/profile: CPU time of the primary thread during the next `seconds`\n' +
  '/explain: explains the decision for the RateLimitRequest in the body; nothing is counted\n' +
  '/rlconfig: the active rules, one line per limit\n' +
  '/stats: the statistics since the start of the process\n' +
  '/xds-dump: the resources of the xDS servers, as YAML; empty if the rules are from files\n';

function started(t: Test, options: Partial<DebugServerOptions> = {}): Promise<DebugServer> {
  return startedDebugServer(t, new ManualClock(0), options);
}

function get(server: DebugServer, path: string, init?: RequestInit): Promise<Response> {
  return fetch(`http://127.0.0.1:${server.port}${path}`, init);
}

onEachEngine('the root lists the endpoints by path; so does the 404 of every other path', async t => {
  const server = await started(t);
  for (const [path, status] of [
    ['/', 200],
    ['/nowhere', 404],
    ['/stats/', 404],
    ['/debug/pprof', 404],
    ['/debug/pprof/trace', 404],
  ] as const) {
    const response = await get(server, path);
    t.equal(response.status, status, path);
    t.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8');
    t.equal(await response.text(), INDEX, path);
  }
});

onEachEngine('/debug/pprof/ says how to ask for the profiles', async t => {
  const server = await started(t);
  const response = await get(server, '/debug/pprof/');
  t.equal(response.status, 200);
  const page = await response.text();
  t.match(page, '/debug/pprof/profile?seconds=30: CPU time');
  t.match(page, '/debug/pprof/heap?seconds=5: memory');
  t.match(page, 'profile?format=cpuprofile, heap?format=heapprofile');
});

onEachEngine('/stats includes what other threads have counted', async t => {
  const stats = new StatsRegistry();
  stats.onCollect(async () => stats.counter('fetched').add(1));
  const server = await started(t, { stats });
  t.match(await (await get(server, '/stats')).text(), 'fetched: 1\n');
});

onEachEngine('/rlconfig is the text of the rules that are active at the time', async t => {
  let rules: string[] = [];
  const server = await started(t, { dumpRules: () => rules });
  const before = await get(server, '/rlconfig');
  t.equal(before.status, 200);
  t.equal(await before.text(), '');
  rules = ['shop.user: unit=MINUTE requests_per_unit=20\n', 'shop.path: unit=DAY requests_per_unit=7\n'];
  const after = await get(server, '/rlconfig');
  t.equal(after.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.equal(await after.text(), rules.join(''));
});

onEachEngine('/rlconfig may be far larger than a reader takes at once', async t => {
  const rules = Array.from(
    { length: 200_000 },
    (_, i) => `shop.user_é${i}: unit=DAY requests_per_unit=${i}\n`,
  );
  const server = await started(t, { dumpRules: () => rules });
  const response = await get(server, '/rlconfig');
  t.equal(response.status, 200);
  t.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.ok((await response.text()) === rules.join(''));
});

onEachEngine('/stats shows the statistics', async t => {
  const stats = new StatsRegistry();
  stats.counter('ratelimit.service.config_load_success').add(1);
  const server = await started(t, { stats });
  const response = await get(server, '/stats');
  t.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.equal(await response.text(), 'ratelimit.service.config_load_success: 1\n');
  stats.counter('ratelimit.service.config_load_success').add(1);
  t.equal(await (await get(server, '/stats')).text(), 'ratelimit.service.config_load_success: 2\n');
});

onEachEngine('GET, HEAD and POST are served alike, and no other method', async t => {
  const server = await started(t);
  const pages = ['/', '/rlconfig', '/stats', '/debug/pprof/'];
  for (const path of pages) {
    const [got, posted] = [await get(server, path), await get(server, path, { method: 'POST', body: 'x' })];
    t.equal(posted.status, 200, path);
    t.equal(await posted.text(), await got.text(), path);
    const head = await get(server, path, { method: 'HEAD' });
    t.equal(head.status, 200, path);
    t.equal(head.headers.get('content-length'), got.headers.get('content-length'), path);
  }
  for (const path of [...pages, '/debug/pprof/profile']) {
    const put = await get(server, path, { method: 'PUT', body: 'x' });
    t.equal(put.status, 405, path);
    t.equal(put.headers.get('allow'), 'GET, HEAD, POST');
    await put.text();
  }
});

/** Lines without an end, made for as long as anybody reads them. */
function* endlessLines(): Iterable<string> {
  for (;;) yield `${'x'.repeat(99)}\n`;
}

onEachEngine('long pages have a limited number of readers, and the next one is rejected', async t => {
  const server = await started(t, { dumpRules: endlessLines });
  const readers = await Promise.all(
    Array.from({ length: MAX_PAGE_READERS }, async () => {
      const connection = await RawConnection.openFor(t, server.port);
      connection.pause();
      await connection.write(plain('GET', '/rlconfig'));
      return connection;
    }),
  );
  // Once a later request has been answered, the streams of all readers have started.
  await (await get(server, '/')).text();
  for (const path of ['/stats', '/rlconfig']) {
    const refused = await get(server, path);
    t.equal(refused.status, 503, path);
    t.ok(refused.headers.get('retry-after'));
    t.match(await refused.text(), /8 clients are already reading .*retry/);
  }
  t.equal((await get(server, '/')).status, 200, 'short pages are served all the same');
  readers[0].destroy();
  let status = 503;
  while (status === 503) status = (await get(server, '/stats')).status;
  t.equal(status, 200, 'a reader that has disconnected makes room');
});

onEachEngine('a page that is being read does not keep the port open', async t => {
  const server = await started(t, { dumpRules: endlessLines, clock: systemClock });
  const response = await get(server, '/rlconfig');
  await server.stop();
  await t.rejects(response.text());
});

onEachEngine('stopping before starting, and twice, is harmless; afterwards nothing listens', async t => {
  const server = debugServer(new ManualClock(0));
  await server.stop();
  await server.start();
  const { port } = server;
  await Promise.all([server.stop(), server.stop()]);
  t.equal(server.port, 0);
  await t.rejects(RawConnection.open(port), { code: 'ECONNREFUSED' });
});
