import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { type Clock, systemClock } from '../../../../../src/base/clock.ts';
import type { TlsPaths } from '../../../../../src/transports/grpc/tls/tls-files.ts';
import { TlsSource } from '../../../../../src/transports/grpc/tls/tls-source.ts';
import { Authority, type CertificatePair } from '../../../../support/certificates.ts';
import { ManualClock } from '../../../../support/manual-clock.ts';
import { tempDirectory } from '../../../../support/temp-directory.ts';
import { refusal, spyOnWatch } from '../../../../support/watched-places.ts';
import { AwaitedLog } from '../awaited-log.ts';

const root = new Authority('root');
const OLD = root.issue({ subject: 'old' });
const NEW = root.issue({ subject: 'new' });

const LOADED = /^TLS files loaded$/;
const REFUSED = /^TLS files not reloaded; the previous ones stay in use$/;

class TotalCounter {
  total = 0;
  add(count: number): void {
    this.total += count;
  }
}

function pathsIn(directory: string): TlsPaths {
  return { certificate: join(directory, 'tls.crt'), key: join(directory, 'tls.key'), clientCa: null };
}

/** Writes the files in place, in two steps, as editors and simple scripts do. */
function write(directory: string, pair: CertificatePair): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'tls.crt'), pair.certificate);
  writeFileSync(join(directory, 'tls.key'), pair.key);
}

/** Makes `link` lead to `target` in one step. */
function swap(link: string, target: string): void {
  symlinkSync(target, `${link}.new`);
  renameSync(`${link}.new`, link);
}

/** A source that is stopped when the test ends; `inUse` returns the subject that was loaded last. */
function makeSource(t: Test, paths: TlsPaths, clock: Clock = systemClock) {
  const log = new AwaitedLog();
  const subjects: string[] = [];
  const attempts = new TotalCounter();
  const failures = new TotalCounter();
  const source = new TlsSource({
    paths,
    loaded: material => subjects.push(material.subject),
    loadAttempts: attempts,
    loadFailures: failures,
    logger: log.logger,
    clock,
  });
  t.teardown(() => source.stop());
  return { source, log, attempts, failures, inUse: () => subjects.at(-1) };
}

/** A source that has loaded the old pair from a directory of its own. */
async function startedWithOld(t: Test, clock?: Clock) {
  const directory = tempDirectory(t);
  write(directory, OLD);
  const paths = pathsIn(directory);
  const made = makeSource(t, paths, clock);
  await made.source.start();
  return { ...made, directory, paths };
}

/** Resolves once a pair of this subject was loaded, however often it could not be on the way. */
async function untilLoaded(log: AwaitedLog, subject: string): Promise<void> {
  for (let count = 1; ; count++) {
    const lines = await log.until(LOADED, count);
    if (lines[count - 1]['subject'] === subject) return;
  }
}

t.test('the files are loaded before the start is done', async t => {
  const { log, attempts, failures, inUse } = await startedWithOld(t);
  t.equal(inUse(), 'CN=old');
  t.strictSame([attempts.total, failures.total], [1, 0]);
  t.match(log.lines, [{ level: 'info', subject: 'CN=old', validTo: 'Dec 31 00:00:00 2099 GMT' }]);
});

t.test('unusable files make the start fail with the reason', async t => {
  const directory = tempDirectory(t);
  const { source, attempts, failures, inUse } = makeSource(t, pathsIn(directory));
  await t.rejects(source.start(), {
    name: 'TlsFault',
    message: /^GRPC_SERVER_TLS_CERT: '.*tls\.crt' does not exist/,
  });
  await source.stop();
  write(directory, { ...OLD, key: NEW.key });
  await t.rejects(source.start(), { name: 'TlsFault', message: /does not belong to the first certificate/ });
  await source.stop();
  t.strictSame([attempts.total, failures.total], [2, 2]);
  write(directory, OLD);
  await source.start();
  t.equal(inUse(), 'CN=old', 'a source that was stopped starts again');
});

t.test('what makes peers refuse the certificate is warned of at each load', async t => {
  const directory = tempDirectory(t);
  write(directory, root.issue({ subject: 'expired', to: '2021-01-01' }));
  const { source, log, inUse } = makeSource(t, pathsIn(directory));
  await source.start();
  t.equal(inUse(), 'CN=expired');
  t.match(await log.until(/^TLS files may cause rejected connections$/), [
    { level: 'warning', reason: /expired at Jan {2}1 00:00:00 2021 GMT/ },
  ]);
});

function inTls(base: string): string {
  write(join(base, 'tls'), OLD);
  return join(base, 'tls');
}

