import t from 'tap';
import { examineAdmissions } from '../../exam/decisions/admissions.ts';
import { examineLimitWindows } from '../../exam/decisions/limit-windows.ts';
import { examineSeveralLimits } from '../../exam/decisions/several-limits.ts';
import { sharedStoreKind } from '../../support/stores.ts';

for (const kind of [sharedStoreKind]) {
  t.test(kind.name, async t => {
    const open = () => kind.open(t);
    examineLimitWindows(t, open);
    examineAdmissions(t, open);
    examineSeveralLimits(t, open);
  });
}
