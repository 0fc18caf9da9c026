import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LogFile } from '../../../../src/app/decision-log/log-file.ts';
import { StatsRegistry } from '../../../../src/stats/registry.ts';
import { KeepingLogger } from '../../../support/keeping-logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';
import { until } from '../../../support/until.ts';

function openFile(t: Test, path: string) {
  const clock = new ManualClock(1_700_000_000_000);
  const stats = new StatsRegistry();
  const logger = new KeepingLogger();
  const count = (name: string) => new Map(stats.counters()).get(name) ?? 0;
  const file = new LogFile(path, stats.counter('written'), stats.counter('dropped'), clock, logger);
  t.teardown(() => file.stop());
  const settled = (lines: number) => until(() => count('written') + count('dropped') === lines);
  return { file, clock, logger, settled, written: () => count('written'), dropped: () => count('dropped') };
}

t.test('lines are appended to the file, which only its owner may read', async t => {
  const path = join(tempDirectory(t), 'decisions.log');
  const first = openFile(t, path);
  first.file.write('1\n2\n');
  first.file.write('3\n');
  await first.file.stop();
  const { file, settled, written } = openFile(t, path);
  file.write('4\n');
  await settled(1);
  t.equal(readFileSync(path, 'utf8'), '1\n2\n3\n4\n');
  t.equal(statSync(path).mode & 0o777, 0o600);
  t.equal(first.written(), 3);
  t.equal(written(), 1);
});

t.test('a file that was renamed or removed is created again', async t => {
  const path = join(tempDirectory(t), 'decisions.log');
  const { file, clock, settled, logger } = openFile(t, path);
  file.write('1\n');
  await settled(1);
  renameSync(path, `${path}.1`);
  clock.advance(1_000);
  file.write('2\n');
  await settled(2);
  rmSync(path);
  writeFileSync(path, 'other\n');
  clock.advance(1_000);
  file.write('3\n');
  await settled(3);
  t.equal(readFileSync(`${path}.1`, 'utf8'), '1\n');
  t.equal(readFileSync(path, 'utf8'), 'other\n3\n');
  t.same(logger.lines, []);
});

t.test(
  'while the file cannot be opened, lines are dropped and counted, with one log line for all',
  async t => {
    const directory = join(tempDirectory(t), 'later');
    const path = join(directory, 'decisions.log');
    const { file, clock, logger, settled, written, dropped } = openFile(t, path);
    for (let line = 1; line <= 3; line++) {
      file.write(`${line}\n`);
      await settled(line);
    }
    t.equal(dropped(), 3);
    t.match(logger.lines, [
      {
        level: 'warning',
        message: /cannot be logged/,
        fields: { path, reason: /ENOENT/, advice: /DECISION_LOG_FILE/ },
      },
    ]);
    mkdirSync(directory);
    clock.advance(1_000);
    file.write('4\n');
    await settled(4);
    t.equal(written(), 1);
    t.equal(readFileSync(path, 'utf8'), '4\n');
    t.match(logger.lines, [{}, { level: 'warning', message: /again/, fields: { failedCalls: 3 } }]);
    t.equal(logger.lines.length, 2);
  },
);

t.test('a full disk drops lines, and decisions go on', { skip: process.platform !== 'linux' }, async t => {
  const { file, logger, settled, dropped } = openFile(t, '/dev/full');
  file.write('1\n2\n');
  await settled(2);
  t.equal(dropped(), 2);
  t.match(logger.lines, [{ fields: { reason: /ENOSPC/ } }]);
});

t.test('more than a mebibyte that waits is dropped', async t => {
  const path = join(tempDirectory(t), 'decisions.log');
  const { file, logger, settled, written, dropped } = openFile(t, path);
  const line = `${'x'.repeat(1_023)}\n`;
  // All of them arrive before the first one can be written.
  for (let each = 0; each < 1_100; each++) file.write(line);
  await settled(1_100);
  t.equal(written(), 1_024);
  t.equal(dropped(), 76);
  t.match(logger.lines, [{ fields: { reason: 'the disk is too slow' } }]);
});
