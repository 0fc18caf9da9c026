import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { LogOutput, MAX_WAITING_BYTES } from '../../../../src/app/logging/log-output.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';

/** More than a pipe holds. */
const OVERFULL = 3_000;
const LINE = `${'x'.repeat(99)}\n`;

interface Pipe {
  readonly output: LogOutput;
  readonly clock: ManualClock;
  /** How many lines were dropped, each time that it was told. */
  readonly dropped: number[];
  /** All that can be read now. */
  read(): string;
  closeReader(): void;
}

/** An output into a pipe that is only read when told to. */
function pipe(t: Test): Pipe {
  const path = join(tempDirectory(t), 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const descriptor = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  let reading = true;
  const closeReader = (): void => {
    if (reading) closeSync(reader);
    reading = false;
  };
  t.teardown(() => {
    closeReader();
    closeSync(descriptor);
  });
  const clock = new ManualClock(0);
  const dropped: number[] = [];
  const output = new LogOutput({ descriptor, clock, dropped: lines => dropped.push(lines) });
  return { output, clock, dropped, closeReader, read: () => readAll(reader) };
}

function readAll(reader: number): string {
  const buffer = Buffer.alloc(1024 * 1024);
  let text = '';
  try {
    for (let count = readSync(reader, buffer); count > 0; count = readSync(reader, buffer)) {
      text += buffer.toString('utf8', 0, count);
    }
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code !== 'EAGAIN') throw failure;
  }
  return text;
}

/** Lets the output try again until nothing waits any more, and gives all that it wrote. */
function drain({ clock, read }: Pipe): string {
  let text = read();
  while (clock.pendingDelaysMs.length > 0) {
    clock.advance(1_000);
    text += read();
  }
  return text;
}

t.test('a line is written at once', async t => {
  const { output, read, clock } = pipe(t);
  output.write('grün\n');
  t.equal(read(), 'grün\n');
  t.same(clock.pendingDelaysMs, []);
});

t.test('lines for a reader that has stalled wait, and come whole and in order when it reads on', async t => {
  const stalled = pipe(t);
  const lines = Array.from({ length: OVERFULL }, (_, i) => `line ${i} ${'é'.repeat(40)}\n`);
  for (const line of lines) stalled.output.write(line);
  t.ok(stalled.clock.pendingDelaysMs.length === 1, 'one timer tries again');
  t.ok(drain(stalled) === lines.join(''));
  stalled.output.write('after\n');
  t.equal(stalled.read(), 'after\n');
  t.same(stalled.dropped, []);
});

t.test('lines that do not fit are dropped, and their number is reported once', async t => {
  const stalled = pipe(t);
  const count = Math.ceil((MAX_WAITING_BYTES * 2) / LINE.length);
  for (let i = 0; i < count; i++) stalled.output.write(LINE);
  const kept = drain(stalled).length / LINE.length;
  t.ok(kept * LINE.length > MAX_WAITING_BYTES - LINE.length && kept < count, `${kept} of ${count} lines`);
  t.same(stalled.dropped, [count - kept]);
  stalled.output.write(LINE);
  t.equal(stalled.read(), LINE);
  t.same(stalled.dropped, [count - kept]);
});

t.test('flush waits for the reader no longer than its timeout', async t => {
  const stalled = pipe(t);
  for (let i = 0; i < OVERFULL; i++) stalled.output.write(LINE);
  stalled.output.flush(30);
  t.same(stalled.clock.pendingDelaysMs, []);
  const read = stalled.read();
  stalled.output.flush(0);
  t.equal(
    (read + stalled.read()).length,
    2 * read.length,
    'what there is room for is written without a wait',
  );
});

t.test('without a reader lines wait for the next one, and flush gives them up', async t => {
  const broken = pipe(t);
  broken.closeReader();
  t.doesNotThrow(() => broken.output.write(LINE));
  t.equal(broken.clock.pendingDelaysMs.length, 1);
  t.doesNotThrow(() => broken.clock.advance(1_000));
  t.equal(broken.clock.pendingDelaysMs.length, 1);
  broken.output.flush(1_000_000);
  t.same(broken.clock.pendingDelaysMs, []);
});
