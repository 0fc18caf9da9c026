import t from 'tap';
import { examineDomains } from '../../exam/decisions/domains.ts';
import { examineMatching } from '../../exam/decisions/matching.ts';
import { examineMetricKeys } from '../../exam/decisions/metric-keys.ts';
import { allStoreKinds } from '../../support/stores.ts';

// Which rule applies does not depend on the store, but one that answers later must not change it either.
const [memory, redis] = await allStoreKinds(t);
for (const kind of [memory, redis]) {
  t.test(kind.name, async t => {
    examineDomains(t, () => kind.open(t));
    examineMatching(t, () => kind.open(t));
    examineMetricKeys(t, () => kind.open(t));
  });
}
