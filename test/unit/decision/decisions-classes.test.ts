import t from 'tap';
import { examineClasses } from '../../exam/decisions/classes.ts';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { pooledStoreKinds } from '../../support/pooled.ts';
import { allStoreKinds } from '../../support/stores.ts';

// A Redis without scripts cannot admit hits.
const [memory, tcp] = await allStoreKinds(t);
examineAll(t, [memory, tcp, ...(await pooledStoreKinds(t))], examineClasses);
