import t from 'tap';
import { counterStoreExam } from '../../exam/counter-store.ts';
import { redisStoreKinds, sharedStoreKind } from '../../support/stores.ts';

const { kinds, overUnixSocket } = await redisStoreKinds(t);
for (const kind of [sharedStoreKind, ...kinds, overUnixSocket]) {
  t.test(kind.name, t => {
    counterStoreExam(t, inner => kind.open(inner), kind.exempt);
    t.end();
  });
}
