import t from 'tap';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { examineRandomRequests } from '../../exam/decisions/random-requests.ts';
import { allStoreKinds } from '../../support/stores.ts';

examineAll(t, await allStoreKinds(t), examineRandomRequests);
