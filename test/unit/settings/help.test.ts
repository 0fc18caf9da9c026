import t from 'tap';
import { settingsHelp } from '../../../src/settings/help.ts';
import { SETTING_GROUPS, settingEntries } from '../../../src/settings/table.ts';

const help = settingsHelp();
const lines = help.split('\n');

t.test('each setting is listed once under its names, below the title of its group', async t => {
  for (const [key, { names }] of settingEntries()) {
    t.equal(lines.filter(line => line === `  ${names.join(', ')}`).length, 1, key);
  }
  for (const { title } of SETTING_GROUPS) t.ok(lines.includes(title), title);
});

t.test('a setting is shown with meaning, range and default', async t => {
  const at = lines.indexOf('  KVCACHE_TIMEOUT, REDIS_TIMEOUT');
  t.same(lines.slice(at + 1, at + 4), [
    '      Timeout for connecting to Redis, and for the response to a command. 0 or less disables the',
    '      timeout.',
    '      (duration, up to 1h; default: 10s)',
  ]);
});

t.test('no line is longer than 100 columns, and none has Markdown quotes', async t => {
  for (const line of lines) t.ok(line.length <= 100, line);
  t.notMatch(help, '`');
  t.ok(help.endsWith('\n'));
});
