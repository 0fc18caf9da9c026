import t from 'tap';
import { loadSettings } from '../../../../src/settings/load.ts';
import { refusal } from '../refusal.ts';

const MOGRIFIED = { USE_AGENTSTATS: 'true', AGENTSTATS_MOGRIFIERS: 'rules' };

t.test('each sink is switched on and off under both of its names', async t => {
  t.match(loadSettings({}), {
    useStatsd: true,
    useDogStatsd: false,
    usePrometheus: false,
    disableStats: false,
  });
  for (const [key, ...names] of [
    ['useStatsd', 'USE_PUSHSTATS', 'USE_STATSD'],
    ['useDogStatsd', 'USE_AGENTSTATS', 'USE_DOG_STATSD'],
    ['usePrometheus', 'USE_PULLSTATS', 'USE_PROMETHEUS'],
    ['disableStats', 'DISABLE_STATS'],
  ] as const) {
    for (const name of names) {
      for (const value of [true, false]) t.equal(loadSettings({ [name]: String(value) })[key], value, name);
    }
  }
});

t.test('several sinks may run together', async t => {
  const env = { USE_STATSD: 'true', USE_DOG_STATSD: 'true', USE_PROMETHEUS: 'true' };
  t.match(loadSettings(env), { useStatsd: true, useDogStatsd: true, usePrometheus: true });
});

t.test('where statsd lines go', async t => {
  t.match(loadSettings({}), { statsdHost: 'localhost', statsdPort: 8125, statsdProtocol: 'tcp' });
  const env = { STATSD_HOST: '::1', PUSHSTATS_PORT: '1', STATSD_PROTOCOL: 'udp6' };
  t.match(loadSettings(env), { statsdHost: '::1', statsdPort: 1, statsdProtocol: 'udp6' });
  t.match(refusal({ STATSD_PROTOCOL: 'UDP' }), 'accepted: tcp, tcp4, tcp6, udp, udp4 or udp6, in exactly');
  t.match(refusal({ STATSD_HOST: '' }), 'STATSD_HOST=""');
  t.match(refusal({ STATSD_PORT: '0' }), 'STATSD_PORT="0": out of range');
});

t.test('the interval is a duration above 0', async t => {
  t.equal(loadSettings({}).statsFlushIntervalMs, 10_000);
  t.equal(loadSettings({ STATS_FLUSH_INTERVAL: '250ms' }).statsFlushIntervalMs, 250);
  t.match(refusal({ STATS_FLUSH_INTERVAL: '0' }), 'STATS_FLUSH_INTERVAL="0": out of range');
});

t.test('extra tags are pairs; of one name the last counts', async t => {
  t.same(loadSettings({ EXTRA_TAGS: '' }).extraTags, []);
  t.same(loadSettings({ EXTRA_TAGS: 'a:1,b:,a: 2' }).extraTags, [
    ['a', ' 2'],
    ['b', ''],
  ]);
  for (const text of ['a', 'a:b:c', 'a:b,']) {
    t.match(refusal({ EXTRA_TAGS: text }), 'a pair without exactly one colon; accepted: name:value pairs');
  }
});

t.test('the address of the metrics is one text, and empty is the default', async t => {
  for (const [text, host, port] of [
    ['', '', 9090],
    [':1234', '', 1234],
    ['0.0.0.0:0', '0.0.0.0', 0],
    ['localhost:80', 'localhost', 80],
    ['[::1]:9090', '::1', 9090],
  ] as const) {
    t.same(loadSettings({ PROMETHEUS_ADDR: text }).prometheusAddress, { host, port }, text);
  }
  for (const text of ['9090', 'host', 'host:', 'host:70000', '::1:9090', 'a b:1']) {
    t.match(refusal({ PULLSTATS_ADDR: text }), 'accepted: host:port or :port', text);
  }
});

t.test('the path of the metrics', async t => {
  t.equal(loadSettings({ PULLSTATS_PATH: '' }).prometheusPath, '/metrics');
  t.equal(loadSettings({ PROMETHEUS_PATH: '/a/b' }).prometheusPath, '/a/b');
  for (const text of ['metrics', '/a b', '/a?b', '/*', '/:a']) {
    t.match(refusal({ PULLSTATS_PATH: text }), 'accepted: a path that begins with /', text);
  }
});

