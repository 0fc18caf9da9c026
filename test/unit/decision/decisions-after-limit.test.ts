import t from 'tap';
import { examineAfterLimit } from '../../exam/decisions/after-limit.ts';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { pooledStoreKinds } from '../../support/pooled.ts';
import { allStoreKinds } from '../../support/stores.ts';

examineAll(t, [...(await allStoreKinds(t)), ...(await pooledStoreKinds(t))], examineAfterLimit);
