import t from 'tap';
import { examineSteering } from '../../exam/decisions/steering.ts';
import { redisStoreKinds, sharedStoreKind } from '../../support/stores.ts';

const { kinds } = await redisStoreKinds(t);
for (const kind of [sharedStoreKind, kinds[0]]) {
  t.test(kind.name, async t => examineSteering(t, () => kind.open(t)));
}
