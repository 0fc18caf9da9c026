import t from 'tap';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { examineLeaseAnswers } from '../../exam/decisions/lease-answers.ts';
import { sharedStoreKind } from '../../support/stores.ts';

examineAll(t, [sharedStoreKind], examineLeaseAnswers);
