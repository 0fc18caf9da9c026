import t from 'tap';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { examineHits } from '../../exam/decisions/hits.ts';
import { examineHoldingBack } from '../../exam/decisions/holding-back.ts';
import { examineLargeLimits } from '../../exam/decisions/large-limits.ts';
import { examineLocalCache } from '../../exam/decisions/local-cache.ts';
import { examineRedisKeys } from '../../exam/decisions/redis-keys.ts';
import { examineRefunds } from '../../exam/decisions/refunds.ts';
import { examineWindows } from '../../exam/decisions/windows.ts';
import { redisStoreKinds, sharedStoreKind } from '../../support/stores.ts';

const { redis, kinds } = await redisStoreKinds(t);
const exams = [
  examineWindows,
  examineHits,
  examineHoldingBack,
  examineRefunds,
  examineLocalCache,
  examineLargeLimits,
];
examineAll(t, [sharedStoreKind], ...exams);
examineAll(t, kinds, ...exams, (t, open) => examineRedisKeys(t, open, redis));
