import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Metadata } from '@grpc/grpc-js';
import t, { type Test } from 'tap';
import { encodeRateLimitRequest, SHOULD_RATE_LIMIT_PATH } from '../../src/messages/client-codec.ts';
import { askOverHttp, dialled, statistic } from '../support/asking.ts';
import { request } from '../support/decisions.ts';
import { GrpcClient } from '../support/grpc-client.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';

const RULES = `
domain: d
descriptors:
  - key: user
    rate_limit: { unit: year, requests_per_unit: 0, name: closed }
  - key: open
    rate_limit: { unit: year, requests_per_unit: 1000 }
`;
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const TRACEPARENT = `00-${TRACE}-b7ad6b7169203331-01`;

const WRITTEN = 'ratelimit.decision_log.written';
const DROPPED_BY_RATE = 'ratelimit.decision_log.dropped_by_rate';
const DROPPED_BY_OUTPUT = 'ratelimit.decision_log.dropped_by_output';

function jsonOf(text: string) {
  const [key, value] = text.split('=');
  return { domain: 'd', descriptors: [{ entries: [{ key, value }] }] };
}

async function logging(t: Test, env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return await serviceFor(t, {
    env: {
      RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': RULES }),
      DECISION_LOG: 'refused',
      ...env,
    },
  });
}

/** Asks over gRPC on a connection of its own. */
async function ask(service: ServiceProcess, text: string): Promise<void> {
  const client = new GrpcClient(dialled(service.grpc));
  const metadata = new Metadata();
  metadata.set('traceparent', TRACEPARENT);
  const message = encodeRateLimitRequest(request('d', text));
  await client.unary(SHOULD_RATE_LIMIT_PATH, message, {}, metadata);
  client.close();
}

/** Limits the size of files that a process can write. False if that is not possible on this system. */
function limited(pid: number, bytes: string): boolean {
  return spawnSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]).status === 0;
}

function recordsIn(path: string): Record<string, unknown>[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.slice(0, -1).map(line => JSON.parse(line) as Record<string, unknown>);
}

for (const env of [
  // Decision threads log what they decide.
  { SERVE_THREADS: '1', WORKER_THREADS: '1' },
  { SERVE_THREADS: '2' },
  { SERVE_THREADS: '2', HTTP_SERVER_ENGINE: 'node' },
  { SERVE_THREADS: '1', GRPC_SERVER_ENGINE: 'grpc-js' },
]) {
  t.test(
    `refusals over gRPC and /json are in the file with their callers: ${JSON.stringify(env)}`,
    async t => {
      const path = join(tempDirectory(t), 'decisions.log');
      const service = await logging(t, { DECISION_LOG_FILE: path, ...env });
      for (let call = 0; call < 8; call++) await ask(service, `user=grpc${call}`);
      await ask(service, 'open=x');
      const answer = await askOverHttp(service.http, jsonOf('user=json'), { traceparent: TRACEPARENT });
      t.equal(answer.status, 429);
      await until(() => recordsIn(path).length === 9);
      const records = recordsIn(path);
      const users = Array.from({ length: 8 }, (_, call) => `user=grpc${call}`);
      t.same(new Set(records.map(({ descriptor }) => String(descriptor))), new Set([...users, 'user=json']));
      for (const record of records) {
        t.match(record, {
          time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
          ...{ code: 'OVER_LIMIT', response: 'OVER_LIMIT', domain: 'd', rule: 'd.user', name: 'closed' },
          ...{ key: /^d_user_/, count: 1, limit: 0, window: 'year', hits: 1, remaining: 0, source: 'store' },
          ...{ peer: '127.0.0.1', trace_id: TRACE },
        });
      }
      t.equal(statSync(path).mode & 0o777, 0o600);
      t.equal(await statistic(service.debug, WRITTEN), 9);
    },
  );
}

t.test('without a file, records are lines of standard error; by default there are none', async t => {
  const service = await logging(t, { DECISION_LOG: 'sampled', DECISION_LOG_SAMPLE: '2' });
  for (let call = 0; call < 2; call++) await ask(service, 'open=x');
  await service.written(
    /^\{"time":"[^"]+","code":"OK","response":"OK","domain":"d","descriptor":\["open=x"\]/m,
  );
  const silent = await serviceFor(t, {
    env: { RUNTIME_ROOT: writeRules(tempDirectory(t), { 'config/rules.yaml': RULES }) },
  });
  await ask(silent, 'user=x');
  await silent.terminate();
  t.notMatch(silent.output, /OVER_LIMIT/);
});

