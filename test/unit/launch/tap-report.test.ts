import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { repositoryRoot } from '../../support/repository.ts';

const { TapReport } = await import(pathToFileURL(join(repositoryRoot(), 'ops/launch/tap-report.mjs')).href);

/** The report on `tap`, and what it counted. */
function reportOn(tap: string): {
  text: string;
  counts: unknown;
  isComplete: boolean;
  failedFiles: string[];
  times: unknown;
} {
  const written: string[] = [];
  const report = new TapReport((text: string) => written.push(text));
  for (const line of tap.split('\n')) report.line(line);
  return {
    text: written.join(''),
    counts: report.counts,
    isComplete: report.isComplete,
    failedFiles: report.failedFiles,
    times: report.times,
  };
}

t.test('a file that passes is one line, named by its source', async t => {
  const report = reportOn(`TAP version 14
1..1
# Subtest: build/test/unit/a.test.js
    # Subtest: adds
        ok 1 - should be equal
        1..1
    ok 1 - adds # time=3.794ms
    
    1..1
    # time=21.437ms
ok 1 - build/test/unit/a.test.js # time=21.437ms

# No coverage generated
# { total: 1, pass: 1 }
# time=30ms`);
  t.equal(report.text, 'ok   test/unit/a.test.ts (21 ms)\n');
  t.same(report.counts, { passed: 1, failed: 0, skipped: 0 }, 'tests are counted, not assertions');
  t.same(report.failedFiles, []);
});

t.test('the processor time of files is kept where they tell it', async t => {
  const report = reportOn(`# Subtest: build/test/a.test.js
    ok 1 - fine
    # cpu=1230ms
ok 1 - build/test/a.test.js # time=2000ms
ok 2 - build/test/b.test.js # time=1ms`);
  t.same(report.times, [{ file: 'test/a.test.ts', cpuMs: 1_230, timeMs: 2_000 }]);
});

t.test('below a file that fails stand the failed assertions with their tests and reasons', async t => {
  const report = reportOn(`# Subtest: build/test/a.test.js
    # Subtest: first
        ok 1 - fine
        1..1
    ok 1 - first # time=1ms
    # Subtest: second
        # Subtest: inner
            not ok 1 - sum
              ---
              diff: |
                -3
                +2
              ...
            
            1..1
        not ok 1 - inner # time=1ms
          ---
          at:
            lineNumber: 7
          ...
        
    not ok 2 - second # time=1ms
not ok 1 - build/test/a.test.js # time=2ms
  ---
  command: node
  exitCode: 1
  signal: null
  ...

# { total: 2, pass: 1, fail: 1 }`);
  t.equal(
    report.text,
    'FAIL test/a.test.ts (2 ms)\n' +
      '  ✖ second > inner > sum\n' +
      '      diff: |\n' +
      '        -3\n' +
      '        +2\n' +
      '      exitCode: 1\n',
  );
  t.same(report.failedFiles, ['test/a.test.ts']);
  t.same(report.counts, { passed: 1, failed: 1, skipped: 0 });
});

t.test('a file that dies without a failed assertion fails, with the signal that ended it', async t => {
  const report = reportOn(`# Subtest: build/test/a.test.js
    1..0 # no tests found
not ok 1 - build/test/a.test.js # time=2ms
  ---
  exitCode: null
  signal: SIGSEGV
  ...`);
  t.equal(report.text, 'FAIL test/a.test.ts (2 ms)\n      signal: SIGSEGV\n');
  t.match(report.counts, { failed: 1 });
  t.same(report.failedFiles, ['test/a.test.ts']);
});

t.test('skipped and postponed tests are no failures, and are counted', async t => {
  const report = reportOn(`# Subtest: build/test/a.test.js
    ok 1 - other system # SKIP needs IPv6
    not ok 2 - later # ${'TODO'}
ok 1 - build/test/a.test.js # time=2ms`);
  t.equal(report.text, 'ok   test/a.test.ts (2 ms)\n');
  t.same(report.counts, { passed: 0, failed: 0, skipped: 2 });
});

t.test('what a test prints itself is shown', async t => {
  const report = reportOn(`# Subtest: build/test/a.test.js
    printed by the test
    ok 1 - fine
ok 1 - build/test/a.test.js # time=2ms
Bail out! the disk is full`);
  t.equal(report.text, '    printed by the test\nok   test/a.test.ts (2 ms)\nBail out! the disk is full\n');
});

t.test('a report is complete once the runner has counted', async t => {
  t.equal(reportOn('TAP version 14').isComplete, false);
  t.equal(reportOn('# { total: 1, pass: 1 }').isComplete, true);
});
