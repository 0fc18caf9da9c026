import t from 'tap';
import { examineAdmissions } from '../../exam/decisions/admissions.ts';
import { examineAnswers } from '../../exam/decisions/answers.ts';
import { examineMetadataOfLimits } from '../../exam/decisions/dynamic-metadata.ts';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { examineLargeAdmissions } from '../../exam/decisions/large-limits.ts';
import { examineLimitWindows } from '../../exam/decisions/limit-windows.ts';
import { examineCacheOfAdmissions } from '../../exam/decisions/local-cache.ts';
import { examineSeveralLimits } from '../../exam/decisions/several-limits.ts';
import { pooledStoreKinds } from '../../support/pooled.ts';
import { allStoreKinds } from '../../support/stores.ts';

// A Redis without scripts has fixed windows only.
const [memory, tcp, withoutScripts] = await allStoreKinds(t);
examineAll(
  t,
  [memory, tcp, ...(await pooledStoreKinds(t))],
  examineLimitWindows,
  examineAdmissions,
  examineLargeAdmissions,
  examineSeveralLimits,
  examineCacheOfAdmissions,
  examineMetadataOfLimits,
  examineAnswers,
);
t.test(withoutScripts.name, async t => {
  examineLimitWindows(t, () => withoutScripts.open(t));
});
