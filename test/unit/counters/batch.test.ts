import t from 'tap';
import { ADMISSION } from '../../../src/counters/admission/admission.ts';
import { CounterBatch } from '../../../src/counters/batch.ts';
import { ACTION, LEASE_MODE } from '../../../src/counters/leases/lease.ts';
import { fixedWindow } from '../../support/admission.ts';
import { TEST_FINGERPRINT_KEY } from '../../support/stores.ts';

const KEY = Buffer.from('key');
const RANGE = { start: 0, end: KEY.length };
const OP = { hits: 1, isRefund: false, limit: 10, unit: 2, ttlS: 60, expiryS: 60 };

const LEASED = {
  admission: ADMISSION.leased,
  scale: 1,
  capacity: 10,
  drain: 0,
  windowS: 60,
  lease: {
    mode: LEASE_MODE.reserve,
    forS: 10,
    hasHolders: true,
    estimate: 0,
    settles: true,
    zeroSettles: false,
    allowsOverdraft: false,
  },
};

t.test('an op with a lease keeps nothing free of what an earlier batch kept free', async t => {
  const batch = new CounterBatch(TEST_FINGERPRINT_KEY);
  batch.reset(0);
  batch.addOp(KEY, RANGE, { ...OP, terms: { ...fixedWindow(10, 60), reserve: 10 } });
  batch.reset(0);
  const lease = { action: ACTION.any, bytes: KEY, start: 0, end: KEY.length };
  const op = batch.addOp(KEY, RANGE, { ...OP, terms: LEASED, lease });
  batch.endGroup(false);
  batch.counts[batch.opSlots[op]] = 9;
  t.equal(batch.isFull(op), false);
  batch.counts[batch.opSlots[op]] = 10;
  t.equal(batch.isFull(op), true);
});
