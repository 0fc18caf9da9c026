import t from 'tap';
import { MAX_LACKING_READS, Settling } from '../../../../src/rules/source/file-source.ts';

/** Files with some content, or, with a `!`, without any. */
function files(...names: string[]) {
  return names.map(name => ({
    name: name.replace('!', ''),
    content: Buffer.from(name.endsWith('!') ? '' : 'rules'),
  }));
}

t.test('a set that lacks nothing is believed at once', async t => {
  const settling = new Settling();
  t.ok(settling.believes([]), 'the first set, though empty');
  t.ok(settling.believes(files('a')));
  t.ok(settling.believes(files('a', 'b')));
  t.ok(settling.believes(files('c', 'a', 'b')));
});

t.test('a set that lacks a file is believed once it was read twice', async t => {
  const settling = new Settling();
  settling.believes(files('a', 'b'));
  t.notOk(settling.believes(files('a', 'c')));
  t.ok(settling.believes(files('a', 'c')));
  t.ok(settling.believes(files('a', 'c')), 'what is gone is forgotten');
  t.notOk(settling.believes([]));
  t.ok(settling.believes([]));
});

t.test('an empty file is as good as none', async t => {
  const settling = new Settling();
  t.ok(settling.believes(files('a', 'b!')));
  t.notOk(settling.believes(files('a!', 'b!')));
  t.ok(settling.believes(files('a', 'b!')));
});

t.test('a file that comes back ends the doubt, and the next one begins anew', async t => {
  const settling = new Settling();
  settling.believes(files('a'));
  for (let round = 0; round < MAX_LACKING_READS; round++) {
    t.notOk(settling.believes([]));
    t.ok(settling.believes(files('a')));
  }
});

t.test('a set that is another each time is believed in the end', async t => {
  const settling = new Settling();
  const names = Array.from({ length: 20 }, (_, index) => String.fromCharCode(97 + index));
  settling.believes(files(...names));
  const verdicts = names.map((_, index) => settling.believes(files(...names.slice(index + 1))));
  t.equal(verdicts.indexOf(true), MAX_LACKING_READS - 1);
});

t.test('after a failed read the doubt begins anew, by what was believed last', async t => {
  const settling = new Settling();
  settling.believes(files('a'));
  t.notOk(settling.believes([]));
  settling.forget();
  t.notOk(settling.believes([]));
  t.ok(settling.believes(files('a')));
});
