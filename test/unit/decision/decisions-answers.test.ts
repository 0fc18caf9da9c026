import t from 'tap';
import { examineDynamicMetadata } from '../../exam/decisions/dynamic-metadata.ts';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { examineHeaders } from '../../exam/decisions/headers.ts';
import { examineJsonResponse } from '../../exam/decisions/json-response.ts';
import { examineOverride } from '../../exam/decisions/override.ts';
import { examineShadowAndQuota } from '../../exam/decisions/shadow-and-quota.ts';
import { examineUnlimitedAndReplaces } from '../../exam/decisions/unlimited-and-replaces.ts';
import { allStoreKinds } from '../../support/stores.ts';

examineAll(
  t,
  await allStoreKinds(t),
  examineShadowAndQuota,
  examineUnlimitedAndReplaces,
  examineOverride,
  examineHeaders,
  examineDynamicMetadata,
  examineJsonResponse,
);
