import t from 'tap';
import { HeldBytes } from '../../../src/grpc/limits.ts';

t.test('room is taken up to the bound and given back', async t => {
  const bytes = new HeldBytes(10);
  t.ok(bytes.take(6));
  t.ok(bytes.take(4));
  t.equal(bytes.held, 10);
  t.notOk(bytes.take(1));
  t.equal(bytes.held, 10, 'what is refused takes nothing');
  bytes.release(6);
  t.ok(bytes.take(5));
  t.equal(bytes.held, 9);
});

t.test('what is taken of a part is taken of the whole', async t => {
  const whole = new HeldBytes(10);
  const first = new HeldBytes(8, whole);
  const second = new HeldBytes(8, whole);
  t.ok(first.take(8));
  t.notOk(first.take(1), 'the part has its own bound');
  t.notOk(second.take(3), 'and the whole has one');
  t.equal(second.held, 0, 'what the whole refuses takes nothing of the part');
  t.ok(second.take(2));
  t.equal(whole.held, 10);
  first.release(8);
  t.equal(whole.held, 2);
});
