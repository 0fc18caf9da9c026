import t from 'tap';
import { examineAll } from '../../exam/decisions/examinee.ts';
import { examineSteering } from '../../exam/decisions/steering.ts';
import { redisStoreKinds, sharedStoreKind } from '../../support/stores.ts';

const { kinds } = await redisStoreKinds(t);
examineAll(t, [sharedStoreKind, kinds[0]], examineSteering);
