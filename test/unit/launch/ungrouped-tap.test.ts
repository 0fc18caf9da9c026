import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { repositoryRoot } from '../../support/repository.ts';

const module = pathToFileURL(join(repositoryRoot(), 'ops/launch/ungrouped-tap.mjs')).href;
const { UngroupedTap } = await import(module);

const A = 'build/test/a.test.js';
const B = 'build/test/b.test.js';

/** What becomes of `tap`, in which `group` is the group of two files. */
function ungrouped(tap: string): string {
  const lines: string[] = [];
  const conversion = new UngroupedTap(new Map([['group', [A, B]]]), (line: string) => lines.push(line));
  for (const line of tap.split('\n')) conversion.line(line);
  return lines.join('\n');
}

t.test('the files of a group appear as if each had run in a process of its own', async t => {
  const converted = ungrouped(`TAP version 14
# Subtest: build/test/other.test.js
    ok 1 - alone # time=1ms
ok 1 - build/test/other.test.js # time=2ms
# Subtest: group
    # Subtest: ${A}
        ok 1 - first # time=1ms
    # cpu=10ms
    ok 1 - ${A} # time=2ms
    
    # Subtest: ${B}
        not ok 1 - second # time=1ms
    not ok 2 - ${B} # time=3ms
      ---
      at: null
      ...
    
    1..2
not ok 2 - group # time=5ms
  ---
  exitCode: 1
  ...

1..2`);
  t.equal(
    converted,
    `TAP version 14
# Subtest: build/test/other.test.js
    ok 1 - alone # time=1ms
ok 1 - build/test/other.test.js # time=2ms
# Subtest: ${A}
    ok 1 - first # time=1ms
# cpu=10ms
ok 1 - ${A} # time=2ms

# Subtest: ${B}
    not ok 1 - second # time=1ms
not ok 2 - ${B} # time=3ms
  ---
  at: null
  ...

1..2
  ---
  exitCode: 1
  ...

1..2`,
  );
});

t.test('files that the process of their group did not live to run fail', async t => {
  const converted = ungrouped(`# Subtest: group
    # Subtest: ${A}
        ok 1 - first # time=1ms
not ok 1 - group # time=5ms`);
  t.match(converted, `not ok 1 - ${A}\n`);
  t.match(converted, new RegExp(`not ok 1 - ${B}$`));
});

t.test('a group fails by itself if its process does after the last file', async t => {
  const converted = ungrouped(`# Subtest: group
    ok 1 - ${A} # time=1ms
    ok 2 - ${B} # time=1ms
not ok 1 - group # time=5ms`);
  t.match(converted, /\nnot ok 1 - group # time=5ms$/);
});
