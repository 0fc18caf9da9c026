import { join } from 'node:path';
import t, { type Test } from 'tap';
import { askOverHttp, getPage } from '../support/asking.ts';
import { startedRedis } from '../support/exactness/expect.ts';
import { type FrontClient, grpcFront, jsonFront } from '../support/exactness/fronts.ts';
import type { Call, Counter } from '../support/exactness/load.ts';
import { examineCalls } from '../support/exactness/model.ts';
import { countsInRedis, DOMAIN, loadOn, ruleSettings, startProcesses } from '../support/exactness/setup.ts';
import { statisticsOf } from '../support/exactness/statistics.ts';
import { ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';

const ASK = {
  domain: DOMAIN,
  descriptors: [{ entries: [{ key: 'site', value: 'www' }], limit: null, hitsAddend: null }],
  hitsAddend: 0,
};
const SITE_HITS = 'ratelimit.service.rate_limit.shop.site.total_hits';

/** Connections until which two processes on one port have surely both got one: chance favours neither. */
const MANY = 100;

for (const engine of ['sluice', 'grpc-js']) {
  t.test(`two processes share the ports, each with statistics of its own (${engine})`, async t => {
    const redis = await startedRedis(t);
    const env = { REDIS_URL: redis.address, GRPC_SERVER_ENGINE: engine };
    const processes = await startProcesses(t, 2, { ...ruleSettings(t), ...env });
    const [first, second] = processes;
    t.equal(first.http, second.http);
    t.equal(first.grpc, second.grpc);
    t.not(first.debug, second.debug);
    const overGrpc = await callUntilBothAnswered(t, processes, () => grpcFront(first.grpc));
    const overHttp = await callUntilBothAnswered(t, processes, () => jsonFront(first.http));
    const hits = await hitsOf(processes);
    t.equal(hits[0] + hits[1], overGrpc + overHttp);
    t.ok(hits[0] > 0 && hits[1] > 0, hits.join(' and '));
  });
}

t.test('without SHARE_PORTS a second process fails, whichever port it would share', async t => {
  const settings = ruleSettings(t);
  const first = await serviceFor(t, { env: settings });
  const [PORT, GRPC_PORT] = [first.http, first.grpc].map(address => address.split(':')[1]);
  const fails = async (env: Record<string, string>, message: RegExp) => {
    const second = new ServiceProcess({ env: { ...settings, ...env } });
    t.match(await second.ended, { status: 2 });
    t.match(second.output, message);
  };
  await Promise.all([
    fails({ PORT }, /set PORT to a free port, or start every process with SHARE_PORTS=true/),
    fails({ PORT, GRPC_PORT }, /set GRPC_PORT to a free port, or start every process with SHARE_PORTS=true/),
    fails({ PORT, SHARE_PORTS: 'true' }, /by one without SHARE_PORTS=true/),
  ]);
  t.match(await askOverHttp(first.http, ASK), { status: 200 });
});

t.test('a debug port and a unix socket are for one process: each needs its own', async t => {
  const path = join(tempDirectory(t), 'grpc.sock');
  const settings = { ...ruleSettings(t), SHARE_PORTS: 'true' };
  const first = await serviceFor(t, { env: { ...settings, GRPC_UDS: path } });
  const second = new ServiceProcess({ env: { ...settings, GRPC_UDS: path } });
  t.match(await second.ended, { status: 2 });
  t.match(second.output, /another process accepts connections there, and SHARE_PORTS does not apply/);
  const DEBUG_PORT = first.debug.split(':')[1];
  const third = await serviceFor(t, {
    env: { ...settings, GRPC_UDS: `${path}.3`, DEBUG_PORT },
    fronts: ['http', 'grpc'],
  });
  t.match(
    third.output,
    /Debug port could not be opened.*set DEBUG_PORT to a free port, because each process needs its own/,
  );
  t.match(await getPage(first.debug, '/stats'), { status: 200 });
});

t.test('each process on an embedded store counts for itself, and says so when ports are shared', async t => {
  const [process] = await startProcesses(t, 1, ruleSettings(t));
  const line = await process.logged(each =>
    /embedded store: each process counts separately/.test(String(each['@message'])),
  );
  t.match(line, { level: 'warning' });
});

t.test('a process that is killed under load takes only its own calls with it, and is replaced', async t => {
  const redis = await startedRedis(t);
  const settings = { ...ruleSettings(t), REDIS_URL: redis.address };
  const [first, second] = await startProcesses(t, 2, settings);
  const counters: Counter[] = ['a', 'b', 'c'].map(site => ({
    text: `site=${site}`,
    rule: 'shop.site',
    limit: 10_000_000,
  }));
  const load = loadOn(t, first, { seed: 8, counters });
  let going = true;
  const running = load.runWhile(() => going);
  await load.heard(200, answer => 'told' in answer);
  await second.terminate('SIGKILL');
  await load.heard(200, answer => 'told' in answer);
  const [PORT, GRPC_PORT] = [first.http, first.grpc].map(address => address.split(':')[1]);
  const third = await serviceFor(t, { env: { ...settings, SHARE_PORTS: 'true', PORT, GRPC_PORT } });
  await callUntilBothAnswered(t, [first, third], () => jsonFront(first.http));
  going = false;
  await running;
  const verdict = examineCalls(load.calls);
  t.same(verdict.contradictions, []);
  const callers = (calls: readonly Call[]) => new Set(calls.map(({ caller }) => caller)).size;
  const failed = load.calls.filter(({ answer }) => 'error' in answer);
  t.ok(callers(failed) < callers(load.calls), 'some callers never noticed');
  const counts = await countsInRedis(redis, counters);
  for (const [{ text }, { answered, uncertain }] of verdict.tallies) {
    const count = counts.get(text)!;
    t.ok(answered <= count && count <= answered + uncertain, `${answered} <= ${count} <= +${uncertain}`);
  }
});

/** Calls over one new connection after the other until each process has answered some. Returns how many calls. */
async function callUntilBothAnswered(
  t: Test,
  processes: readonly ServiceProcess[],
  connect: () => FrontClient,
): Promise<number> {
  const before = await hitsOf(processes);
  for (let calls = 1; calls <= MANY; calls++) {
    const front = connect();
    const answer = await front.ask(ASK);
    front.close();
    t.match(answer, { overall: 'OK' });
    const hits = await hitsOf(processes);
    if (hits.every((now, i) => now > before[i])) return calls;
  }
  throw new Error(`after ${MANY} connections one process has answered none`);
}

function hitsOf(processes: readonly ServiceProcess[]): Promise<number[]> {
  return Promise.all(processes.map(async each => (await statisticsOf(each.debug)).get(SITE_HITS) ?? 0));
}
