import t from 'tap';
import { counterStoreExam } from '../../exam/counter-store.ts';
import { allStoreKinds } from '../../support/stores.ts';

for (const kind of await allStoreKinds(t)) {
  t.test(kind.name, t => {
    counterStoreExam(t, inner => kind.open(inner), kind.exempt);
    t.end();
  });
}
