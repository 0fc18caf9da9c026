import t from 'tap';
import { examinePenalties } from '../../exam/decisions/penalties.ts';
import { pooledStoreKinds } from '../../support/pooled.ts';
import { allStoreKinds } from '../../support/stores.ts';

// A Redis without scripts cannot keep penalties.
const [memory, tcp] = await allStoreKinds(t);
for (const kind of [memory, tcp, ...(await pooledStoreKinds(t))]) {
  t.test(kind.name, async t => examinePenalties(t, () => kind.open(t)));
}