/** Ways to put a new pair where an old one is: `prepare` gives the directory of the files that the settings name. */
const CHANGES: readonly {
  readonly name: string;
  readonly prepare: (base: string) => string;
  readonly change: (base: string) => void;
}[] = [
  {
    name: 'both files are written in place',
    prepare: inTls,
    change: base => write(join(base, 'tls'), NEW),
  },
  {
    name: 'both files are replaced by others of their names',
    prepare: inTls,
    change(base) {
      write(join(base, 'next'), NEW);
      for (const file of ['tls.crt', 'tls.key'])
        renameSync(join(base, 'next', file), join(base, 'tls', file));
    },
  },
  {
    name: 'the directory is moved away and another put in its place',
    prepare: inTls,
    change(base) {
      write(join(base, 'next'), NEW);
      renameSync(join(base, 'tls'), join(base, 'former'));
      renameSync(join(base, 'next'), join(base, 'tls'));
    },
  },
  {
    name: 'the directory is removed, and made again later',
    prepare: inTls,
    change(base) {
      rmSync(join(base, 'tls'), { recursive: true });
      write(join(base, 'tls'), NEW);
    },
  },
  {
    name: 'the ..data link of a Kubernetes volume is swapped',
    prepare(base) {
      const volume = join(base, 'volume');
      write(join(volume, '..2025_01'), OLD);
      symlinkSync('..2025_01', join(volume, '..data'));
      for (const file of ['tls.crt', 'tls.key']) symlinkSync(join('..data', file), join(volume, file));
      return volume;
    },
    change(base) {
      const volume = join(base, 'volume');
      write(join(volume, '..2025_02'), NEW);
      swap(join(volume, '..data'), '..2025_02');
      rmSync(join(volume, '..2025_01'), { recursive: true });
    },
  },
  {
    name: 'a link that the directory is reached through is swapped',
    prepare(base) {
      write(join(base, 'releases/1/etc/tls'), OLD);
      symlinkSync('releases/1', join(base, 'current'));
      return join(base, 'current/etc/tls');
    },
    change(base) {
      write(join(base, 'releases/2/etc/tls'), NEW);
      swap(join(base, 'current'), 'releases/2');
    },
  },
  {
    name: 'a link behind a link to elsewhere is swapped',
    prepare(base) {
      write(join(base, 'store/1/tls'), OLD);
      symlinkSync('1', join(base, 'store/latest'));
      mkdirSync(join(base, 'etc'));
      symlinkSync('../store/latest/tls', join(base, 'etc/tls'));
      return join(base, 'etc/tls');
    },
    change(base) {
      write(join(base, 'store/2/tls'), NEW);
      swap(join(base, 'store/latest'), '2');
    },
  },
  {
    name: 'links to files elsewhere are swapped one after the other',
    prepare(base) {
      write(join(base, 'archive/1'), OLD);
      mkdirSync(join(base, 'live'));
      for (const file of ['tls.crt', 'tls.key'])
        symlinkSync(`../archive/1/${file}`, join(base, 'live', file));
      return join(base, 'live');
    },
    change(base) {
      write(join(base, 'archive/2'), NEW);
      for (const file of ['tls.crt', 'tls.key']) swap(join(base, 'live', file), `../archive/2/${file}`);
    },
  },
];

for (const { name, prepare, change } of CHANGES) {
  t.test(`a new pair is loaded when ${name}, and those after it too`, async t => {
    const base = tempDirectory(t);
    const directory = prepare(base);
    const { source, log, inUse } = makeSource(t, pathsIn(directory));
    await source.start();
    change(base);
    await untilLoaded(log, 'CN=new');
    // The watches must lead to the new place now. Events of the change above may serve a read or two of these.
    for (const subject of ['second', 'third', 'fourth', 'fifth']) {
      write(directory, root.issue({ subject }));
      await untilLoaded(log, `CN=${subject}`);
      t.equal(inUse(), `CN=${subject}`);
    }
  });
}

t.test('certificate and key may come from different directories', async t => {
  const base = tempDirectory(t);
  write(join(base, 'a'), OLD);
  write(join(base, 'b'), OLD);
  const paths = { ...pathsIn(join(base, 'a')), key: join(base, 'b/tls.key') };
  const { source, log } = makeSource(t, paths);
  await source.start();
  writeFileSync(paths.key, NEW.key);
  await log.until(REFUSED);
  writeFileSync(paths.certificate, NEW.certificate);
  await untilLoaded(log, 'CN=new');
});

