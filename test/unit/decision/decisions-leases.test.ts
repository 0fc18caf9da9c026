import t from 'tap';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { examineLeases } from '../../exam/decisions/leases.ts';
import { pooledStoreKinds } from '../../support/pooled.ts';
import { allStoreKinds } from '../../support/stores.ts';

// A Redis without scripts cannot keep leases.
const [memory, tcp] = await allStoreKinds(t);
examineAll(t, [memory, tcp, ...(await pooledStoreKinds(t))], examineLeases);
