import t from 'tap';
import { settingsHelp } from '../../../src/settings/reference.ts';
import { SETTING_GROUPS, settingEntries } from '../../../src/settings/table.ts';
import { run } from './run.ts';

t.test('without a pattern, every setting is printed', async t => {
  t.same(await run('settings'), { status: 0, stdout: settingsHelp(SETTING_GROUPS, 80), stderr: '' });
  const { stdout } = await run('settings', '--json');
  t.same(
    JSON.parse(stdout).map(({ names }: { names: string[] }) => names),
    settingEntries().map(([, { names }]) => [...names]),
  );
});

t.test('with a pattern, only settings that contain it are printed', async t => {
  const { status, stdout } = await run('settings', 'kvcache_TIMEOUT');
  t.equal(status, 0);
  t.match(stdout, /^ {2}KVCACHE_TIMEOUT, REDIS_TIMEOUT$/m);
  t.notMatch(stdout, /^ {2}BACKEND_TYPE/m);
  const { stdout: json } = await run('settings', 'kvcache_timeout', '--json');
  t.match(JSON.parse(json)[0], {
    names: ['KVCACHE_TIMEOUT', 'REDIS_TIMEOUT'],
    group: String,
    type: /duration/,
    default: '10s',
    secret: false,
    help: String,
  });
});

t.test('a pattern that no setting contains is an error that says so', async t => {
  t.match(await run('settings', 'nonesuch'), {
    status: 1,
    stdout: '',
    stderr: 'sluice settings: no setting contains "nonesuch". "sluice settings" prints all of them.\n',
  });
  t.match(await run('settings', 'nonesuch', '--json'), { status: 1, stdout: '[]\n' });
  t.match(await run('settings', 'a', 'b'), {
    status: 2,
    stderr: /unexpected argument "b"\. Give one pattern\./,
  });
});
