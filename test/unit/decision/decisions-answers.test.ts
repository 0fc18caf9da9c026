import t from 'tap';
import { examineDynamicMetadata } from '../../exam/decisions/dynamic-metadata.ts';
import { examineHeaders } from '../../exam/decisions/headers.ts';
import { examineJsonResponse } from '../../exam/decisions/json-response.ts';
import { examineOverride } from '../../exam/decisions/override.ts';
import { examineShadowAndQuota } from '../../exam/decisions/shadow-and-quota.ts';
import { examineUnlimitedAndReplaces } from '../../exam/decisions/unlimited-and-replaces.ts';
import { allStoreKinds } from '../../support/stores.ts';

for (const kind of await allStoreKinds(t)) {
  t.test(kind.name, async t => {
    const open = () => kind.open(t);
    examineShadowAndQuota(t, open);
    examineUnlimitedAndReplaces(t, open);
    examineOverride(t, open);
    examineHeaders(t, open);
    examineDynamicMetadata(t, open);
    examineJsonResponse(t, open);
  });
}
