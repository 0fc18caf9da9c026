import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { HookedStream } from '../../../../src/app/logging/log-output.ts';
import { createLogger, type LoggerOptions } from '../../../../src/app/logging/logging.ts';
import { LOG_LEVELS, type LogFields, type Logger, type LogLevel } from '../../../../src/base/logger.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { tempDirectory } from '../../../support/temp-directory.ts';

/** The local zone decides how text lines show the time. */
process.env['TZ'] = 'Asia/Kolkata';
const NOON_UTC_MS = Date.UTC(2026, 6, 1, 12, 0, 0, 42);

function record(
  format: LoggerOptions['format'],
  level: LogLevel = 'trace',
): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const clock = new ManualClock(NOON_UTC_MS);
  return { logger: createLogger({ level, format, write: line => lines.push(line), clock }), lines };
}

function lineOf(format: LoggerOptions['format'], message: string, fields?: LogFields): string {
  const { logger, lines } = record(format);
  logger.warning(message, fields);
  return lines.join('');
}

/** The part of a text line after its time and level. */
function textOf(message: string, fields?: LogFields): string {
  return lineOf('text', message, fields)
    .replace(/^time=\S+ level=warning /, '')
    .slice(0, -1);
}

t.test('a text line has time, level, message, then the fields in their order', async t => {
  t.equal(
    lineOf('text', 'gRPC listens', { port: 8081, tls: false, host: '0.0.0.0', none: undefined }),
    'time="2026-07-01T17:30:00+05:30" level=warning msg="gRPC listens" port=8081 tls=false host=0.0.0.0\n',
  );
});

t.test('the time of a text line is local, with Z for UTC', async t => {
  for (const [zone, time] of [
    ['UTC', '2026-07-01T12:00:00Z'],
    ['America/St_Johns', '2026-07-01T09:30:00-02:30'],
    ['Asia/Kolkata', '2026-07-01T17:30:00+05:30'],
  ] as const) {
    process.env['TZ'] = zone;
    t.ok(lineOf('text', 'x').startsWith(`time="${time}" `), zone);
  }
});

t.test('text is quoted as soon as it holds more than letters, digits and -._/@^+', async t => {
  t.equal(textOf('aZ09-._/@^+'), 'msg=aZ09-._/@^+');
  t.equal(textOf('two words'), 'msg="two words"');
  t.equal(textOf('a=b'), 'msg="a=b"');
  t.equal(textOf('grün'), 'msg="grün"');
  t.equal(textOf(''), 'msg=');
  t.equal(textOf('x', { path: '/a/b', list: 'a,b' }), 'msg=x path=/a/b list="a,b"');
});

t.test('quoted text escapes what cannot be seen, as Go does', async t => {
  t.equal(textOf('say "hi" \\ there'), String.raw`msg="say \"hi\" \\ there"`);
  t.equal(textOf('\u0007\b\f\n\r\t\v'), String.raw`msg="\a\b\f\n\r\t\v"`);
  t.equal(textOf('\u0000\u001b[31m\u007f'), String.raw`msg="\x00\x1b[31m\x7f"`);
  t.equal(textOf('\u0085\u009b\u00a0\u200e\u2028'), String.raw`msg="\u0085\u009b\u00a0\u200e\u2028"`);
  t.equal(textOf('\u{e0001} 😀'), String.raw`msg="\U000e0001 😀"`);
  t.equal(textOf('\ud800'), 'msg="\ufffd"');
  t.equal(
    textOf('x', { 'a b\n': 'v' }),
    String.raw`msg=x "a b\n"=v`,
    'a field name can break no line either',
  );
});

t.test('a JSON line carries level, @timestamp, @message and the fields', async t => {
  t.equal(
    lineOf('json', 'gRPC listens', { port: 8081, tls: false, host: '0.0.0.0', none: undefined }),
    '{"level":"warning","@timestamp":"2026-07-01T12:00:00.042Z","@message":"gRPC listens","port":8081,"tls":false,"host":"0.0.0.0"}\n',
  );
});

