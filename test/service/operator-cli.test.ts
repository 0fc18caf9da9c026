import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { ADMIN_TOKEN } from '../support/operator-service.ts';
import { serviceFor } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { type Run, runIn } from '../unit/cli/run.ts';

const RULES = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 1}
  - key: path
    rate_limit: {unit: year, requests_per_unit: 10}
`;

t.test('an operator reads and resets counters, and sees the limits with the most refusals', async t => {
  const service = await serviceFor(t, { rules: RULES, env: { ADMIN_TOKEN } });
  const file = join(tempDirectory(t), 'token');
  writeFileSync(file, `${ADMIN_TOKEN}\n`);
  const sluice = (...args: string[]): Promise<Run> =>
    runIn({ ADMIN_TOKEN_FILE: file }, ...args, '--debug-address', service.debug);
  const ask = async (key: string, value: string): Promise<unknown> => {
    const descriptors = [{ entries: [{ key, value }] }];
    return (await askOverHttp(service.http, { domain: 'shop', descriptors })).body.overallCode;
  };
  for (let i = 0; i < 3; i++) await ask('user', 'ann');
  await ask('path', '/a');
  const ann = ['--domain', 'shop', '--descriptors', 'user=ann'];

  const read = await runIn({}, 'counters', 'get', ...ann, '--debug-address', service.debug);
  t.match(read, { status: 0, stderr: '' });
  t.match(
    read.stdout,
    /^RULE +COUNT +LIMIT +REMAINING +RESETS IN +KEY\nshop.user +3 +1 per year +0 +\d+h.* shop_user_ann_\d+\n$/,
  );
  const { counters } = JSON.parse((await sluice('counters', 'get', ...ann, '--json')).stdout);
  t.match(counters, [{ count: 3, remaining: 0, over: true }]);

  const refused = await runIn({}, 'counters', 'reset', ...ann, '--debug-address', service.debug);
  t.match(refused, { status: 2, stderr: /Authorization: Bearer/ });
  const reset = await sluice('counters', 'reset', ...ann, '--reason', 'ticket 4711');
  t.match(reset, { status: 0, stdout: /COUNT BEFORE.*\nshop.user +3 .*\nThe counter was reset\.\n$/ });
  t.equal(await ask('user', 'ann'), 'OK');
  await service.written(/Operator change.*ticket 4711/);
  t.notMatch(service.output, ADMIN_TOKEN);

  const top = await sluice('top', '--sort', 'hits');
  t.match(
    top.stdout,
    /^2 of 2 limits at 20.*\nRULE +REFUSED\/S +.*\nshop\.user .* at most 1 in each .*\nshop\.path /,
  );
  const { limits } = JSON.parse((await sluice('top', '--search', 'PATH', '--json')).stdout);
  t.match(limits, [{ path: 'shop.path', totals: { hits: 1 } }]);
  t.match(await sluice('top', '--sort', 'size'), { status: 2, stderr: /must be one of: refused/ });
  t.match(await sluice('counters', 'get', '--domain', 'shop', '--descriptors', 'none=1'), {
    status: 0,
    stdout: /^no counters: no entry below `shop` matches `none=1`\n$/,
  });
  t.match(await sluice('counters', 'clear', ...ann), {
    status: 2,
    stderr: /"sluice counters get" or "reset"/,
  });
  t.match(await sluice('counters', 'get', '--domain', 'shop'), {
    status: 2,
    stderr: /--descriptors is missing/,
  });
});
