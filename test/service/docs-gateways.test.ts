import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { AdsServer } from '../support/ads-server.ts';
import { askOverHttp, getPage } from '../support/asking.ts';
import { resourcesOf } from '../support/gateways/controller-rules.ts';
import { LISTENER } from '../support/gateways/envoy-gateway.ts';
import { repositoryRoot } from '../support/repository.ts';
import { writeRules } from '../support/rule-files.ts';
import { launched } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { run } from '../unit/cli/run.ts';

// docs/gateways.md: its resource is what the debug port shows, and its commands print what the page shows.

const PAGE = readFileSync(join(repositoryRoot(), 'docs/gateways.md'), 'utf8');

/** The block of the page that begins with this line. */
function blockThat(begins: string): string {
  const start = PAGE.indexOf(`\n${begins}`) + 1;
  return PAGE.slice(start, PAGE.indexOf('```', start));
}

/** A command of the page, and what it prints: the page has `…` in place of long names, and T for points in time. */
function example(begins: string): { args: string[]; output: RegExp } {
  const [command, ...output] = blockThat(`$ ${begins}`).split('\n');
  const route = /^\$ ROUTE=(.*)$/m.exec(PAGE)![1];
  const args = command.replaceAll('$ROUTE', route).split(' ').slice(3);
  const pattern = timeless(output.join('\n'))
    .replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll('…', '[^]*');
  return { args, output: new RegExp(`^${pattern}$`) };
}

/** The two policies of the page, as their controller sends them. */
const RESOURCES = resourcesOf([
  {
    policy: 'each user',
    domain: LISTENER,
    levels: ['httproute/shop/orders/rule/0/match/0/api_shop_example', ['rule-0-match-0', '']],
    limit: [5, 'minute'],
  },
  {
    policy: 'tokens of each tenant',
    domain: LISTENER,
    levels: ['httproute/shop/chat/rule/0/match/0/api_shop_example', ['rule-0-match-0', '']],
    limit: [1_000_000, 'month'],
  },
]);

/** Without the points in time that differ from run to run. */
function timeless(output: string): string {
  return output
    .replaceAll(/resets in \S+/g, 'resets in T')
    .replaceAll(/_\d{10}\b/g, '_T')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'T')
    .trimEnd();
}

t.test('the examples of docs/gateways.md are true', async t => {
  const ads = await AdsServer.start(t);
  const service = launched(t, {
    env: { CONFIG_TYPE: 'GRPC_XDS_SOTW', CONFIG_GRPC_XDS_SERVER_URL: ads.address },
  });
  await ads.request();
  (await ads.stream()).send('1', ...RESOURCES);
  t.match(await ads.request(), { error_detail: null });
  await service.listening(['debug'], 60_000);

  const dump = blockThat('--- #');
  t.equal((await getPage(service.debug, '/xds-dump')).text, dump);

  const explain = example('sluice explain');
  const explained = await run('explain', ...explain.args, '--debug-address', service.debug);
  t.match(timeless(explained.stdout), explain.output);

  const directory = writeRules(tempDirectory(t), {
    'resources.yaml': dump,
    'overlay/limits.yaml': blockThat('# overlay/limits.yaml'),
  });
  const check = example('sluice check');
  const paths = check.args.map(arg => (arg.startsWith('-') ? arg : join(directory, arg)));
  const checked = await run('check', ...paths);
  t.match(timeless(`${checked.stdout}${checked.stderr}`), check.output);
  t.equal(checked.status, 0);
});

t.test('the tiers of docs/gateways.md share one counter', async t => {
  const route = 'httproute/shop/orders/rule/0/match/0/api_shop_example';
  const tiered = resourcesOf([
    {
      policy: 'each user, by tier',
      domain: LISTENER,
      levels: [route, ['rule-0-match-0', ''], ['rule-0-match-1', '']],
      limit: [10, 'year'],
    },
  ]);
  const overlay = writeRules(tempDirectory(t), { 'tiers.yaml': blockThat('# overlay/tiers.yaml') });
  const ads = await AdsServer.start(t);
  const service = launched(t, {
    env: { CONFIG_TYPE: 'GRPC_XDS_SOTW', CONFIG_GRPC_XDS_SERVER_URL: ads.address, RULES_OVERLAY: overlay },
  });
  await ads.request();
  (await ads.stream()).send('1', ...tiered);
  t.match(await ads.request(), { error_detail: null });
  await service.listening(['http'], 60_000);
  const statusOf = async (tier: string): Promise<number> => {
    const entries = [
      { key: route, value: route },
      { key: 'rule-0-match-0', value: 'ann' },
      { key: 'rule-0-match-1', value: tier },
    ];
    return (await askOverHttp(service.http, { domain: LISTENER, descriptors: [{ entries }] })).status;
  };
  const asked: string[] = [
    ...Array(7).fill('sheddable'),
    ...Array(3).fill('standard'),
    ...Array(3).fill('critical'),
  ];
  const statuses: number[] = [];
  for (const tier of asked) statuses.push(await statusOf(tier));
  t.same(statuses, [...Array(6).fill(200), 429, 200, 200, 429, 200, 200, 429]);
});
