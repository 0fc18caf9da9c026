import t from 'tap';
import { type MasterKey, parseMasterKey } from '../../../../src/tasks/sealing/master-key.ts';
import { type SealedFor, Sealer } from '../../../../src/tasks/sealing/sealer.ts';

const VALUE = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
const BELONGS: SealedFor = { tenant: 'acme', workerId: 'wrk_1', secretId: 'sec_1', type: 'signing' };

function key(byte: number): MasterKey {
  return parseMasterKey(Buffer.alloc(32, byte).toString('hex'), 'the test');
}

function sealer(current = key(1), older: readonly MasterKey[] = []): Sealer {
  return new Sealer({ current, older });
}

t.test('what was sealed opens for what it was sealed for, also in another process', async t => {
  const dataKey = sealer().newDataKey('acme');
  for (const value of [VALUE, '', 'Bearer grüße 限制', 'x'.repeat(4096)]) {
    const sealed = sealer().seal(value, dataKey, BELONGS);
    t.equal(sealer().open(sealed, dataKey, BELONGS), value);
  }
});

t.test('the value stands nowhere in what is kept, and sealing twice gives two texts', async t => {
  const one = sealer();
  const dataKey = one.newDataKey('acme');
  const sealed = one.seal(VALUE, dataKey, BELONGS);
  const bytes = Buffer.from(sealed, 'base64');
  t.notOk(bytes.includes(VALUE) || bytes.includes('whsec_'));
  t.not(one.seal(VALUE, dataKey, BELONGS), sealed);
  t.match(sealed, /^[A-Za-z0-9+/]+=*$/);
});

t.test('it opens for no other tenant, worker, secret or type', async t => {
  const one = sealer();
  const dataKey = one.newDataKey('acme');
  const sealed = one.seal(VALUE, dataKey, BELONGS);
  for (const other of [{ workerId: 'wrk_2' }, { secretId: 'sec_2' }, { type: 'header' }]) {
    t.throws(
      () => one.open(sealed, dataKey, { ...BELONGS, ...other }),
      /cannot be decrypted/,
      Object.keys(other)[0],
    );
  }
  t.throws(
    () => one.open(sealed, dataKey, { ...BELONGS, tenant: 'other' }),
    /data key of tenant other cannot be decrypted/,
  );
  const others = one.newDataKey('other');
  t.throws(() => one.open(sealed, others, { ...BELONGS, tenant: 'other' }), /cannot be decrypted/);
});

t.test('adjacent parts are unambiguous', async t => {
  const one = sealer();
  const dataKey = one.newDataKey('acme');
  const sealed = one.seal(VALUE, dataKey, { ...BELONGS, workerId: 'a","b', secretId: 'c' });
  t.throws(
    () => one.open(sealed, dataKey, { ...BELONGS, workerId: 'a', secretId: 'b","c' }),
    /cannot be decrypted/,
  );
});

t.test('a change of any byte is noticed, and so is a cut', async t => {
  const one = sealer();
  const dataKey = one.newDataKey('acme');
  const sealed = Buffer.from(one.seal(VALUE, dataKey, BELONGS), 'base64');
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed[at] ^= 1;
    t.throws(
      () => one.open(changed.toString('base64'), dataKey, BELONGS),
      /cannot be decrypted/,
      `byte ${at}`,
    );
  }
  for (const length of [0, 1, 12, 28, sealed.length - 1]) {
    const cut = sealed.subarray(0, length).toString('base64');
    t.throws(() => one.open(cut, dataKey, BELONGS), /cannot be decrypted/, `${length} bytes`);
  }
});

t.test('after a change of the master key the older one still opens', async t => {
  const before = sealer(key(1));
  const dataKey = before.newDataKey('acme');
  const sealed = before.seal(VALUE, dataKey, BELONGS);
  const print = before.fingerprint(VALUE, dataKey, 'acme');

  const during = sealer(key(2), [key(1)]);
  t.equal(during.open(sealed, dataKey, BELONGS), VALUE);
  t.equal(during.fingerprint(VALUE, dataKey, 'acme'), print);

  const after = sealer(key(2));
  t.throws(
    () => after.open(sealed, dataKey, BELONGS),
    /wrapped with master key [0-9a-f]{16}, which is not configured/,
  );
});

t.test('a fingerprint is the same for equal values of one tenant only', async t => {
  const one = sealer();
  const dataKey = one.newDataKey('acme');
  const print = one.fingerprint(VALUE, dataKey, 'acme');
  t.match(print, /^[0-9a-f]{12}$/);
  t.equal(one.fingerprint(VALUE, dataKey, 'acme'), print);
  t.not(one.fingerprint(`${VALUE}x`, dataKey, 'acme'), print);
  t.not(one.fingerprint(VALUE, one.newDataKey('other'), 'other'), print);
});

t.test('errors hold neither values nor keys', async t => {
  const one = sealer();
  const dataKey = one.newDataKey('acme');
  const sealed = one.seal(VALUE, dataKey, BELONGS);
  const failure = t.throws(() =>
    one.open(sealed, dataKey, { ...BELONGS, type: 'header' }),
  ) as unknown as Error;
  const text = `${failure.message} ${failure.stack} ${String(failure.cause)}`;
  for (const hidden of [VALUE, sealed, dataKey.wrapped, '01'.repeat(32)]) t.notOk(text.includes(hidden));
});
