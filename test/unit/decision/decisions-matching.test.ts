import t from 'tap';
import { examineDomains } from '../../exam/decisions/domains.ts';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { examineMatching } from '../../exam/decisions/matching.ts';
import { examineMetricKeys } from '../../exam/decisions/metric-keys.ts';
import { allStoreKinds } from '../../support/stores.ts';

// Which rule applies does not depend on the store, but one that answers later must not change it either.
const [memory, redis] = await allStoreKinds(t);
examineAll(t, [memory, redis], examineDomains, examineMatching, examineMetricKeys);