t.test('a JSON line is one line of visible characters, and reads back as it was', async t => {
  const message = '"\\\n\r\u0000\u001b[31m\u007f\u009b\u2028\u2029 grün 😀 100%d %s';
  const line = lineOf('json', message, { field: message });
  t.notMatch(line.slice(0, -1), /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
  t.match(JSON.parse(line), { '@message': message, field: message });
});

t.test('fields cannot pass for the parts of a line', async t => {
  const fields = { level: 'panic', '@message': 'fake', '@timestamp': 'never', msg: 'fake', time: 'never' };
  t.strictSame(JSON.parse(lineOf('json', 'real', fields)), {
    level: 'warning',
    '@timestamp': '2026-07-01T12:00:00.042Z',
    '@message': 'real',
    'fields.level': 'panic',
    'fields.@message': 'fake',
    'fields.@timestamp': 'never',
    'fields.msg': 'fake',
    'fields.time': 'never',
  });
  t.match(textOf('real', fields), /^msg=real fields\.level=panic /);
});

t.test('each level writes its name, and only from the chosen level on', async t => {
  const methods = ['trace', 'debug', 'info', 'warning', 'error'] as const;
  for (const format of ['text', 'json'] as const) {
    for (const threshold of LOG_LEVELS) {
      const { logger, lines } = record(format, threshold);
      for (const method of methods) logger[method]('x');
      const least = LOG_LEVELS.indexOf(threshold);
      t.strictSame(
        lines.map(line => /level"?[=:]"?([a-z]+)/.exec(line)?.[1]),
        methods.filter(method => LOG_LEVELS.indexOf(method) >= least),
        `${format}, ${threshold}`,
      );
      for (const level of LOG_LEVELS) {
        t.equal(logger.enabled(level), LOG_LEVELS.indexOf(level) >= least, `${threshold} asks ${level}`);
      }
    }
  }
});

t.test('no line is longer than 16 KiB, whatever is logged, and a cut is marked', async t => {
  for (const format of ['text', 'json'] as const) {
    for (const char of ['x', '"', '\u0000', '\u009b', '€', '😀', '\u{e0001}', '\ud800']) {
      const long = char.repeat(100_000);
      const line = lineOf(format, long, { first: long, second: long, third: 1 });
      t.ok(
        Buffer.byteLength(line) <= 16 * 1024,
        `${format} ${JSON.stringify(char)} ${Buffer.byteLength(line)}`,
      );
      t.equal(line.match(/…\[cut\]/g)?.length, 2, 'in the message and in the first field');
      t.ok(line.endsWith('\n'));
      if (format === 'json') t.doesNotThrow(() => JSON.parse(line));
    }
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`field-${index}`, index]));
    t.ok(Buffer.byteLength(lineOf(format, 'x', many)) <= 16 * 1024);
  }
});

t.test('a message of ordinary length is never cut', async t => {
  const long = 'word '.repeat(2000);
  t.equal(JSON.parse(lineOf('json', long))['@message'], long);
});

/** A program that runs `before`, makes a logger on standard error and runs `body`. */
function program(body: string, before = ''): string[] {
  // The source or its build, whichever this test is.
  const module = new URL(`../../../../src/app/logging/logging${import.meta.url.slice(-3)}`, import.meta.url)
    .href;
  const script = `
    import { createLogger } from ${JSON.stringify(module)};
    ${before}
    const logger = createLogger({ level: 'info', format: 'json' });
    ${body}`;
  return ['--input-type=module', '-e', script];
}

t.test('by default lines go to standard error, and none is lost when the process ends at once', async t => {
  const args = program(`
    for (let line = 0; line < 2000; line++) logger.info('line ' + line, { padding: 'x'.repeat(100) });
    process.exit(3);`);
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    maxBuffer: 10 * 1024 * 1024,
    timeout: 30_000,
  });
  t.equal(status, 3);
  t.equal(stdout, '');
  const lines = stderr.trimEnd().split('\n');
  t.equal(lines.length, 2000);
  t.equal(JSON.parse(lines[1999])['@message'], 'line 1999');
});

t.test('a reader of standard error who stalls holds up neither the work nor the end', async t => {
  const args = program(`
    for (let line = 0; line < 10_000; line++) logger.info('line ' + line, { padding: 'x'.repeat(100) });
    process.stdout.write('worked');
    process.stdin.once('data', () => process.exit(4));`);
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  const [worked] = await once(child.stdout, 'data');
  t.equal(String(worked), 'worked');
  child.stdin.write('end');
  const [status] = await once(child, 'exit');
  t.equal(status, 4);
});

t.test('after a stall, standard error has the kept lines and the number of dropped ones', async t => {
  const args = program(`
    for (let line = 0; line < 10_000; line++) logger.info('line ' + line, { padding: 'x'.repeat(100) });
    process.stdout.write('worked');
    process.stdin.once('data', () => process.exit(0));`);
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  let text = '';
  for await (const chunk of child.stderr.setEncoding('utf8')) {
    text += chunk;
    if (/lines were dropped/.test(text.slice(-1_000))) child.stdin.end('end');
  }
  const lines = text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line));
  const dropped = lines.at(-1).lines;
  t.equal(lines.at(-1).level, 'error');
  t.equal(lines.length - 1 + dropped, 10_000);
  t.equal(lines[1_000]['@message'], 'line 1000');
});

/** Puts a hook in place of the `write` of standard error that writes to a file in its own time, as PM2 does. */
function hookInto(path: string, confirm: string): string {
  return `
    import { appendFile } from 'node:fs';
    let waiting = Promise.resolve();
    process.stderr.write = (text, encoding, done) => {
      waiting = waiting.then(() => new Promise(next => appendFile(${JSON.stringify(path)}, text, next))).then(() => {
        ${confirm}
      });
    };`;
}

