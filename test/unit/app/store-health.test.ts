import t from 'tap';
import { StoreHealth } from '../../../src/app/store-health.ts';
import { Health } from '../../../src/base/health.ts';

function componentsOf(health: Health) {
  return Object.fromEntries([...health.components].map(([name, { ok, note }]) => [name, note ?? ok]));
}

t.test('the store works only while it does for every thread; it does not decide', async t => {
  const health = new Health();
  const store = new StoreHealth(health, false);
  t.same(componentsOf(health), { store: true });
  store.storeChanged('Redis does not answer', 2);
  t.same(componentsOf(health), { store: 'Redis does not answer' });
  store.storeChanged('Redis refuses', 3);
  store.storeChanged(null, 2);
  t.same(componentsOf(health), { store: 'Redis refuses' });
  t.ok(health.healthy);
  store.storeChanged(null, 3);
  t.same(componentsOf(health), { store: true });
});

t.test('connections of every thread count, and decide where that is asked for', async t => {
  const health = new Health();
  const store = new StoreHealth(health, true);
  store.connectionsChanged(true);
  store.connectionsChanged(false, 2);
  t.notOk(health.healthy);
  t.match(componentsOf(health), { store: /no connection/, store_connection: /no connection/ });
  store.connectionsChanged(null, 2);
  t.ok(health.healthy, 'the thread is gone');
  t.same(componentsOf(health), { store: true, store_connection: true });
  store.storeChanged('Redis refuses');
  t.ok(health.healthy, 'a store that is connected and does not count does not decide');
  t.same(componentsOf(health), { store: 'Redis refuses', store_connection: true });
});
