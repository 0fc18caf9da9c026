import t from 'tap';
import { examineExplanations } from '../../../exam/decisions/explanations.ts';
import { allStoreKinds } from '../../../support/stores.ts';

for (const kind of await allStoreKinds(t)) {
  t.test(kind.name, async t => {
    examineExplanations(t, () => kind.open(t));
  });
}