t.test('the metrics need a port of their own, when they are served', async t => {
  const same = { PULLSTATS_ADDR: ':8080', PORT: '8080' };
  t.equal(refusal(same), '');
  t.match(
    refusal({ ...same, USE_PULLSTATS: 'true' }),
    'PULLSTATS_ADDR=":8080" and PORT="8080": two servers cannot listen on the same port',
  );
  t.equal(refusal({ ...same, USE_PULLSTATS: 'true', DISABLE_STATS: 'true' }), '');
  t.match(refusal({ USE_PULLSTATS: 'true', PULLSTATS_ADDR: '127.0.0.1:8081' }), 'GRPC_PORT="8081" (default)');
  t.equal(refusal({ USE_PULLSTATS: 'true', PULLSTATS_ADDR: ':8081', GRPC_UDS: '/a' }), '');
});

t.test('a mogrifier is read from the variables that its name leads to, in upper case', async t => {
  for (const prefix of ['AGENTSTATS', 'DOG_STATSD']) {
    const { mogrifiers } = loadSettings({
      ...MOGRIFIED,
      [`${prefix}_MOGRIFIER_RULES_PATTERN`]: 'a\\.(.+)$',
      [`${prefix}_MOGRIFIER_RULES_NAME`]: 'b.$1',
      [`${prefix}_MOGRIFIER_RULES_TAGS`]: 'c:$1,d:e',
    });
    t.same(mogrifiers, [
      {
        pattern: /a\.(.+)$/,
        name: 'b.$1',
        tags: [
          ['c', '$1'],
          ['d', 'e'],
        ],
      },
    ]);
  }
});

t.test('mogrifiers keep their order, and need no tags', async t => {
  const { mogrifiers } = loadSettings({
    USE_DOG_STATSD: 'true',
    USE_DOG_STATSD_MOGRIFIERS: 'B,A',
    DOG_STATSD_MOGRIFIER_A_PATTERN: 'a',
    DOG_STATSD_MOGRIFIER_A_NAME: 'a',
    DOG_STATSD_MOGRIFIER_B_PATTERN: 'b',
    DOG_STATSD_MOGRIFIER_B_NAME: 'b',
  });
  t.match(mogrifiers, [
    { name: 'b', tags: [] },
    { name: 'a', tags: [] },
  ]);
});

t.test('every fault of a mogrifier is reported', async t => {
  t.match(
    refusal(MOGRIFIED),
    /AGENTSTATS_MOGRIFIER_RULES_PATTERN: the mogrifier requires a pattern; accepted: a reg/,
  );
  t.match(
    refusal(MOGRIFIED),
    /AGENTSTATS_MOGRIFIER_RULES_NAME: the mogrifier requires a name; accepted: the new/,
  );
  const wrong = {
    ...MOGRIFIED,
    DOG_STATSD_MOGRIFIER_RULES_PATTERN: '(',
    DOG_STATSD_MOGRIFIER_RULES_NAME: 'a',
    AGENTSTATS_MOGRIFIER_RULES_NAME: 'b',
    DOG_STATSD_MOGRIFIER_RULES_TAGS: 'a:',
  };
  t.match(refusal(wrong), /DOG_STATSD_MOGRIFIER_RULES_PATTERN="\(": not a regular expression: .*group/);
  t.match(
    refusal(wrong),
    /AGENTSTATS_MOGRIFIER_RULES_NAME="b" and DOG_STATSD_MOGRIFIER_RULES_NAME="a": the names of one/,
  );
  t.match(refusal(wrong), /_TAGS="a:": a tag without a name or value/);
  t.match(
    refusal({ ...MOGRIFIED, AGENTSTATS_MOGRIFIER_RULES_TAGS: 'a' }),
    /a pair without exactly one colon/,
  );
  t.match(refusal({ AGENTSTATS_MOGRIFIERS: 'a b' }), 'one of them is not a name');
});

t.test('mogrifiers are not looked at where nothing goes out as DogStatsD', async t => {
  t.same(loadSettings({ AGENTSTATS_MOGRIFIERS: 'rules' }).mogrifiers, []);
  t.same(loadSettings({ ...MOGRIFIED, DISABLE_STATS: 'true' }).mogrifiers, []);
});
