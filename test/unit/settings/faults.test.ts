import t from 'tap';
import { isHidden, MASK } from '../../../src/settings/faults.ts';
import type { Setting } from '../../../src/settings/kinds/kinds.ts';
import { loadSettings } from '../../../src/settings/load.ts';
import { settingEntries } from '../../../src/settings/table.ts';
import { faultLines } from './refusal.ts';

t.test('two names with different texts are a fault that names both', async t => {
  t.same(faultLines({ KVCACHE_TIMEOUT: '5s', REDIS_TIMEOUT: '6s' }), [
    '  KVCACHE_TIMEOUT="5s" and REDIS_TIMEOUT="6s": the names of one setting have different values; ' +
      'accepted: one of them, or the same value in each',
  ]);
});

t.test('two names that differ also have the faults of each text', async t => {
  const lines = faultLines({ KVCACHE_TIMEOUT: '5', REDIS_TIMEOUT: 'six' });
  t.equal(lines.length, 3);
  t.match(lines[0], 'KVCACHE_TIMEOUT="5": a number without a unit');
  t.match(lines[1], 'REDIS_TIMEOUT="six": not a duration');
});

t.test('two names that differ as secrets do not show what they hold', async t => {
  t.match(
    faultLines({ KVCACHE_AUTH: 'hunter2', REDIS_AUTH: 'swordfish' })[0],
    `KVCACHE_AUTH=${MASK} and REDIS_AUTH=${MASK}: `,
  );
  t.match(
    faultLines({ KVCACHE_AUTH: 'hunter2', REDIS_AUTH: '' })[0],
    `KVCACHE_AUTH=${MASK} and REDIS_AUTH="": `,
  );
});

t.test('every fault is reported at once', async t => {
  t.same(faultLines({ PORT: '80x', SHADOW_MODE: 'yes', BACKEND_TYPE: 'Redis', KVCACHE_TIMEOUT: '10' }), [
    '  PORT="80x": not a whole number; accepted: a whole number from 0 to 65535',
    '  SHADOW_MODE="yes": not a bool; accepted: true or false (also 1, t, T, TRUE, True, 0, f, F, FALSE, False)',
    '  BACKEND_TYPE="Redis": not one of the choices; accepted: memory, redis, altcache, memcache or empty, in exactly this letter case',
    '  KVCACHE_TIMEOUT="10": a number without a unit; accepted: a duration up to 1h with units, such as 1m30s or 500ms',
  ]);
  t.throws(() => loadSettings({ PORT: '80x', SHADOW_MODE: 'yes' }), {
    message: /^the settings have 2 faults:\n/,
  });
  t.throws(() => loadSettings({ PORT: '80x' }), { message: /^the settings have one fault:\n/ });
});

/** A text that the setting refuses: one of wrong form, else (where every form is right) one that is too long. */
function wrongText(setting: Setting<unknown>): string {
  const texts = ['no such thing: @', ''];
  return texts.find(text => 'refused' in setting.kind.read(text)) ?? '@'.repeat(8_193);
}

t.test('the fault of each setting names the variable as written, its text, and what is accepted', async t => {
  for (const [, setting] of settingEntries()) {
    const text = wrongText(setting);
    for (const variable of setting.names) {
      const [line, ...others] = faultLines({ [variable]: text });
      const shown = isHidden(variable, text, setting.secret) ? MASK : `"${text.slice(0, 100)}`;
      t.ok(line.startsWith(`  ${variable}=${shown}`), line);
      t.ok(line.endsWith(`; accepted: ${setting.kind.accepts}`), line);
      t.same(others, []);
    }
  }
});

t.test('a text that is far too long is refused and shown cut', async t => {
  t.equal(loadSettings({ CACHE_KEY_PREFIX: 'x'.repeat(8_192) }).cacheKeyPrefix.length, 8_192);
  const [line] = faultLines({ CACHE_KEY_PREFIX: 'x'.repeat(8_193) });
  t.match(line, `"${'x'.repeat(100)}...": 8193 characters; the maximum is 8192`);
});

t.test('control characters of a text do not reach the terminal', async t => {
  const [line] = faultLines({ PORT: 'a\n\u001b[31m\u007f\u2028\u009b' });
  t.match(line, 'PORT="a\\n\\u001b[31m\\u007f\\u2028\\u009b": not a whole number');
});

t.test('no secret is ever part of a fault', async t => {
  const secret = 'hunter2';
  const refusals = [
    { KVCACHE_URL: secret },
    { KVCACHE_URL: `redis://u:${secret}@/`, KVCACHE_SOCKET_TYPE: 'unix' },
    { KVCACHE_URL: `rediss:/u:${secret}@h:1` },
    { REDIS_AUTH: secret.repeat(2_000) },
    { REDIS_AUTH: secret, KVCACHE_AUTH: `${secret}x`, REDIS_URL: `${secret}:0` },
  ];
  for (const env of refusals) {
    const text = faultLines(env).join('\n');
    t.match(text, MASK);
    t.notMatch(text, secret);
  }
});