t.test('lines go through a hook on standard error, and all are written before the end', async t => {
  const path = join(tempDirectory(t), 'lines');
  const args = program(
    `for (let line = 0; line < 200; line++) logger.info('line ' + line);
    await logger.written();
    process.exit(5);`,
    hookInto(path, 'done();'),
  );
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 30_000 });
  t.equal(status, 5);
  t.equal(stderr, '', 'nothing goes past the hook');
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  t.equal(lines.length, 200);
  t.equal(JSON.parse(lines[199])['@message'], 'line 199');
});

t.test('lines that a hook has not written at the end go to the descriptor', async t => {
  const path = join(tempDirectory(t), 'lines');
  const args = program(
    `for (let line = 0; line < 200; line++) logger.info('line ' + line);
    process.exit(5);`,
    hookInto(path, 'done();'),
  );
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 30_000 });
  t.equal(status, 5);
  t.match(stderr, /line 0"/);
  t.match(stderr, /line 199"/);
});

t.test('a hook that never confirms a line gets all of them', async t => {
  const path = join(tempDirectory(t), 'lines');
  const args = program(
    "for (let line = 0; line < 20_000; line++) logger.info('line ' + line, { padding: 'x'.repeat(100) });",
    hookInto(path, ''),
  );
  const { status } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: 30_000,
    maxBuffer: 10_000_000,
  });
  t.equal(status, 0);
  t.equal(readFileSync(path, 'utf8').trimEnd().split('\n').length, 20_000);
});

t.test('a hook that stalls loses lines beyond a bound, and tells how many', async t => {
  const stream = {
    written: [] as string[],
    confirm: [] as (() => void)[],
    write(_: string, __: string, ___: () => void) {},
  };
  const dropped: number[] = [];
  const hooked = new HookedStream(stream, lines => dropped.push(lines));
  stream.write = (text, _encoding, done) => {
    stream.written.push(text);
    stream.confirm.push(done);
  };
  const line = `${'x'.repeat(1_023)}\n`;
  hooked.write(line);
  stream.confirm.shift()?.();
  for (let i = 0; i < 1_500; i++) hooked.write(line);
  t.equal(stream.written.length, 1 + 1_024, 'no more than 1 MiB waits');
  for (const confirm of stream.confirm) confirm();
  t.same(dropped, [1_500 - 1_024]);
  hooked.write(line);
  t.equal(stream.written.length, 1 + 1_025);
});

t.test('a message that comes again and again is written 200 times, and then once a second', async t => {
  const lines: string[] = [];
  const clock = new ManualClock(NOON_UTC_MS);
  const logger = createLogger({ level: 'info', format: 'json', write: line => lines.push(line), clock });
  for (let i = 0; i < 1_000; i++) logger.error('it fails', { number: i });
  logger.error('something else fails');
  t.equal(lines.length, 201);
  clock.advance(1_000);
  for (let i = 0; i < 1_000; i++) logger.error('it fails', { number: i });
  t.equal(lines.length, 202);
  t.match(JSON.parse(lines[201]), { '@message': 'it fails', number: 0, suppressedLines: 800 });
  clock.advance(200_000);
  for (let i = 0; i < 1_000; i++) logger.error('it fails', { number: i });
  t.equal(lines.length, 402, 'after a pause the bound is whole again');
  t.match(JSON.parse(lines[202]), { suppressedLines: 999 });
  t.equal(JSON.parse(lines[203]).suppressedLines, undefined);
});

t.test('the bound on repeated lines holds for as many messages as there are, and not for debug', async t => {
  const lines: string[] = [];
  const clock = new ManualClock(NOON_UTC_MS);
  const logger = createLogger({ level: 'debug', format: 'json', write: line => lines.push(line), clock });
  for (let i = 0; i < 2_000; i++) logger.debug('detail');
  for (let i = 0; i < 2_000; i++) logger.warning(`message ${i}`);
  t.equal(lines.length, 4_000);
});

t.test('an announcement is written whatever the level is, and is called info', async t => {
  const lines: string[] = [];
  const logger = createLogger({ level: 'panic', format: 'json', write: line => lines.push(line) });
  logger.error('not written');
  logger.announce('Sluice is ready', { store: 'embedded' });
  t.match(
    lines.map(line => JSON.parse(line)),
    [{ level: 'info', '@message': 'Sluice is ready', store: 'embedded' }],
  );
  t.equal(lines.length, 1);
});

t.test('an audit line is written whatever the level is, and however often', async t => {
  const lines: string[] = [];
  const clock = new ManualClock(NOON_UTC_MS);
  const logger = createLogger({ level: 'panic', format: 'json', write: line => lines.push(line), clock });
  for (let i = 0; i < 500; i++) logger.audit('Operator change', { number: i });
  t.equal(lines.length, 500);
  t.match(JSON.parse(lines[499]), { level: 'warning', '@message': 'Operator change', number: 499 });
});

t.test('a line of another format is written as it is, whatever the level', async t => {
  const lines: string[] = [];
  const logger = createLogger({ level: 'error', format: 'text', write: line => lines.push(line) });
  t.equal(logger.writeLine('{"time":"now"}\n'), true);
  t.same(lines, ['{"time":"now"}\n']);
});
