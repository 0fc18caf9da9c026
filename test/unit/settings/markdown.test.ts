import t from 'tap';
import {
  replaceSettingsTable,
  SETTINGS_END,
  SETTINGS_START,
  settingsMarkdown,
} from '../../../src/settings/markdown.ts';
import { SETTING_GROUPS, settingEntries } from '../../../src/settings/table.ts';

const lines = settingsMarkdown().split('\n');

t.test('each group has a heading and a table', async t => {
  for (const { title } of SETTING_GROUPS) {
    const at = lines.indexOf(`### ${title}`);
    t.same(lines.slice(at + 1, at + 4), ['', '| Name(s) | Default | Meaning |', '|---|---|---|'], title);
  }
});

t.test('each setting has one row with its names', async t => {
  for (const [key, { names }] of settingEntries()) {
    const cell = names.map(name => `\`${name}\``).join(', ');
    t.equal(lines.filter(line => line.startsWith(`| ${cell} | `)).length, 1, key);
  }
});

t.test('a row shows default, meaning and range', async t => {
  const row = (name: string) => lines.find(line => line.startsWith(`| \`${name}\``));
  t.equal(
    row('PORT'),
    '| `PORT` | `8080` | Port of the HTTP server. `0` takes any free port. (whole number, 0 to 65535) |',
  );
  t.match(row('GRPC_MAX_CONNECTION_AGE'), '| `24h` |');
  t.match(row('CACHE_KEY_PREFIX'), '| empty |');
  t.match(row('BACKEND_TYPE'), '| `redis` when `KVCACHE_URL` is set, else `altcache` when');
});

t.test('every row has three cells', async t => {
  for (const line of lines.filter(each => each.startsWith('|')))
    t.equal(line.split(/(?<!\\)\|/).length, 5, line);
});

t.test('the table of a README is replaced and the rest stays', async t => {
  const readme = `# Title\n${SETTINGS_START}\nold $& text\n${SETTINGS_END}\nfoot\n`;
  const replaced = replaceSettingsTable(readme);
  t.equal(replaced, `# Title\n${SETTINGS_START}\n\n${settingsMarkdown()}\n\n${SETTINGS_END}\nfoot\n`);
  t.equal(replaceSettingsTable(replaced), replaced, 'a second time changes nothing');
});

t.test('a README without the two markers in order is refused', async t => {
  const wrong = [
    '',
    SETTINGS_START,
    SETTINGS_END,
    `${SETTINGS_END}\n${SETTINGS_START}`,
    `${SETTINGS_START}\n${SETTINGS_START}\n${SETTINGS_END}`,
    `${SETTINGS_START}\n${SETTINGS_END}\n${SETTINGS_END}`,
  ];
  for (const readme of wrong) {
    t.throws(() => replaceSettingsTable(readme), {
      message: /must hold the line <!-- settings:start --> once/,
    });
  }
});
