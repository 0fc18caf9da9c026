import t from 'tap';
import { nodeIds } from '../../../../src/settings/kinds/xds-kinds.ts';
import { describeSettings, loadSettings } from '../../../../src/settings/load.ts';

t.test('additional headers are split at commas and at the one colon, names in lower case', async t => {
  const headers = (text: string) =>
    loadSettings({ CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: text }).xdsHeaders;
  t.same(headers('Authorization:Bearer x,k2:v2'), [
    ['authorization', 'Bearer x'],
    ['k2', 'v2'],
  ]);
  t.same(headers('a:1,A:2'), [['a', '2']], 'a later one of the same name wins');
  t.same(headers(''), []);
  t.same(headers('empty:'), [['empty', '']]);
});

t.test('what cannot be sent as a header is refused, and never shown', async t => {
  for (const text of ['secret', 'a:b:secret', 'a:1,', 'grpc-timeout:secret', 'a b:secret', 'a:se\ncret']) {
    const env = { CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: text };
    t.throws(() => loadSettings(env), /CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS=\*\*\*: a part /, text);
  }
  const settings = loadSettings({ CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS: 'a:secret' });
  t.notMatch(JSON.stringify(describeSettings(settings)), 'secret');
});

t.test('metadata are pairs of texts, or JSON', async t => {
  const metadata = (text: string) => loadSettings({ CONFIG_GRPC_XDS_NODE_METADATA: text }).xdsNodeMetadata;
  t.same(metadata('region=eu,query=a=b,tier='), { region: 'eu', query: 'a=b', tier: '' });
  t.same(metadata('region=eu,alone,'), { region: 'eu' }, 'parts without "=" are left out');
  t.same(metadata(''), {});
  t.same(metadata(' {"zones": ["a,b"], "weight": 2}'), { zones: ['a,b'], weight: 2 });
  t.throws(() => metadata('{"zones"'), /it starts like JSON but is not valid/);
});

t.test('the address is a target of gRPC with a port', async t => {
  const url = (text: string) => loadSettings({ CONFIG_GRPC_XDS_SERVER_URL: text }).xdsServerUrl;
  for (const text of ['xds.local:18000', '10.0.0.1:1', '[::1]:18000', 'dns:///xds:1', 'unix:/run/xds.sock']) {
    t.same(url(text), [{ target: text, tls: null }]);
  }
  for (const text of [
    '',
    'xds.local',
    'http://xds',
    'ftp://xds:18000',
    'https://dns:///x:1',
    'xds:99999',
    'a b:1',
    'a:1,',
  ]) {
    t.throws(
      () => url(text),
      /not in the accepted format; accepted: host:port, with http:\/\/ or https:\/\//,
      text,
    );
  }
});

t.test('a scheme before an address decides about TLS', async t => {
  const url = (text: string) => loadSettings({ CONFIG_GRPC_XDS_SERVER_URL: text }).xdsServerUrl;
  for (const [scheme, tls] of [
    ['http', false],
    ['grpc', false],
    ['https', true],
    ['grpcs', true],
  ] as const) {
    t.same(url(`${scheme}://xds:1`), [{ target: 'xds:1', tls }]);
    t.same(url(`${scheme}://[::1]:1/`), [{ target: '[::1]:1', tls }]);
  }
});

t.test('there may be several servers, each with a node id of its own or one for all', async t => {
  const env = (servers: string, ids: string) => ({
    CONFIG_TYPE: 'GRPC_XDS_SOTW',
    CONFIG_GRPC_XDS_SERVER_URL: servers,
    CONFIG_GRPC_XDS_NODE_ID: ids,
  });
  t.same(loadSettings(env('https://gw:18001, http://ai:18002', 'a,b')).xdsServerUrl, [
    { target: 'gw:18001', tls: true },
    { target: 'ai:18002', tls: false },
  ]);
  t.same(
    loadSettings(env('ipv4:10.0.0.1:1,10.0.0.2:1,ai:1,10.0.0.3:1', 'a')).xdsServerUrl.map(
      ({ target }) => target,
    ),
    ['ipv4:10.0.0.1:1,10.0.0.2:1', 'ai:1', '10.0.0.3:1'],
    'commas within a list of addresses are part of it',
  );
  t.throws(() => loadSettings(env('gw:1,ai:1,gw:1', 'a')), /a server is listed twice/);
  t.throws(
    () => loadSettings(env(Array.from({ length: 17 }, (_, i) => `gw:${i}`).join(','), 'a')),
    /more than 16/,
  );
  t.throws(
    () => loadSettings(env('gw:1,ai:1', 'a,b,c')),
    /the number of node ids differs from the number of servers; accepted: one node id for all 2 servers, or 2/,
  );
  t.same(nodeIds('a,b', 1), ['a,b'], 'a comma is part of the id of a single server');
  t.same(nodeIds('a', 2), ['a', 'a']);
  t.same(nodeIds('a, b', 2), ['a', 'b']);
});

t.test('the maximum response size is 256 MiB, and a higher setting is reduced to it', async t => {
  const bytes = (text: string) => loadSettings({ XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES: text }).xdsMaxMessageBytes;
  t.equal(bytes('0'), 0);
  t.equal(bytes('1000'), 1_000);
  t.equal(bytes('2147483647'), 268_435_456);
  t.equal(bytes('-1'), 0);
});

t.test('a client certificate without its key is refused where it would be used', async t => {
  const alone = { CONFIG_GRPC_XDS_CLIENT_TLS_CERT: 'c.pem' };
  const used = { ...alone, CONFIG_TYPE: 'GRPC_XDS_SOTW', CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true' };
  t.throws(
    () => loadSettings(used),
    /must be given together; accepted: the paths of both files, or of neither/,
  );
  t.doesNotThrow(() => loadSettings(alone));
  const byScheme = {
    ...alone,
    CONFIG_TYPE: 'GRPC_XDS_SOTW',
    CONFIG_GRPC_XDS_SERVER_URL: 'http://a:1,https://b:1',
  };
  t.throws(() => loadSettings(byScheme), /must be given together/);
});
