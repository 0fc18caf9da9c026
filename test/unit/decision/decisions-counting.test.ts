import t from 'tap';
import { examineHits } from '../../exam/decisions/hits.ts';
import { examineHoldingBack } from '../../exam/decisions/holding-back.ts';
import { examineLocalCache } from '../../exam/decisions/local-cache.ts';
import { examineRedisKeys } from '../../exam/decisions/redis-keys.ts';
import { examineRefunds } from '../../exam/decisions/refunds.ts';
import { examineWindows } from '../../exam/decisions/windows.ts';
import { redisStoreKinds, sharedStoreKind } from '../../support/stores.ts';

const { redis, kinds } = await redisStoreKinds(t);
for (const kind of [sharedStoreKind, ...kinds]) {
  t.test(kind.name, async t => {
    const open = () => kind.open(t);
    examineWindows(t, open);
    examineHits(t, open);
    examineHoldingBack(t, open);
    examineRefunds(t, open);
    examineLocalCache(t, open);
    if (kind !== sharedStoreKind) examineRedisKeys(t, open, redis);
  });
}
