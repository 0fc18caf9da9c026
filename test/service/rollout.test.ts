import { join } from 'node:path';
import t, { type Test } from 'tap';
import { redisFor } from '../support/redis-server.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { until } from '../support/until.ts';
import { run } from '../unit/cli/run.ts';

function rules(limit: number | string): string {
  return `domain: shop\ndescriptors:\n  - key: user\n    rate_limit: {unit: year, requests_per_unit: ${limit}}\n`;
}

interface Instance {
  readonly service: ServiceProcess;
  /** Deploys rules for this instance. */
  deploy(text: string): void;
}

async function instance(t: Test, env: Readonly<Record<string, string>>): Promise<Instance> {
  const root = tempDirectory(t);
  const deploy = (text: string) => void writeRules(root, { 'config/shop.yaml': text });
  deploy(rules(1));
  return {
    service: await serviceFor(t, { env: { ...env, RUNTIME_ROOT: root, RUNTIME_WATCH_ROOT: 'false' } }),
    deploy,
  };
}

/** The digest of rules, as a deployment takes it from the files. */
async function digestOf(t: Test, text: string): Promise<string> {
  const file = join(writeRules(tempDirectory(t), { 'any.yaml': text }), 'any.yaml');
  return (await run('check', file, '--digest')).stdout.trim();
}

function applied({ service }: Instance, digest: string, ...more: readonly string[]) {
  return run('check', '--applied', digest, '--debug-address', service.debug, ...more);
}

t.test('a deployment waits until all instances of a Redis use the rules', async t => {
  const redis = await redisFor(t);
  const env = { BACKEND_TYPE: 'redis', REDIS_URL: redis.address };
  const one = await instance(t, env);
  const two = await instance(t, env);
  const before = await digestOf(t, rules(1));
  const after = await digestOf(t, rules(2));
  t.match(await applied(one, before, '--wait', '30s', '--instances', '2'), {
    status: 0,
    stdout: `2 of 2 instances use the rules ${before.slice(0, 16)}\n`,
  });

  await t.test('which takes as long as the last one takes', async t => {
    const waiting = applied(two, after.slice(0, 12), '--wait', '30s');
    one.deploy(rules(2));
    await until(async () => (await applied(two, after)).stdout.startsWith('1 of 2 instances'));
    two.deploy(rules(2));
    const { status, stdout, stderr } = await waiting;
    t.equal(status, 0);
    t.equal(stdout, `2 of 2 instances use the rules ${after.slice(0, 12)}\n`);
    t.match(stderr, /^sluice check: waiting: 0 of 2 instances use .*; not .* \(\d+\): behind, .*: behind\n/);
    // Whether it asks while only one instance uses the rules depends on the load of the machine.
    t.match(stderr, /waiting: [01] of 2 instances use the rules [0-9a-f]+; not .*\S+ \(\d+\): behind\n$/);
  });

  await t.test('and names an instance that has refused them, with the reason', async t => {
    const next = await digestOf(t, rules(3));
    one.deploy(rules(3));
    two.deploy(rules('many'));
    const isTold = async () => (await applied(one, next)).stdout.includes('refused');
    await until(isTold);
    const { status, stdout } = await applied(one, next, '--wait', '100ms');
    t.equal(status, 1);
    t.match(
      stdout,
      new RegExp(
        `^1 of 2 instances use the rules ${next.slice(0, 16)}\n` +
          'INSTANCE +STATE +RULES +SEEN +REASON\n' +
          `\\S+ \\(${two.service.pid}\\) +refused +${after.slice(0, 16)} +20\\S+Z +\\S*shop.yaml:4:.*many.*\n$`,
      ),
    );
    const json = await applied(one, next, '--json');
    t.match(json, { status: 1, stderr: '' });
    t.match(JSON.parse(json.stdout), {
      applied: false,
      shared: true,
      complete: true,
      digest: next,
      instances: [
        { pid: one.service.pid, state: 'applied', digest: next },
        { pid: two.service.pid, state: 'refused', digest: after, error: /many/ },
      ],
    });
  });

  await t.test('an instance that was killed is silent, and then not waited for', async t => {
    const next = await digestOf(t, rules(3));
    await two.service.terminate('SIGKILL');
    const { status, stdout, stderr } = await applied(one, next, '--wait', '60s');
    t.match({ status, stdout }, { status: 0, stdout: /^1 of 1 instances use/ });
    t.match(stderr, /: silent\n/);
    t.match(await applied(one, next, '--instances', '2'), { status: 1, stdout: /^1 of 2 instances use/ });
  });

  await t.test('while Redis is unavailable, no instance can say that it is everywhere', async t => {
    const next = await digestOf(t, rules(3));
    await redis.stop();
    await until(async () => (await applied(one, next)).status === 1);
    t.match(await applied(one, next), {
      stdout: /^1 of 1 instances use the rules [0-9a-f]{16}; Redis does not tell of all instances\n$/,
    });
  });
});

t.test('an instance with counters of its own answers for itself, and says so', async t => {
  const one = await instance(t, { BACKEND_TYPE: 'memory' });
  const digest = await digestOf(t, rules(1));
  t.match(await applied(one, digest), {
    status: 0,
    stdout: `1 of 1 instances use the rules ${digest.slice(0, 16)}\n`,
    stderr: 'sluice check: only this instance was asked; those that share a Redis know of each other\n',
  });
  t.match(await applied(one, await digestOf(t, rules(2))), { status: 1, stdout: /^0 of 1 instances use/ });
  await one.service.terminate();
  t.match(await applied(one, digest), { status: 2, stdout: '', stderr: /^sluice check: no response from / });
  const { status, stderr } = await applied(one, digest, '--wait', '100ms');
  t.equal(status, 2, 'a service that does not answer may be restarting, until the end of the wait');
  t.match(stderr, /^sluice check: waiting: no response from .*\nsluice check: no response from /);
});
