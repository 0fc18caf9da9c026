import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { askOverHttp, statistic } from '../support/asking.ts';
import { Child } from '../support/child-process.ts';
import { request } from '../support/decisions.ts';
import { freePort } from '../support/free-port.ts';
import { hostNode } from '../support/host-node.ts';
import { redisFor } from '../support/redis-server.ts';
import { ReloadLoad } from '../support/reload-load.ts';
import { repositoryRoot } from '../support/repository.ts';
import { writeRules } from '../support/rule-files.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

const pm2 = join(repositoryRoot(), 'ops/pm2/node_modules/pm2/bin/pm2');
const skip = existsSync(pm2) ? false : 'PM2 is not installed in ops/pm2; npm test installs it';
const ASK = { domain: 'd', descriptors: [{ entries: [{ key: 'a', value: 'x' }] }] };
const RULES =
  'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: year, requests_per_unit: 100000000}\n';
const TOTAL = 'ratelimit.service.rate_limit.d.a.total_hits';

/** Whether something accepts connections on the port. */
async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return isOpen;
}

/** The first child of a process. */
function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')[0]);
}

/** The first of two free ports in a row. Below those that systems give to outgoing connections, one of which may come between. */
async function freePair(): Promise<number> {
  for (let port = 20_000 + (process.pid % 5_000) * 2; ; port += 2) {
    if (!(await answers(port)) && !(await answers(port + 1))) return port;
  }
}

/** Each takes some seconds; `PM2_RELOADS=20` for a long run. */
const RELOADS = Number(process.env['PM2_RELOADS'] ?? 2);

t.test(
  'PM2 on another Node.js starts processes on shared ports, reloads and stops them',
  { skip },
  async t => {
    const redis = await redisFor(t);
    const [http, grpc, debug] = [await freePort(), await freePort(), await freePair()];
    const home = tempDirectory(t);
    const node = hostNode(t);
    const env = {
      PATH: process.env['PATH'],
      PM2_HOME: home,
      LOG_FORMAT: 'json',
      LOG_LEVEL: 'info',
      INSTANCES: '2',
      HOST: '127.0.0.1',
      PORT: String(http),
      GRPC_HOST: '127.0.0.1',
      GRPC_PORT: String(grpc),
      DEBUG_HOST: '127.0.0.1',
      DEBUG_PORT: String(debug),
      KVCACHE_URL: `127.0.0.1:${redis.port}`,
      RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': RULES }),
    };
    /** Runs PM2 to its end and gives the lines that it wrote; what it starts goes on in the background. */
    const run = async (...args: string[]): Promise<string[]> => {
      const child = new Child({
        command: node,
        args: [pm2, ...args],
        env,
        cwd: repositoryRoot(),
      });
      const lines: string[] = [];
      child.onLine(line => lines.push(line));
      const { status } = await child.ended;
      if (status !== 0) throw new Error(`pm2 ${args.join(' ')}: exit status ${status}\n${lines.join('\n')}`);
      return lines;
    };
    const processes = async () => {
      const list = (await run('jlist')).find(line => line.startsWith('[{'));
      if (list === undefined) throw new Error('pm2 lists no processes');
      return JSON.parse(list) as { pid: number; pm2_env: { status: string } }[];
    };
    t.teardown(() => run('kill'));

    await run('start', join(repositoryRoot(), 'ops/pm2/ecosystem.config.cjs'));
    const started = await processes();
    t.same(
      started.map(each => each.pm2_env.status),
      ['online', 'online'],
    );
    for (let asked = 0; asked < 20; asked++)
      t.match(await askOverHttp(`127.0.0.1:${http}`, ASK), { status: 200 });
    const counted = async () =>
      (await statistic(`127.0.0.1:${debug}`, TOTAL)) + (await statistic(`127.0.0.1:${debug + 1}`, TOTAL));
    t.equal(await counted(), 20, 'each process has a debug port, and together they counted every hit once');

    const load = new ReloadLoad({
      http: `127.0.0.1:${http}`,
      grpc: `127.0.0.1:${grpc}`,
      json: ASK,
      message: request('d', 'a=x'),
    });
    for (let reload = 1; reload <= RELOADS; reload++) {
      const before = await processes();
      await load.during(() => run('reload', 'sluice'));
      const reloaded = await processes();
      t.same(
        reloaded.map(each => each.pm2_env.status),
        ['online', 'online'],
      );
      t.notOk(
        reloaded.some(each => before.some(({ pid }) => pid === each.pid)),
        'the processes are others',
      );
    }
    load.close();
    t.same(load.failures, [], `${load.answered} calls`);
    t.ok(load.answered > 0);
    t.comment(`${load.answered} calls were answered beside ${RELOADS} reloads`);

    const last = await askOverHttp(`127.0.0.1:${http}`, ASK);
    // They belonged to the processes that ended, so they open a moment after.
    await until(async () => (await answers(debug)) && (await answers(debug + 1)));
    t.ok((await counted()) >= 1, 'but the debug ports are the same');
    t.match(last, {
      status: 200,
      body: { statuses: [{ limitRemaining: 100_000_000 - 21 - load.answered }] },
    });
    const logs = join(home, 'logs');
    const lines = readdirSync(logs)
      .filter(name => /^sluice-error/.test(name))
      .flatMap(name => readFileSync(join(logs, name), 'utf8').trimEnd().split('\n'))
      .map(line => JSON.parse(line));
    t.ok(
      lines.filter(line => line['@message'] === 'Shutdown complete').length >= 2 * RELOADS,
      'from start to end',
    );
    t.notMatch(readFileSync(join(home, 'pm2.log'), 'utf8'), '@message', 'and not in the log of PM2 itself');

    // A service that is killed takes its worker along, or PM2 would not notice.
    const [victim] = await processes();
    process.kill(childOf(victim.pid), 'SIGKILL');
    await until(async () =>
      (await processes()).every(each => each.pid !== victim.pid && each.pm2_env.status === 'online'),
    );
    await run('delete', 'sluice');
    await t.rejects(askOverHttp(`127.0.0.1:${http}`, ASK), 'nobody listens any more');
  },
);
