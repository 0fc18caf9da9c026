import t from 'tap';
import { MAX_RECHECKS, RemovalCheck } from '../../../../src/rules/source/file-source.ts';

/** Files with some content, or, with a `!`, without any. */
function files(...names: string[]) {
  return names.map(name => ({
    name: name.replace('!', ''),
    content: Buffer.from(name.endsWith('!') ? '' : 'rules'),
  }));
}

t.test('a set that lacks nothing is believed at once', async t => {
  const removals = new RemovalCheck();
  t.ok(removals.isComplete([]), 'the first set, though empty');
  t.ok(removals.isComplete(files('a')));
  t.ok(removals.isComplete(files('a', 'b')));
  t.ok(removals.isComplete(files('c', 'a', 'b')));
});

t.test('a set that lacks a file is believed once it was read twice', async t => {
  const removals = new RemovalCheck();
  removals.isComplete(files('a', 'b'));
  t.notOk(removals.isComplete(files('a', 'c')));
  t.ok(removals.isComplete(files('a', 'c')));
  t.ok(removals.isComplete(files('a', 'c')), 'what is gone is forgotten');
  t.notOk(removals.isComplete([]));
  t.ok(removals.isComplete([]));
});

t.test('an empty file is as good as none', async t => {
  const removals = new RemovalCheck();
  t.ok(removals.isComplete(files('a', 'b!')));
  t.notOk(removals.isComplete(files('a!', 'b!')));
  t.ok(removals.isComplete(files('a', 'b!')));
});

t.test('a file that comes back ends the doubt, and the next doubt starts from zero', async t => {
  const removals = new RemovalCheck();
  removals.isComplete(files('a'));
  for (let round = 0; round < MAX_RECHECKS; round++) {
    t.notOk(removals.isComplete([]));
    t.ok(removals.isComplete(files('a')));
  }
});

t.test('a set that is another each time is believed in the end', async t => {
  const removals = new RemovalCheck();
  const names = Array.from({ length: 20 }, (_, index) => String.fromCharCode(97 + index));
  removals.isComplete(files(...names));
  const verdicts = names.map((_, index) => removals.isComplete(files(...names.slice(index + 1))));
  t.equal(verdicts.indexOf(true), MAX_RECHECKS - 1);
});

t.test('after a failed read the doubt starts again from the last accepted files', async t => {
  const removals = new RemovalCheck();
  removals.isComplete(files('a'));
  t.notOk(removals.isComplete([]));
  removals.forget();
  t.notOk(removals.isComplete([]));
  t.ok(removals.isComplete(files('a')));
});
