import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { settingsHelp, settingsPage } from '../../../src/settings/reference.ts';
import { SETTING_GROUPS, settingEntries } from '../../../src/settings/table.ts';
import { repositoryRoot } from '../../support/repository.ts';

const page = settingsPage();
const lines = page.split('\n');

t.test('docs/settings.md is up to date', async t => {
  const stored = readFileSync(join(repositoryRoot(), 'docs/settings.md'), 'utf8');
  t.equal(stored, page, 'write docs/settings.md with: npm run settings-table');
});

t.test('each group has a heading, an introduction and a table', async t => {
  for (const { title } of SETTING_GROUPS) {
    const at = lines.indexOf(`## ${title}`);
    t.match(lines[at + 2], /^[A-Z].*\.$/, title);
    t.same(lines.slice(at + 3, at + 6), [
      '',
      '| Setting | Type | Default | Description |',
      '|---|---|---|---|',
    ]);
  }
});

t.test('each setting has one row with its names', async t => {
  for (const [key, { names }] of settingEntries()) {
    const cell = names.map(name => `\`${name}\``).join(', ');
    t.equal(lines.filter(line => line.startsWith(`| ${cell} | `)).length, 1, key);
  }
});

t.test('a row shows type, default and description', async t => {
  const row = (name: string) => lines.find(line => line.startsWith(`| \`${name}\``));
  t.equal(
    row('PORT'),
    '| `PORT` | whole number, 0 to 65535 | `8080` | Port of the HTTP server. `0` picks any free port. |',
  );
  t.match(row('GRPC_MAX_CONNECTION_AGE'), '| `24h` |');
  t.match(row('CACHE_KEY_PREFIX'), '| empty |');
  t.match(row('BACKEND_TYPE'), '| `redis` if `KVCACHE_URL` is set, `altcache` if');
});

t.test('every row has four cells', async t => {
  for (const line of lines.filter(each => each.startsWith('|')))
    t.equal(line.split(/(?<!\\)\|/).length, 6, line);
});

t.test('pages of the documentation are links to files that exist', async t => {
  const links = [...page.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target);
  t.ok(links.includes('stores.md'));
  for (const target of links) t.ok(existsSync(join(repositoryRoot(), 'docs', target.split('#')[0])), target);
});

const help = settingsHelp(SETTING_GROUPS, 100);
const helpLines = help.split('\n');

t.test('each setting is listed once under its names, below the title of its group', async t => {
  for (const [key, { names }] of settingEntries()) {
    t.equal(helpLines.filter(line => line === `  ${names.join(', ')}`).length, 1, key);
  }
  for (const { title } of SETTING_GROUPS) t.ok(helpLines.includes(title), title);
});

t.test('a setting is shown with meaning, range and default', async t => {
  const at = helpLines.indexOf('  KVCACHE_TIMEOUT, REDIS_TIMEOUT');
  t.same(helpLines.slice(at + 1, at + 4), [
    '      Timeout for connecting to Redis, and for the response to a command. 0 or less disables the',
    '      timeout.',
    '      (duration, up to 1h; default: 10s)',
  ]);
});

t.test('no line is longer than 80 columns, and none has Markdown quotes', async t => {
  for (const line of settingsHelp(SETTING_GROUPS, 80).split('\n')) t.ok(line.length <= 80, line);
  t.notMatch(help, '`');
  t.ok(help.endsWith('\n'));
});