t.test('the rate holds for all threads together, and the rest is counted', async t => {
  const path = join(tempDirectory(t), 'decisions.log');
  const service = await logging(t, {
    DECISION_LOG_FILE: path,
    DECISION_LOG_MAX_PER_SECOND: '1',
    SERVE_THREADS: '2',
  });
  const began = Date.now();
  for (let call = 0; call < 20; call++) await ask(service, `user=${call}`);
  const dropped = await statistic(service.debug, DROPPED_BY_RATE);
  const seconds = Math.ceil((Date.now() - began) / 1_000) + 1;
  await until(() => recordsIn(path).length === 20 - dropped);
  t.ok(20 - dropped <= seconds, `${20 - dropped} records in ${seconds} seconds`);
});

t.test('hashes are equal in all threads and after a restart, and no value is in the file', async t => {
  const directory = tempDirectory(t);
  const path = join(directory, 'decisions.log');
  const secret = join(directory, 'secret');
  writeFileSync(secret, 'hidden\n', { mode: 0o600 });
  const common = { DECISION_LOG_FILE: path, DECISION_LOG_HASH_KEYS: 'true' };
  const first = await logging(t, { ...common, DECISION_LOG_HASH_SECRET_FILE: secret, SERVE_THREADS: '2' });
  for (let call = 0; call < 6; call++) await ask(first, 'user=ann');
  await first.terminate();
  const second = await logging(t, { ...common, DECISION_LOG_HASH_SECRET: 'hidden' });
  await ask(second, 'user=ann');
  await second.terminate();
  const records = recordsIn(path);
  t.equal(records.length, 7, 'what waits is written before the end');
  t.equal(new Set(records.map(({ key }) => key)).size, 1);
  t.match(records[0], { descriptor: [/^user=hash:[0-9a-f]{16}$/], key: /^hash:[0-9a-f]{16}$/ });
  t.notMatch(readFileSync(path, 'utf8'), /ann/);
  t.notMatch(first.output + second.output, /hidden/);
});

t.test('a file that cannot be written is logged once, and decisions go on until it can', async t => {
  const directory = join(tempDirectory(t), 'later');
  const path = join(directory, 'decisions.log');
  const service = await logging(t, { DECISION_LOG_FILE: path });
  await ask(service, 'user=1');
  await service.logged(line => /^Decisions cannot be logged/.test(String(line['@message'])));
  await ask(service, 'user=2');
  await until(async () => (await statistic(service.debug, DROPPED_BY_OUTPUT)) === 2);
  mkdirSync(directory);
  await until(async () => {
    await ask(service, 'user=3');
    return service.logs.some(line => /logged to the file again/.test(String(line['@message'])));
  });
  t.equal(service.logs.filter(line => /cannot be logged/.test(String(line['@message']))).length, 1);
  renameSync(path, `${path}.1`);
  await until(async () => {
    await ask(service, 'user=4');
    // Records of the request before may still have been on their way.
    return recordsIn(path).some(({ descriptor }) => String(descriptor) === 'user=4');
  });
  t.ok(recordsIn(path).length > 0, 'a file that was renamed is created again');
});

t.test('a full disk drops records, with a line when it begins and when it ends; decisions go on', async t => {
  const path = join(tempDirectory(t), 'decisions.log');
  const service = await logging(t, { DECISION_LOG_FILE: path });
  // A limit on the size of files is as good as a full disk: what fits is written, and the rest is refused.
  const limitFiles = (bytes: string) => limited(service.pid, bytes);
  if (!limitFiles('700')) return t.comment('prlimit is missing');
  await until(async () => {
    await ask(service, 'user=full');
    return (await statistic(service.debug, DROPPED_BY_OUTPUT)) >= 3;
  });
  t.equal(statSync(path).size, 700);
  limitFiles('unlimited');
  await until(async () => {
    await ask(service, 'user=free');
    return service.logs.some(line => /logged to the file again/.test(String(line['@message'])));
  });
  await service.terminate();
  const about = service.logs.filter(line =>
    /^Decisions (cannot be|are) logged/.test(String(line['@message'])),
  );
  t.match(about, [{ reason: /EFBIG/, path }, { failedCalls: Number }]);
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  const torn = lines.filter(line => !line.endsWith('}'));
  t.equal(torn.length, 1);
  const records = lines.filter(line => line !== torn[0]).map(line => JSON.parse(line));
  t.ok(records.some(({ descriptor }) => String(descriptor) === 'user=free'));
});

t.test('a secret that cannot be read prevents the start', async t => {
  const path = join(tempDirectory(t), 'missing');
  const started = logging(t, { DECISION_LOG_HASH_KEYS: 'true', DECISION_LOG_HASH_SECRET_FILE: path });
  await t.rejects(started, /DECISION_LOG_HASH_SECRET_FILE: '.*missing' cannot be read/);
});
