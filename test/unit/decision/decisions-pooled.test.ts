import t from 'tap';
import { examineDomains } from '../../exam/decisions/domains.ts';
import { examineDynamicMetadata } from '../../exam/decisions/dynamic-metadata.ts';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { examineHeaders } from '../../exam/decisions/headers.ts';
import { examineHits } from '../../exam/decisions/hits.ts';
import { examineHoldingBack } from '../../exam/decisions/holding-back.ts';
import { examineJsonResponse } from '../../exam/decisions/json-response.ts';
import { examineMatching } from '../../exam/decisions/matching.ts';
import { examineMetricKeys } from '../../exam/decisions/metric-keys.ts';
import { examineOverride } from '../../exam/decisions/override.ts';
import { examineRandomRequests } from '../../exam/decisions/random-requests.ts';
import { examineRefunds } from '../../exam/decisions/refunds.ts';
import { examineShadowAndQuota } from '../../exam/decisions/shadow-and-quota.ts';
import { examineSteering } from '../../exam/decisions/steering.ts';
import { examineUnlimitedAndReplaces } from '../../exam/decisions/unlimited-and-replaces.ts';
import { examineWindows } from '../../exam/decisions/windows.ts';
import { pooledStoreKinds } from '../../support/pooled.ts';

// Another thread decides by the same engine, so it must decide the same.
examineAll(
  t,
  await pooledStoreKinds(t),
  examineDomains,
  examineMatching,
  examineMetricKeys,
  examineShadowAndQuota,
  examineUnlimitedAndReplaces,
  examineOverride,
  examineHeaders,
  examineDynamicMetadata,
  examineJsonResponse,
  examineWindows,
  examineHits,
  examineHoldingBack,
  examineRefunds,
  examineSteering,
  examineRandomRequests,
);