t.test('the client CA is reloaded as well', async t => {
  const directory = tempDirectory(t);
  write(directory, OLD);
  const clientCa = join(directory, 'ca.crt');
  const next = new Authority('next');
  writeFileSync(clientCa, root.certificate);
  const { source, log } = makeSource(t, { ...pathsIn(directory), clientCa });
  await source.start();
  writeFileSync(`${clientCa}.new`, next.certificate);
  renameSync(`${clientCa}.new`, clientCa);
  await log.until(LOADED, 2);
  writeFileSync(clientCa, 'no certificate');
  t.match(await log.until(REFUSED), [
    { level: 'error', reason: /GRPC_CLIENT_TLS_CACERT: '.*ca\.crt' holds no/ },
  ]);
});

t.test(
  'a half-changed pair is logged once, counted once, and fixed by the change that completes it',
  async t => {
    const { directory, log, attempts, failures, inUse } = await startedWithOld(t);
    writeFileSync(join(directory, 'tls.crt.new'), NEW.certificate);
    renameSync(join(directory, 'tls.crt.new'), join(directory, 'tls.crt'));
    t.match(await log.until(REFUSED), [
      { level: 'error', reason: /does not belong to the first certificate/ },
    ]);
    t.equal(inUse(), 'CN=old');
    // More events with the same content cause no log line.
    writeFileSync(join(directory, 'other'), '');
    chmodSync(join(directory, 'tls.crt'), 0o640);
    writeFileSync(join(directory, 'tls.key.new'), NEW.key);
    renameSync(join(directory, 'tls.key.new'), join(directory, 'tls.key'));
    await untilLoaded(log, 'CN=new');
    const mismatches = log.lines.filter(line => /does not belong/.test(String(line['reason'])));
    t.equal(mismatches.length, 1);
    t.equal(inUse(), 'CN=new');
    t.equal(attempts.total - failures.total, 2, 'two loads were good');
    t.equal(failures.total, log.lines.filter(line => REFUSED.test(String(line['@message']))).length);
  },
);

t.test('bad files leave the former pair in use, and no line of the log holds a key', async t => {
  const { directory, paths, log, failures, inUse } = await startedWithOld(t);
  const bad: readonly (() => void)[] = [
    () => writeFileSync(paths.certificate, 'nothing'),
    () => writeFileSync(paths.certificate, NEW.key),
    () => rmSync(paths.certificate),
  ];
  for (const spoil of bad) {
    const before = failures.total;
    spoil();
    await log.until(REFUSED, before + 1);
    t.equal(inUse(), 'CN=old');
  }
  write(directory, NEW);
  await untilLoaded(log, 'CN=new');
  for (const key of [OLD.key, NEW.key]) {
    for (const line of key.split('\n').filter(each => each.length > 20)) t.notOk(log.text.includes(line));
  }
});

t.test('other files in the same directory are ignored', async t => {
  const { directory, log, attempts } = await startedWithOld(t);
  for (let i = 0; i < 20; i++) writeFileSync(join(directory, `other-${i}`), '');
  writeFileSync(join(directory, 'tls.crt'), OLD.certificate);
  write(directory, NEW);
  await untilLoaded(log, 'CN=new');
  t.ok(attempts.total <= 4, `${attempts.total} attempts`);
});

t.test('a failed watch is logged and retried until it works', async t => {
  const directory = tempDirectory(t);
  write(directory, OLD);
  const clock = new ManualClock(0);
  let exhausted = true;
  spyOnWatch(t, () => {
    if (exhausted) throw refusal('ENOSPC', 'System limit for number of file watchers reached');
  });
  const { source, log, inUse } = makeSource(t, pathsIn(directory), clock);
  await source.start();
  t.equal(inUse(), 'CN=old', 'files are read all the same');
  t.match(await log.until(/may go unnoticed/), [{ level: 'warning' }]);
  t.strictSame(clock.pendingDelaysMs, [10_000], 'one timer for all');
  write(directory, NEW);
  exhausted = false;
  clock.advance(10_000);
  await untilLoaded(log, 'CN=new');
  write(directory, OLD);
  await untilLoaded(log, 'CN=old');
  t.equal(clock.pending, 0);
});

t.test('after the stop nothing is watched, and no timer is left', async t => {
  const directory = tempDirectory(t);
  write(directory, OLD);
  const clock = new ManualClock(0);
  const watchers = spyOnWatch(t, () => {});
  const closed = new Set<unknown>();
  const { source, log, attempts } = makeSource(t, pathsIn(directory), clock);
  await source.start();
  for (const watcher of watchers) watcher.once('close', () => closed.add(watcher));
  watchers.at(-1)?.emit('error', new Error('out of order'));
  await log.until(/may go unnoticed/);
  t.equal(clock.pending, 1);
  const open = watchers.length;
  await source.stop();
  await source.stop();
  t.equal(clock.pending, 0);
  await new Promise(resolve => setImmediate(resolve));
  t.equal(closed.size, open);
  write(dirname(join(directory, 'x')), NEW);
  t.equal(attempts.total, 1);
});
