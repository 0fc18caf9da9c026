import t, { type Test } from 'tap';
import { QuotaClient } from '../support/quota/quota-client.ts';
import { serviceFor } from '../support/service.ts';
import { type Run, runIn } from '../unit/cli/run.ts';

const RULES = {
  'config/api.yaml': `domain: api
descriptors:
  - key: user
    rate_limit: {unit: day, requests_per_unit: 100000}
`,
  'config/web.yaml': `domain: web
descriptors:
  - key: path
    value: /closed
    rate_limit: {unit: day, requests_per_unit: 0}
  - key: strict
    rate_limit: {unit: day, requests_per_unit: 5, penalty: {after: 2, for: 1h}}
`,
};

const ANN = { entries: [['user', 'ann']], allowed: 1 } as const;
const CLOSED = { entries: [['path', '/closed']], denied: 1 } as const;

async function started(t: Test) {
  const service = await serviceFor(t, { rules: RULES });
  return { service, proxy: (domain: string) => new QuotaClient(t, service.grpc, domain) };
}

t.test('sluice quota lists the buckets, and shows one with its proxies', async t => {
  const { service, proxy } = await started(t);
  const sluice = (...args: string[]): Promise<Run> =>
    runIn({}, 'quota', ...args, '--debug-address', service.debug);
  t.same(await sluice(), {
    status: 0,
    stdout: '0 of 0 buckets, 0 streams: 0 requests per second, 0 allowed, 0 denied\n',
    stderr: '',
  });
  const api = proxy('api');
  await api.report(ANN, { entries: [['user', 'b\u001b[31m']], allowed: 1 });
  await proxy('web').report(CLOSED);

  const { stdout } = await sluice();
  t.match(
    stdout,
    new RegExp(
      [
        /^3 of 3 buckets, 2 streams: 0 requests per second, 0 allowed, 0 denied/,
        /BUCKET +DEMAND\/S +ALLOWED\/S +DENIED\/S +RATE\/S +PROXIES +LEFT/,
        /api user=ann +0 +0 +0 +7143 +1 +\d+ of 100000 per 24h\S*/,
        /api user=b\S+ +0 +0 +0 +7143 +1 +\d+ of 100000 per 24h\S*/,
        /web path=\/closed +0 +0 +0 +deny all +1\s*\n$/,
      ]
        .map(({ source }) => source)
        .join('\\n'),
    ),
  );
  t.notMatch(stdout, '\u001b');
  t.match((await sluice('--domain', 'web')).stdout, /^1 of 1 buckets, 1 stream: /);
  t.match((await sluice('--count', '1')).stdout, /^1 of 3 buckets/);

  const one = await sluice('--domain', 'api', '--descriptors', 'user=ann');
  t.match(
    one.stdout,
    new RegExp(
      [
        /^api user=ann: at most 7143 per second for all proxies, for 10s each time/,
        /1 proxy: 0 requests per second, 0 allowed, 0 denied/,
        /$/,
        /LIMIT +PAID +SPENT +UNREPORTED +LEFT +WINDOW ENDS/,
        /100000 per 24h\S* +\d+ +1 +\d+ +\d+ +20\S+Z/,
        /$/,
        /PROXY +DEMAND\/S +ALLOWED\/S +DENIED\/S +GRANTED +ENDS/,
        /127\.0\.0\.1 +0 +0 +0 +\d+ per 1s +20\S+Z\n$/,
      ]
        .map(({ source }) => (source === '$' ? '' : source))
        .join('\\n'),
    ),
  );
  t.match(
    (await sluice('--domain', 'web', '--descriptors', 'path=/closed')).stdout,
    /: all requests are denied\n/,
  );
  t.same(
    (await sluice('--domain', 'api', '--descriptors', 'user=none')).stdout,
    'api user=none: no proxy reports this bucket\n',
  );
  const { buckets } = JSON.parse((await sluice('--domain', 'web', '--json')).stdout);
  t.match(buckets, [{ verdict: 'deny_all' }]);

  await proxy('web').report({ entries: [['strict', 'x']], allowed: 1 });
  t.match((await sluice('--domain', 'web')).stdout, /web strict=x +0 +0 +0 +not limited +1/);
  t.match(
    (await sluice('--domain', 'web', '--descriptors', 'strict=x')).stdout,
    /: not limited: the rule has leases/,
  );

  t.match(await sluice('--descriptors', 'user=ann'), { status: 2, stderr: /--domain is missing/ });
  t.match(await sluice('--domain', 'api', '--descriptors', 'user'), { status: 2, stderr: /has a value/ });
  t.match(await sluice('--count', '501'), { status: 2, stderr: /count/ });
  t.match(await sluice('list'), { status: 2, stderr: /list/ });
});

t.test('sluice explain says what proxies would get of a bucket that nobody reports', async t => {
  const service = await serviceFor(t, {
    rules: `domain: api
descriptors:
  - key: user
    descriptors:
      - key: plan
        quota: {share: 80%}
        rate_limits:
          - {unit: minute, requests_per_unit: 6000}
          - {unit: day, requests_per_unit: 1000000, shadow_mode: true, name: watched}
`,
  });
  const explain = (...args: string[]): Promise<Run> =>
    runIn({}, 'explain', '--bucket', '--domain', 'api', ...args, '--debug-address', service.debug);
  t.match(await explain('--descriptors', 'plan=free,user=ann'), {
    status: 0,
    stderr: '',
    stdout: new RegExp(
      [
        /^api user=ann,plan=free: proxies would get a part of the limits; nothing was counted/,
        / {2}why +the limits are divided among the proxies that report the bucket/,
        / {2}rate +343 requests per second for all proxies, for 10s each time/,
        / {2}limit +6000 per 1m, 4800 for proxies/,
        / {2}limit +1000000 per 24h, in shadow mode\n$/,
      ]
        .map(({ source }) => source)
        .join('\\n'),
    ),
  });
  t.match(await explain('--descriptors', 'user=ann'), {
    stdout:
      /^api user=ann: proxies would allow all .*\n {2}why +no rule of the domain has exactly these keys\n$/,
  });
  const { entries, reason } = JSON.parse(
    (await explain('--descriptors', 'plan=free,user=ann', '--json')).stdout,
  );
  t.match({ entries, reason }, { entries: [{ key: 'user' }, { key: 'plan' }], reason: 'divided' });
  t.match(await explain('--descriptors', 'plan=,user=ann'), { status: 2, stderr: /has a value/ });
  t.match(await explain('--descriptors', 'a=1', '--descriptors', 'b=1'), { status: 2, stderr: /once/ });
});
