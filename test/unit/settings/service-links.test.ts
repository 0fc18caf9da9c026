import t from 'tap';
import { loadSettings } from '../../../src/settings/load.ts';

t.test('a port that Kubernetes made for a service of the name is left out, with a warning', async t => {
  const settings = loadSettings({ STATSD_PORT: 'tcp://10.0.0.1:8125', GRPC_PORT: 'tcp://10.0.0.2:8081' });
  t.match(settings, { statsdPort: 8125, grpcPort: 8081, givenBy: { statsdPort: undefined } });
  t.match(
    settings.warnings.map(({ fields }) => fields['name']),
    ['GRPC_PORT', 'STATSD_PORT'],
  );
  t.match(loadSettings({ STATSD_PORT: 'tcp://10.0.0.1:8125', PUSHSTATS_PORT: '9125' }), { statsdPort: 9125 });
});

t.test('nothing else that is written in this way is left out', async t => {
  t.equal(loadSettings({ MEMCACHE_HOST_PORT: 'tcp://10.0.0.1:11211' }).backendType, 'memcached');
  t.throws(() => loadSettings({ PORT: 'tcp://10.0.0.1:8080' }), /not a whole number/);
});
