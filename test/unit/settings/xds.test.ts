import t from 'tap';
import { describeSettings, loadSettings } from '../../../src/settings/load.ts';

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
  for (const text of ['secret', 'a:b:secret', 'a:1,', 'grpc-timeout:secret', 'a b:secret', 'a:secret\n']) {
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
  t.throws(() => metadata('{"zones"'), /it begins as JSON and is none/);
});

t.test('the address is a target of gRPC with a port', async t => {
  const url = (text: string) => loadSettings({ CONFIG_GRPC_XDS_SERVER_URL: text }).xdsServerUrl;
  for (const text of ['xds.local:18000', '10.0.0.1:1', '[::1]:18000', 'dns:///xds:1', 'unix:/run/xds.sock']) {
    t.equal(url(text), text);
  }
  for (const text of ['', 'xds.local', 'http://xds:18000', 'xds:99999', 'a b:1']) {
    t.throws(() => url(text), /accepted: host:port, or a target of gRPC/, text);
  }
});

t.test('a response may have 256 MiB, and whoever asks for more gets that', async t => {
  const bytes = (text: string) => loadSettings({ XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES: text }).xdsMaxMessageBytes;
  t.equal(bytes('0'), 0);
  t.equal(bytes('1000'), 1_000);
  t.equal(bytes('2147483647'), 268_435_456);
  t.throws(() => bytes('-1'), /out of range/);
});

t.test('a client certificate without its key is refused where it would be used', async t => {
  const alone = { CONFIG_GRPC_XDS_CLIENT_TLS_CERT: 'c.pem' };
  const used = { ...alone, CONFIG_TYPE: 'GRPC_XDS_SOTW', CONFIG_GRPC_XDS_SERVER_USE_TLS: 'true' };
  t.throws(
    () => loadSettings(used),
    /of no use without each other; accepted: the paths of both files, or neither/,
  );
  t.doesNotThrow(() => loadSettings(alone));
});
