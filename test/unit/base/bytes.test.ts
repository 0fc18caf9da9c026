import t from 'tap';
import { ByteWriter } from '../../../src/base/bytes.ts';

const written = (write: (to: ByteWriter) => void): string => {
  const to = new ByteWriter(1);
  write(to);
  return Buffer.from(to.view()).toString('latin1');
};

t.test('decimal writes every whole number as its digits', async t => {
  for (const value of [0, 1, 9, 10, 99, 100, 4_294_967_295, 4_294_967_296, Number.MAX_SAFE_INTEGER]) {
    t.equal(
      written(to => to.decimal(value)),
      String(value),
    );
  }
});

t.test('varint writes the bytes of the protobuf encoding', async t => {
  const cases: [number, string][] = [
    [0, '00'],
    [1, '01'],
    [127, '7f'],
    [128, '8001'],
    [300, 'ac02'],
    [4_294_967_295, 'ffffffff0f'],
    [Number.MAX_SAFE_INTEGER, 'ffffffffffffff0f'],
  ];
  for (const [value, hex] of cases) {
    t.equal(
      Buffer.from(
        written(to => to.varint(value)),
        'latin1',
      ).toString('hex'),
      hex,
      String(value),
    );
  }
});

t.test('text and copies grow the buffer and keep what was there', async t => {
  const to = new ByteWriter(1);
  to.text('grüße');
  to.ascii('-');
  const long = Buffer.from('x'.repeat(1_000));
  to.copy(long, 0, 1_000);
  to.copy(long, 10, 13);
  t.equal(Buffer.from(to.view()).toString(), `grüße-${'x'.repeat(1_003)}`);
});

t.test('reset keeps the memory, take copies it', async t => {
  const to = new ByteWriter(16);
  to.ascii('abc');
  const taken = to.take();
  const { bytes } = to;
  to.reset();
  to.ascii('xyz');
  t.equal(to.bytes, bytes);
  t.equal(Buffer.from(taken).toString(), 'abc');
});
