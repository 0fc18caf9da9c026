import t from 'tap';
import { systemClock } from '../../../src/base/clock.ts';
import { RedisCounterStore } from '../../../src/counters/redis/redis-counter-store.ts';
import { SplitCounters } from '../../../src/counters/redis/topology/split-counters.ts';
import { quotaExam } from '../../exam/quota-payments.ts';
import { handedOn } from '../../support/handed-on.ts';
import { KeepingLogger } from '../../support/keeping-logger.ts';
import { DeskScene } from '../../support/quota/desk-scene.ts';
import { startRedis } from '../../support/redis-server.ts';
import {
  embeddedStore,
  IN_REDIS,
  redisCounters,
  redisStoreKinds,
  type StoreKind,
  sharedStoreKind,
  type Teardown,
} from '../../support/stores.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

const handedOnKind: StoreKind = {
  name: 'memory, handed on',
  open: async t => handedOn(t, embeddedStore()).store,
};

const { redis, kinds } = await redisStoreKinds(t);
const perSecond = await startRedis();
t.teardown(() => perSecond.stop());

/** Windows of a second in a Redis of their own. */
const apartKind: StoreKind = {
  name: 'redis, and another one for windows of a second',
  exempt: IN_REDIS,
  open: async (inner: Teardown) => {
    await Promise.all([redis.command('FLUSHALL'), perSecond.command('FLUSHALL')]);
    const logger = new KeepingLogger();
    const store = new RedisCounterStore({
      counters: new SplitCounters({
        main: redisCounters({ socketType: 'tcp', url: redis.address, auth: '' }, { logger }),
        perSecond: redisCounters({ socketType: 'tcp', url: perSecond.address, auth: '' }, { logger }),
      }),
      secondsApart: true,
      refunds: null,
      outages: [],
      clock: systemClock,
      logger,
    });
    inner.teardown(() => store.stop());
    await store.start();
    return store;
  },
};

for (const kind of [sharedStoreKind, handedOnKind, ...kinds, apartKind])
  t.test(kind.name, t => {
    quotaExam(t, inner => kind.open(inner), kind.exempt);
    t.end();
  });

t.test('Redis keeps a window that has not begun until it has ended', async t => {
  const store = await kinds[0].open(t);
  const rules =
    '{ domain: api, descriptors: [{ key: user, rate_limit: { unit: second, requests_per_unit: 100 } }] }';
  const scene = new DeskScene({ rules, store });
  await scene.open().reports('user=ann', 0);
  const nowS = scene.decisions.clock.nowMs() / 1_000;
  for (let ahead = 0; ahead <= 10; ahead++) {
    const ttlS = Number(await redis.command('TTL', `api_user_ann_${nowS + ahead}`));
    t.ok(ttlS >= ahead && ttlS <= ahead + 2, `${ttlS} s for a window that ends in ${ahead + 1} s`);
  }
});
