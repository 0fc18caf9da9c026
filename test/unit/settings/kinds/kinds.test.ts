import t from 'tap';
import {
  adjusted,
  anyText,
  bool,
  checkedText,
  choice,
  duration,
  float,
  host,
  hostNames,
  integer,
  type Kind,
  path,
  port,
} from '../../../../src/settings/kinds/kinds.ts';

function valueFrom<V>(kind: Kind<V>, text: string): V {
  const reading = kind.read(text);
  if ('refused' in reading) throw new Error(`${JSON.stringify(text)} was refused: ${reading.refused}`);
  return reading.value;
}

function refusalFrom(kind: Kind<unknown>, text: string): string {
  const reading = kind.read(text);
  if ('value' in reading) throw new Error(`${JSON.stringify(text)} was read as ${String(reading.value)}`);
  return reading.refused;
}

t.test('a bool has twelve spellings and no other', async t => {
  for (const text of ['1', 't', 'T', 'TRUE', 'true', 'True']) t.equal(valueFrom(bool, text), true, text);
  for (const text of ['0', 'f', 'F', 'FALSE', 'false', 'False']) t.equal(valueFrom(bool, text), false, text);
  for (const text of ['yes', 'on', 'no', 'off', 'tRUE', '2', ' true', 'true ']) {
    t.equal(refusalFrom(bool, text), 'not a bool', text);
  }
});

t.test('empty text is a fault for a bool, a number, a duration, and a choice without it', async t => {
  const choices = choice({ texts: { a: 'a' }, letterCase: 'exact' });
  for (const kind of [bool, integer({ max: 9 }), float({ max: 9 }), duration({ max: 9 }), choices]) {
    t.match(refusalFrom(kind, ''), 'the value is empty (leave the variable unset for the default)');
  }
});

/** What stands for a text that lies outside of the range. */
function clampedFrom(kind: Kind<unknown>, text: string): unknown {
  const reading = kind.read(text);
  if ('value' in reading && reading.clamped === true) return reading.value;
  throw new Error(`${JSON.stringify(text)} was not clamped: ${JSON.stringify(reading)}`);
}

t.test('the nearest end of the range stands for a whole number outside of it', async t => {
  const kind = integer({ min: -8, max: 8 });
  t.equal(kind.label, 'whole number, -8 to 8');
  t.equal(kind.accepts, 'a whole number from -8 to 8');
  t.equal(valueFrom(kind, '010'), 8);
  t.equal(valueFrom(kind, '-8'), -8);
  t.same(kind.read('8'), { value: 8 }, 'both ends are in the range');
  t.equal(clampedFrom(kind, '9'), 8);
  t.equal(clampedFrom(kind, '-9'), -8);
  t.equal(clampedFrom(kind, '99999999999999999999999'), 8);
  t.equal(refusalFrom(kind, '1.5'), 'not a whole number');
});

t.test('a whole number without a lower end still is one that is held exactly', async t => {
  const kind = integer({ max: 8 });
  t.equal(kind.accepts, 'a whole number up to 8');
  t.equal(valueFrom(kind, '-9007199254740991'), -9_007_199_254_740_991);
  t.equal(clampedFrom(kind, '-9007199254740992'), -9_007_199_254_740_991);
});

t.test('an end that would not be what was meant stands for no number', async t => {
  const count = integer({ min: 1, max: 8, strict: 'min' });
  t.equal(refusalFrom(count, '0'), 'out of range');
  t.equal(clampedFrom(count, '9'), 8);
  const exact = duration({ min: 1_000, max: 2_000, strict: 'both' });
  for (const text of ['999ms', '2001ms']) t.equal(refusalFrom(exact, text), 'out of range', text);
});

t.test('the nearest end stands for a number outside of its range, and nothing for nan', async t => {
  const kind = float({ min: 0, max: 1 });
  t.equal(valueFrom(kind, '0'), 0);
  t.equal(valueFrom(kind, '1'), 1);
  for (const text of ['1.01', '80', 'inf']) t.equal(clampedFrom(kind, text), 1, text);
  for (const text of ['-0.1', '-inf']) t.equal(clampedFrom(kind, text), 0, text);
  t.equal(refusalFrom(kind, 'nan'), 'out of range');
  t.equal(refusalFrom(kind, '80%'), 'not a number');
});

