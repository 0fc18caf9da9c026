import t from 'tap';
import { examineCalendarMonths } from '../../exam/decisions/calendar-months.ts';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { memcachedFor } from '../../support/memcached-server.ts';
import { memcachedStore, settledStore } from '../../support/memcached-stores.ts';
import { pooledStoreKinds } from '../../support/pooled.ts';
import { allStoreKinds, type StoreKind } from '../../support/stores.ts';

const server = await memcachedFor(t);
const memcached: StoreKind = {
  name: 'memcached',
  open: async inner => {
    await server.command('flush_all');
    const store = memcachedStore(server.address);
    inner.teardown(() => store.stop());
    await store.start();
    return settledStore(store);
  },
};
const kinds = [...(await allStoreKinds(t)), ...(await pooledStoreKinds(t)), memcached];
examineAll(t, kinds, examineCalendarMonths);
