import t from 'tap';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { examineRequestedLimits } from '../../exam/decisions/requested-limits.ts';
import { redisStoreKinds, sharedStoreKind } from '../../support/stores.ts';

const { kinds } = await redisStoreKinds(t);
examineAll(t, [sharedStoreKind, kinds[0]], examineRequestedLimits);