t.test('the error for a bare number says that the unit is missing', async t => {
  const kind = duration({ min: 0, max: 3_600_000 });
  t.equal(kind.accepts, 'a duration from 0 to 1h with units, such as 1m30s or 500ms');
  t.equal(refusalFrom(kind, '10'), 'a number without a unit');
  t.equal(refusalFrom(kind, 'soon'), 'not a duration');
  t.equal(clampedFrom(kind, '61m'), 3_600_000);
  t.equal(clampedFrom(kind, '-1ns'), 0);
  t.equal(valueFrom(kind, '60m'), 3_600_000);
});

t.test('a choice keeps to the letter case unless it is ignored', async t => {
  const exact = choice({ texts: { FILE: 'file', XDS: 'xds' }, letterCase: 'exact' });
  t.equal(valueFrom(exact, 'FILE'), 'file');
  t.equal(refusalFrom(exact, 'file'), 'not one of the choices');
  t.equal(exact.accepts, 'FILE or XDS, in exactly this letter case');
  const ignoring = choice({ texts: { single: 'single' }, letterCase: 'ignored' });
  t.equal(valueFrom(ignoring, 'Single'), 'single');
  t.equal(ignoring.accepts, 'single, letter case ignored');
  for (const text of ['constructor', '__proto__'])
    t.equal(refusalFrom(exact, text), 'not one of the choices');
});

t.test('a choice may hold the empty text, and two texts of a value, whose first is shown', async t => {
  const kind = choice({ texts: { warn: 'warning', warning: 'warning', '': null }, letterCase: 'exact' });
  t.equal(valueFrom(kind, 'warning'), 'warning');
  t.equal(valueFrom(kind, ''), null);
  t.equal(kind.write('warning'), 'warn');
  t.equal(kind.label, 'warn, warning or empty');
});

t.test('a choice of one text', async t => {
  const kind = choice({ texts: { single: 'single' }, letterCase: 'ignored' });
  t.equal(refusalFrom(kind, 'clusters'), 'not one of the choices');
  t.equal(kind.label, 'single, letter case ignored');
});

t.test('texts and paths are taken as they are, the empty one too', async t => {
  for (const kind of [anyText, path]) {
    for (const text of ['', ' a ', 'a,b:c']) t.equal(valueFrom(kind, text), text);
  }
});

t.test('a checked text says what it accepts and never repeats what it refused', async t => {
  const kind = checkedText({ label: 'digit', accepts: 'one digit', holds: text => /^\d$/.test(text) });
  t.equal(valueFrom(kind, '7'), '7');
  t.equal(refusalFrom(kind, 'hunter2'), 'not in the accepted format');
  t.match(refusalFrom(kind, ''), 'the value is empty');
});

t.test('host names are a list, in lower case, and may begin with *.', async t => {
  t.same(valueFrom(hostNames, ''), []);
  t.same(valueFrom(hostNames, 'Sluice.Example.com, *.ops.example'), ['sluice.example.com', '*.ops.example']);
  t.equal(hostNames.write(['a', '*.b']), 'a,*.b');
  for (const text of ['a:80', '*', 'a.*', '*a', 'a,,b', 'http://a', 'a..b', '[::1]']) {
    t.equal(refusalFrom(hostNames, text), 'one of them is not a host name', text);
  }
});

t.test('a host is an address or a name without a port, or empty', async t => {
  for (const text of ['', '0.0.0.0', '::', '::1', 'localhost', 'my_host-1.example']) {
    t.equal(valueFrom(host, text), text, text);
  }
  t.equal(valueFrom(host, '[::1]'), '::1', 'brackets are taken off');
  for (const text of ['localhost:8080', 'http://x', 'a b', '[::1]:80', '*']) {
    t.equal(refusalFrom(host, text), 'not an address or host name', text);
  }
});

t.test('a port is a number from 0 to 65535', async t => {
  t.equal(valueFrom(port, '0'), 0);
  t.equal(valueFrom(port, '65535'), 65_535);
  t.equal(refusalFrom(port, '65536'), 'out of range');
  t.equal(refusalFrom(port, '-1'), 'out of range');
});

t.test('an adjusted kind changes values, and passes on refusals and what was out of range', async t => {
  const kind = adjusted(integer({ max: 9, strict: 'both' }), value => Math.max(value, 0));
  t.equal(
    clampedFrom(
      adjusted(integer({ min: 0, max: 9 }), value => value || 4),
      '-1',
    ),
    4,
  );
  t.equal(valueFrom(kind, '-5'), 0);
  t.equal(valueFrom(kind, '5'), 5);
  t.equal(refusalFrom(kind, '10'), 'out of range');
  t.equal(kind.write(3), '3');
});
