import t from 'tap';
import { examineAdmissions } from '../../exam/decisions/admissions.ts';
import { examineLimitWindows } from '../../exam/decisions/limit-windows.ts';
import { examineCacheOfAdmissions } from '../../exam/decisions/local-cache.ts';
import { examineSeveralLimits } from '../../exam/decisions/several-limits.ts';
import { pooledStoreKinds } from '../../support/pooled.ts';
import { sharedStoreKind } from '../../support/stores.ts';

const [pooled] = await pooledStoreKinds(t);
for (const kind of [sharedStoreKind, pooled]) {
  t.test(kind.name, async t => {
    const open = () => kind.open(t);
    examineLimitWindows(t, open);
    examineAdmissions(t, open);
    examineSeveralLimits(t, open);
    examineCacheOfAdmissions(t, open);
  });
}
