import t from 'tap';
import { examineRequestedLimits } from '../../exam/decisions/requested-limits.ts';
import { redisStoreKinds, sharedStoreKind } from '../../support/stores.ts';

const { kinds } = await redisStoreKinds(t);
for (const kind of [sharedStoreKind, kinds[0]]) {
  t.test(kind.name, async t => examineRequestedLimits(t, () => kind.open(t)));
}
