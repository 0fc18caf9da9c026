import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { RequestDescriptor } from '../../src/messages/client-codec.ts';
import { AdsServer } from '../support/ads-server.ts';
import { askOverGrpc, grpcTo } from '../support/asking.ts';
import { DocsTerminal, readDocsPage, timeless } from '../support/docs-examples.ts';
import { resourcesOf } from '../support/gateways/controller-rules.ts';
import { LISTENER } from '../support/gateways/envoy-gateway.ts';
import { repositoryRoot } from '../support/repository.ts';
import { writeRules } from '../support/rule-files.ts';
import { launched, serviceFor, startService } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { missing, outputOf } from '../support/tools.ts';

// docs/budgets.md: its rules are served, its calls are answered as the page shows, and its files are those of `ops`.

const PATH = 'docs/budgets.md';
const { files, examples } = readDocsPage(PATH);
const page = readFileSync(join(repositoryRoot(), PATH), 'utf8');

/** The block of the page that begins with this text. */
function blockThat(begins: string): string {
  const start = page.indexOf(`\n${begins}`) + 1;
  return page.slice(start, page.indexOf('```', start));
}

t.test('the calls of docs/budgets.md are answered as it shows', async t => {
  t.ok(examples.length > 2);
  let minute: number;
  let found: string[];
  do {
    // Counts start over with the minute: a run that spans two of them says nothing.
    minute = Math.floor(Date.now() / 60_000);
    found = [];
    const directory = writeRules(tempDirectory(t), files);
    const service = await startService({ env: { RUNTIME_ROOT: directory } });
    const terminal = new DocsTerminal(service, directory);
    for (const { command } of examples) found.push(timeless(await terminal.run(command)));
    await service.terminate();
  } while (minute !== Math.floor(Date.now() / 60_000));
  t.same(
    found,
    examples.map(({ output }) => timeless(output)),
  );
});

t.test('the function of docs/budgets.md', { skip: missing('python3', 'python3') }, async t => {
  const lines = blockThat('import json').trimEnd().split('\n');
  t.ok(lines.length <= 12, `${lines.length} lines`);
  const service = await serviceFor(t, {
    rules: { 'config/ai.yaml': files['config/ai.yaml'].replace('unit: minute', 'unit: year') },
  });
  const calls = [
    'lease("reserve", "a", "ann", 15000)',
    'lease("reserve", "b", "ann", 6000)',
    'lease("settle", "a", "ann", 14000)',
    'lease("settle", "a", "ann", 14000)',
    'lease("reserve", "b", "ann", 6000)',
    'lease("release", "b", "ann")',
    ...Array.from({ length: 5 }, (_, at) => `lease("reserve", "c${at}", "ann", 1)`),
    'lease("reserve", "d", "ann", 1)',
    'lease("extend", "c0", "ann")',
    'lease("release", "c0", "ann")',
    'lease("reserve", "d", "ann", 1)',
  ];
  const program = join(tempDirectory(t), 'calls.py');
  const text = lines.join('\n').replace('localhost:8080', service.http);
  writeFileSync(program, `${text}\nprint(*[${calls.join(', ')}])\n`);
  const answers = (await outputOf('python3', [program])).trim().split(' ').map(Number);
  t.same(answers, [200, 429, 200, 200, 200, 200, 200, 200, 200, 200, 200, 429, 200, 200, 200]);
});

t.test('the entries for Envoy are those of ops/envoy/budgets.yaml', async t => {
  const shown = blockThat('rate_limits:').trimEnd().split('\n');
  const file = readFileSync(join(repositoryRoot(), 'ops/envoy/budgets.yaml'), 'utf8').split('\n');
  const first = file.findIndex(line => line.trim() === shown[0]);
  const indent = file[first].indexOf('r');
  t.same(
    shown,
    file.slice(first, first + shown.length).map(line => line.slice(indent)),
  );
});

t.test('the overlay for Envoy Gateway makes budgets of its rules', async t => {
  const route = (name: string) => `httproute/shop/${name}/rule/0/match/0/api_shop_example`;
  const rules = resourcesOf([
    {
      policy: 'tokens of each user, with the id of the request',
      domain: LISTENER,
      levels: [route('chat'), ['rule-0-match-0', ''], ['rule-0-match-1', '']],
      limit: [500_000, 'day'],
    },
    {
      policy: 'tokens of each user',
      domain: LISTENER,
      levels: [route('batch'), ['rule-0-match-0', '']],
      limit: [5_000, 'year'],
    },
  ]);
  const ads = await AdsServer.start(t);
  const overlay = writeRules(tempDirectory(t), { 'budgets.yaml': files['overlay/budgets.yaml'] });
  const service = launched(t, {
    env: { CONFIG_TYPE: 'GRPC_XDS_SOTW', CONFIG_GRPC_XDS_SERVER_URL: ads.address, RULES_OVERLAY: overlay },
  });
  await ads.request();
  (await ads.stream()).send('1', ...rules);
  t.match(await ads.request(), { error_detail: null });
  await service.listening(['grpc'], 60_000);
  const client = grpcTo(t, service.grpc);
  /** What a call of Envoy is answered, and how many hits are left then. */
  const ask = async (name: string, values: readonly string[], hitsAddend: number): Promise<string> => {
    const entries = [
      { key: route(name), value: route(name) },
      ...values.map((value, at) => ({ key: `rule-0-match-${at}`, value })),
    ];
    const descriptor: RequestDescriptor = { entries, limit: null, hitsAddend };
    const request = { domain: LISTENER, descriptors: [descriptor], hitsAddend: 0 };
    const { overallCode, statuses } = await askOverGrpc(client, request);
    return `${overallCode === 1 ? 'OK' : 'OVER_LIMIT'} ${statuses[0].limitRemaining}`;
  };

  await t.test('with a holder', async t => {
    // Of both limits, the one with the smaller share of its hits left is shown.
    for (let i = 1; i <= 5; i++) t.equal(await ask('chat', ['ann', `id-${i}`], 0), `OK ${5 - i}`);
    t.equal(await ask('chat', ['ann', 'id-6'], 0), 'OVER_LIMIT 0', 'five run');
    await ask('chat', ['ann', 'id-1'], 300);
    t.equal(await ask('chat', ['ann', 'id-6'], 0), 'OK 0', 'a settlement frees a slot');
    for (let i = 2; i <= 6; i++) await ask('chat', ['ann', `id-${i}`], i === 6 ? 0 : 1_000);
    t.equal(await ask('chat', ['ann'], 0), `OK ${500_000 - 4_300}`);
    await ask('chat', ['bob', 'id-1'], 1_500);
    t.equal(await ask('chat', ['bob', 'id-2'], 499_000), 'OVER_LIMIT 498500', 'an estimate from metadata');
    await ask('chat', ['bob', 'id-1'], 700);
    t.equal(await ask('chat', ['bob'], 0), `OK ${500_000 - 700}`);
  });

  await t.test('without a holder', async t => {
    t.equal(await ask('batch', ['ann'], 0), 'OK 3000');
    t.equal(await ask('batch', ['ann'], 0), 'OK 1000');
    t.equal(await ask('batch', ['ann'], 0), 'OVER_LIMIT 1000');
    t.equal(await ask('batch', ['ann'], 500), 'OK 2500');
    t.equal(await ask('batch', ['ann'], 2_500), 'OK 2000');
  });
});
