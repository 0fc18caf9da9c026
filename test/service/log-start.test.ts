import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Child } from '../support/child-process.ts';
import { freePort } from '../support/free-port.ts';
import { redisFor } from '../support/redis-server.ts';
import { repositoryRoot } from '../support/repository.ts';
import { writeRules } from '../support/rule-files.ts';
import { launched, serviceFor, startService } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { missing } from '../support/tools.ts';

const RULES = 'domain: d\ndescriptors:\n  - key: a\n    rate_limit: {unit: day, requests_per_unit: 9}\n';

/** The settings of a process that can start. The level is the default one. */
function settings(t: Test, env: Readonly<Record<string, string>> = {}): Record<string, string> {
  const root = writeRules(tempDirectory(t), { 'config/rules.yaml': RULES });
  const sinks = { DISABLE_STATS: 'true', LOG_LEVEL: 'warn' };
  return { RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'false', ...sinks, ...env };
}

/** All lines that a process writes until `text` stands in one of them, or it ends. */
async function linesUntil(t: Test, text: string, env: Readonly<Record<string, string>>): Promise<string[]> {
  const service = launched(t, { env });
  await Promise.race([service.written(new RegExp(text)), service.ended]);
  return service.output.trimEnd().split('\n');
}

t.test('at the default level a start is one line, with every address, the store and the tasks', async t => {
  const redis = await redisFor(t);
  const env = settings(t, {
    DISABLE_STATS: 'false',
    USE_STATSD: 'false',
    USE_PULLSTATS: 'true',
    PULLSTATS_ADDR: '127.0.0.1:0',
    KVCACHE_URL: `redis://:s3cret@127.0.0.1:${redis.port}`,
    TASKS_ENABLED: 'true',
    TASKS_DATA_DIRECTORY: join(tempDirectory(t), 'data'),
    SECRETS_MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  });
  const address = /^127\.0\.0\.1:[1-9]\d*$/;
  const lines = (await linesUntil(t, 'is ready', env)).map(line => JSON.parse(line));
  t.match(
    lines.filter(line => line['@message'] === 'Sluice is ready'),
    [
      {
        level: 'info',
        http: address,
        grpc: address,
        debug: address,
        metrics: address,
        store: `Redis at redis://*****@127.0.0.1:${redis.port}`,
        tasks: `SQLite in ${env['TASKS_DATA_DIRECTORY']}`,
      },
    ],
  );
  // That the password is not asked for is worth a warning.
  t.equal(lines.length, 2, JSON.stringify(lines));
});

t.test('the line of the start is written at every level, as text as well', async t => {
  const env = settings(t, { LOG_FORMAT: 'text', LOG_LEVEL: 'panic' });
  const lines = await linesUntil(t, 'is ready', env);
  t.equal(lines.length, 1);
  t.match(
    lines[0],
    /^time=\S+ level=info msg="Sluice is ready" version=\S+ grpc="127\.0\.0\.1:\d+" .*store="embedded, /,
  );
});

t.test('with LOG_FORMAT=json every failure of a start is JSON, at every level', async t => {
  const running = await serviceFor(t, { env: settings(t, { LOG_LEVEL: 'info' }) });
  const port = running.grpc.split(':')[1];
  const failures = [
    ['faults in settings', { PORT: '80x', LOG_LEVEL: 'loud' }, /the settings are invalid/],
    ['a port that is taken', { GRPC_PORT: port }, /GRPC_PORT/],
    [
      'a store that does not answer',
      { KVCACHE_URL: `127.0.0.1:${await freePort()}`, KVCACHE_STARTUP_MAX_ELAPSED_TIME: '1ms' },
      /could not connect to Redis/,
    ],
  ] as const;
  const fails = async ([what, env, pattern]: (typeof failures)[number]): Promise<void> => {
    const lines = await linesUntil(t, 'never', settings(t, { LOG_LEVEL: 'panic', ...env }));
    const parsed = lines.map(line => JSON.parse(line));
    t.match(parsed.at(-1), { level: 'error', '@message': 'Sluice cannot start', reason: pattern }, what);
    t.equal(parsed.length, what === 'faults in settings' ? 3 : 1, what);
  };
  await Promise.all(failures.map(fails));
});

t.test(
  'each fault in the settings is a line of its own, all are reported at once, and nothing starts',
  async t => {
    const service = launched(t, {
      env: settings(t, { PORT: '80x', GRPC_PORT: '-1', NEAR_LIMIT_RATIO: 'most', SHADOW_MODE: 'maybe' }),
    });
    t.match(await service.ended, { status: 2 });
    t.match(service.logs, [
      { '@message': 'Invalid setting', setting: 'PORT="80x"', problem: 'not a whole number' },
      { '@message': 'Invalid setting', setting: 'GRPC_PORT="-1"' },
      { '@message': 'Invalid setting', setting: String },
      { '@message': 'Invalid setting', setting: String },
      { '@message': 'Sluice cannot start', faults: 4 },
    ]);
    const named = new Set(service.logs.map(line => line['setting']));
    t.ok(named.has('NEAR_LIMIT_RATIO="most"') && named.has('SHADOW_MODE="maybe"'));
  },
);

t.test('an uncaught exception is a line of JSON before the process exits with status 2', async t => {
  const source = "process.once('SIGUSR2', () => { throw new Error('for the test'); });";
  const service = await startService({
    env: settings(t, {
      LOG_LEVEL: 'info',
      NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(source)}`,
    }),
  });
  service.signal('SIGUSR2');
  t.match(await service.ended, { status: 2 });
  for (const line of service.output.trimEnd().split('\n')) t.doesNotThrow(() => JSON.parse(line), line);
  t.match(service.logs.at(-1), {
    level: 'error',
    '@message': /^Uncaught exception/,
    error: /for the test/,
  });
});

// A terminal needs a program that makes one.
const skip = missing('python3', 'python3');

t.test(
  'on a terminal the start is a text for people, with the store and the metrics port',
  { skip },
  async t => {
    const launcher = join(repositoryRoot(), 'ops/launch/sluice.mjs');
    const python = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)';
    const service = new Child({
      command: 'python3',
      args: ['-c', python, process.execPath, launcher, 'serve'],
      env: {
        ...settings(t, { DISABLE_STATS: 'false', USE_STATSD: 'false', USE_PULLSTATS: 'true' }),
        PATH: process.env['PATH'],
        ...{ HOST: '127.0.0.1', PORT: '0', GRPC_PORT: '0', DEBUG_PORT: '0', PULLSTATS_ADDR: '127.0.0.1:0' },
      },
    });
    t.teardown(() => service.end('SIGTERM', 5_000));
    const lines: string[] = [];
    await service.line(line => {
      lines.push(line.trimEnd());
      return /^ {2}store /.test(line) || undefined;
    }, 20_000);
    t.match(lines, [
      /^Sluice \S+ is ready:$/,
      /^ {2}gRPC {5}0\.0\.0\.0:\d+$/,
      /^ {2}HTTP {5}http:\/\/127\.0\.0\.1:\d+ {2}\(\/json, \/check, \/healthcheck\)$/,
      /^ {2}debug {4}http:\/\/0\.0\.0\.0:\d+ /,
      /^ {2}metrics {2}http:\/\/127\.0\.0\.1:\d+\/metrics$/,
      /^ {2}store {4}embedded, in this process only$/,
    ]);
  },
);
