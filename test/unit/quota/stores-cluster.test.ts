import t from 'tap';
import { quotaExam } from '../../exam/quota-payments.ts';
import { startCluster } from '../../support/redis-cluster.ts';
import { redisStore, SINGLE_COMMANDS } from '../../support/stores.ts';

// A store that waits does not keep the process alive.
const alive = setInterval(() => {}, 60_000);
t.teardown(() => clearInterval(alive));

const cluster = await startCluster();
t.teardown(() => cluster.stop());

quotaExam(
  t,
  async inner => {
    await cluster.flush();
    const store = redisStore({ type: 'cluster', socketType: 'tcp', url: cluster.address, auth: '' });
    inner.teardown(() => store.stop());
    await store.start();
    return store;
  },
  SINGLE_COMMANDS,
);
