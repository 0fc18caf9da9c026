import t from 'tap';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { examinePenalties } from '../../exam/decisions/penalties.ts';
import { pooledStoreKinds } from '../../support/pooled.ts';
import { allStoreKinds } from '../../support/stores.ts';

// A Redis without scripts cannot keep penalties.
const [memory, tcp] = await allStoreKinds(t);
examineAll(t, [memory, tcp, ...(await pooledStoreKinds(t))], examinePenalties);
