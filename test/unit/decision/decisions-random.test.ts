import t from 'tap';
import { examineRandomRequests } from '../../exam/decisions/random-requests.ts';
import { allStoreKinds } from '../../support/stores.ts';

for (const kind of await allStoreKinds(t)) {
  t.test(kind.name, async t => {
    examineRandomRequests(t, () => kind.open(t));
  });
}
