import t from 'tap';
import { hostPort, shownAddress, tlsOptions } from '../../../../src/clients/redis/address.ts';

t.test('an address is shown as host and port, or as the path of its socket', async t => {
  t.equal(hostPort('redis.example', 6379), 'redis.example:6379');
  t.equal(hostPort('::1', 6379), '[::1]:6379');
  t.equal(shownAddress({ host: '10.0.0.1', port: 1 }), '10.0.0.1:1');
  t.equal(shownAddress({ path: '/run/redis.sock' }), '/run/redis.sock');
});

t.test('TLS names the server, unless its address is an IP address or a socket', async t => {
  const options = { rejectUnauthorized: true };
  const named = tlsOptions(options, { host: 'redis.example', port: 6379 });
  t.same(named, { rejectUnauthorized: true, servername: 'redis.example' });
  t.same(tlsOptions(options, { host: '10.0.0.1', port: 6379 }), options);
  t.same(tlsOptions(options, { host: '::1', port: 6379 }), options);
  t.same(tlsOptions(options, { path: '/run/redis.sock' }), options);
});
