import t from 'tap';
import { endpointAttributes } from '../../../src/transports/span-endpoints.ts';

t.test('the authority is the address of the server, and the peer is the client', async t => {
  const of = (authority: string) => endpointAttributes(authority, '');
  t.same(of('limits:8081'), { 'server.address': 'limits', 'server.port': 8_081 });
  t.same(of('limits.example.com'), { 'server.address': 'limits.example.com' });
  t.same(of('[::1]:80'), { 'server.address': '::1', 'server.port': 80 });
  t.same(of('[::1]'), { 'server.address': '::1' });
  for (const invalid of ['', ':80', 'a:b', 'a:123456', '::1']) t.same(of(invalid), {}, invalid);
  t.same(endpointAttributes('', '10.0.0.7'), {
    'client.address': '10.0.0.7',
    'network.peer.address': '10.0.0.7',
  });
});
