import t from 'tap';
import { askOverHttp } from '../support/asking.ts';
import { ADMIN_TOKEN } from '../support/operator-service.ts';
import { serviceFor } from '../support/service.ts';
import { type Run, runIn } from '../unit/cli/run.ts';

const RULES = `domain: shop
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: 1}
`;

t.test('an operator overrides, bans and passes from the command line', async t => {
  const service = await serviceFor(t, { rules: RULES, env: { ADMIN_TOKEN } });
  const sluice = (...args: string[]): Promise<Run> =>
    runIn({ ADMIN_TOKEN }, ...args, '--debug-address', service.debug);
  const code = async (user: string): Promise<unknown> => {
    const descriptors = [{ entries: [{ key: 'user', value: user }] }];
    return (await askOverHttp(service.http, { domain: 'shop', descriptors })).body.overallCode;
  };
  const common = ['--domain', 'shop', '--for', '1h', '--reason', 'ticket 4711'];
  await code('ann');
  t.equal(await code('ann'), 'OVER_LIMIT');

  const put = await sluice('override', 'put', '--descriptors', 'user=ann', '--limit', '50', ...common);
  t.match(put, { status: 0, stdout: /^override_[0-9a-f]{16}: user=ann of shop, until 20/, stderr: '' });
  t.equal(await code('ann'), 'OK');
  await sluice('override', 'put', '--descriptors', 'user', '--factor', '0.5', ...common);
  const list = await sluice('override', 'list');
  t.match(
    list.stdout,
    /^ID +DOMAIN +DESCRIPTOR +LIMIT +UNTIL +REASON +BY\n.* user=ann +50 .*\n.* user +times 0.5 /,
  );
  t.match(list.stdout, 'ticket 4711');

  const ban = await sluice('ban', 'put', '--descriptors', 'user=*bot*', ...common, '--json');
  const { id } = JSON.parse(ban.stdout) as { id: string };
  t.equal(await code('robot'), 'OVER_LIMIT');
  t.match(await sluice('ban', 'list', '--json'), { stdout: `"id":"${id}"` });
  const { stdout } = await sluice('explain', '--domain', 'shop', '--descriptors', 'user=robot');
  t.match(stdout, `steering    ${id}: the request is refused and not counted, until `);
  t.same(await sluice('ban', 'remove', id), { status: 0, stdout: `removed ${id}\n`, stderr: '' });
  t.match(await sluice('ban', 'list'), { stdout: 'no bans\n' });
  t.match(await sluice('ban', 'remove', id), { status: 2, stderr: 'There is no ban with this id' });

  await sluice('pass', 'put', '--descriptors', 'user=probe', ...common);
  for (let i = 0; i < 3; i++) t.equal(await code('probe'), 'OK');

  const faulty = await sluice('ban', 'put', '--descriptors', '=x', ...common);
  t.match(faulty, { status: 2, stderr: '/entries/0/key' });
  const wrong = await runIn(
    { ADMIN_TOKEN: 'another-token-than-that' },
    ...['ban', 'remove', id, '--debug-address', service.debug],
  );
  t.match(wrong, { status: 2, stderr: 'The token is not the ADMIN_TOKEN' });
});

t.test('wrong arguments are named', async t => {
  const put = (...args: string[]): Promise<Run> => runIn({}, 'override', 'put', '--domain', 'd', ...args);
  const all = ['--descriptors', 'a=b', '--reason', 'r'];
  for (const [running, told] of [
    [runIn({}, 'ban'), 'say what to do'],
    [runIn({}, 'ban', 'list', 'all'), 'unexpected argument "all"'],
    [runIn({}, 'ban', 'remove'), 'give the ID'],
    [put('--reason', 'r'), '--descriptors is missing'],
    [put(...all), 'either --limit or --factor'],
    [put(...all, '--limit', 'many'), '"many" is not a number'],
    [put(...all, '--limit', '1'), 'either --for or --until'],
    [put(...all, '--limit', '1', '--for', '1w'), '--for'],
    [runIn({}, 'ban', 'put', '--domain', 'd', ...all, '--limit', '1'), 'a ban has no limit'],
    [runIn({}, 'ban', 'list', '--debug-address', 'x y'), 'not a valid address'],
    [runIn({ ADMIN_TOKEN_FILE: '/nonexistent' }, 'ban', 'remove', 'x'), 'cannot read ADMIN_TOKEN_FILE'],
  ] as const) {
    t.match(await running, { status: 2, stdout: '', stderr: told }, told);
  }
});
