import t from 'tap';
import { counterStoreExam } from '../../../exam/counter-store.ts';
import { startMemcached } from '../../../support/memcached-server.ts';
import { memcachedStore, settledStore } from '../../../support/memcached-stores.ts';
import { MEMCACHED_EXEMPT } from './exempt.ts';

const one = await startMemcached();
const other = await startMemcached({ unixSocket: true });
t.teardown(() => Promise.all([one.stop(), other.stop()]));

for (const [name, addresses] of [
  ['memcached over tcp', one.address],
  ['memcached over a unix socket', other.address],
  ['two memcached servers', `${one.address},${other.address}`],
]) {
  t.test(name, t => {
    counterStoreExam(
      t,
      async inner => {
        for (const server of [one, other]) await server.command('flush_all');
        const store = memcachedStore(addresses);
        inner.teardown(() => store.stop());
        await store.start();
        return settledStore(store);
      },
      MEMCACHED_EXEMPT,
    );
    t.end();
  });
}
