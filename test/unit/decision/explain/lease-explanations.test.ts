import t from 'tap';
import { examineAll } from '../../../exam/decisions/examinee.ts';
import { examineLeaseExplanations, examineLeaseTimes } from '../../../exam/decisions/lease-explanations.ts';
import { allStoreKinds, sharedStoreKind } from '../../../support/stores.ts';

examineAll(t, [sharedStoreKind], examineLeaseTimes);
// A Redis without scripts has no leases.
const [, tcp] = await allStoreKinds(t);
examineAll(t, [tcp], examineLeaseExplanations);
