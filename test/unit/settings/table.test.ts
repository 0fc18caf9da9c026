import t from 'tap';
import { SETTING_GROUPS, settingEntries } from '../../../src/settings/table.ts';

t.test('the groups and the table hold the same settings in the same order', async t => {
  const grouped = SETTING_GROUPS.flatMap(group => Object.entries(group.settings));
  t.same(
    grouped.map(([key]) => key),
    settingEntries().map(([key]) => key),
  );
  for (const [index, [key, setting]] of settingEntries().entries()) t.equal(grouped[index][1], setting, key);
});

t.test('no variable belongs to two settings', async t => {
  const names = settingEntries().flatMap(([, setting]) => setting.names);
  t.same(names, [...new Set(names)]);
});

t.test('every fixed default is a text that its own kind reads to the same value', async t => {
  for (const [key, setting] of settingEntries()) {
    if (setting.default === null) t.not(setting.defaultText, '', `${key} says how its default is derived`);
    else t.same(setting.kind.read(setting.defaultText), { value: setting.default }, key);
  }
});

t.test('a setting of the Redis store is known by both of its names', async t => {
  for (const [, { names }] of settingEntries()) {
    if (!names[0].startsWith('KVCACHE_')) continue;
    t.same(names, [names[0], names[0].replace('KVCACHE_', 'REDIS_')]);
  }
});

t.test('what the key says is the unit of the default', async t => {
  for (const [key, setting] of settingEntries()) {
    t.equal(key.endsWith('Ms'), setting.kind.label.startsWith('duration'), key);
  }
});

t.test('each setting is explained in whole sentences', async t => {
  for (const [key, { help }] of settingEntries()) t.match(help, /^[A-Z`].*\.$/s, key);
});
