import t from 'tap';
import { examineAll } from '../../../exam/decisions/examinee.ts';
import { examineLeaseExplanations } from '../../../exam/decisions/lease-explanations.ts';
import { sharedStoreKind } from '../../../support/stores.ts';

examineAll(t, [sharedStoreKind], examineLeaseExplanations);
