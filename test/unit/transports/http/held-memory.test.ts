import t from 'tap';
import { HeldMemory } from '../../../../src/transports/http/traffic.ts';

/** Gives way by writing down its name. */
function holders(memory: HeldMemory, names: string) {
  const gave: string[] = [];
  const made = [...names].map(name => ({ discard: () => void gave.push(name) }));
  return { gave, hold: (index: number, bytes: number) => memory.hold(made[index], bytes), made };
}

t.test('what is held longest gives way, until the rest fits', async t => {
  const memory = new HeldMemory(100);
  const { gave, hold } = holders(memory, 'abcd');
  hold(0, 30);
  hold(1, 30);
  hold(2, 40);
  t.equal(memory.bytes, 100);
  hold(3, 50);
  t.strictSame(gave, ['a', 'b']);
  t.equal(memory.bytes, 90);
});

t.test('one that grows keeps its age', async t => {
  const memory = new HeldMemory(100);
  const { gave, hold } = holders(memory, 'ab');
  hold(0, 30);
  hold(1, 30);
  hold(0, 30);
  hold(1, 30);
  t.strictSame(gave, ['a']);
  t.equal(memory.bytes, 60);
});

t.test(
  'one that grows beyond the bound gives way itself when it is the oldest, unless it is alone',
  async t => {
    const memory = new HeldMemory(100);
    const { gave, hold } = holders(memory, 'ab');
    hold(0, 200);
    t.strictSame(gave, []);
    hold(1, 10);
    t.strictSame(gave, ['a']);
    t.equal(memory.bytes, 10);
  },
);

t.test('what is released does not count, and giving way twice is harmless', async t => {
  const memory = new HeldMemory(100);
  const { gave, hold, made } = holders(memory, 'abc');
  hold(0, 60);
  memory.release(made[0]);
  memory.release(made[0]);
  t.equal(memory.bytes, 0);
  hold(1, 60);
  hold(2, 40);
  t.strictSame(gave, []);
});
