import t from 'tap';
import { asksForHelp, describeFlags, parseFlags } from '../../../../src/cli/terminal/flags.ts';

const TABLE = {
  'dial-string': { kind: 'text', placeholder: 'ADDRESS', default: 'here', help: 'where to' },
  descriptors: { kind: 'list', placeholder: 'K=V', help: 'what for' },
  json: { kind: 'switch', help: 'how' },
} as const;

function values(...args: string[]): object {
  return parseFlags(args, TABLE).values;
}

t.test('one dash and two, value behind "=" or next, "_" and "-" are the same', async t => {
  for (const name of ['-dial_string', '--dial_string', '-dial-string', '--dial-string']) {
    t.match(values(name, 'a=b'), { 'dial-string': 'a=b' }, `${name} a=b`);
    t.match(values(`${name}=a=b`), { 'dial-string': 'a=b' }, `${name}=a=b`);
  }
});

t.test('flags that are not given have their default', async t => {
  t.same(values(), { 'dial-string': 'here', descriptors: [], json: false });
});

t.test('a list keeps every value in order, any other flag the last', async t => {
  t.same(
    values(
      '-descriptors',
      'b',
      '--descriptors=a',
      '-dial_string',
      'x',
      '-dial_string',
      'y',
      '-json',
      '-json=false',
    ),
    { 'dial-string': 'y', descriptors: ['b', 'a'], json: false },
  );
});

t.test('a value may begin with a dash and a digit', async t => {
  t.match(values('--dial-string', '-24h'), { 'dial-string': '-24h' });
});

t.test('an empty value is a value', async t => {
  t.match(values('--dial-string='), { 'dial-string': '' });
  t.match(values('--dial-string', ''), { 'dial-string': '' });
});

t.test('a switch takes every spelling of a boolean and no other text', async t => {
  for (const on of ['1', 't', 'T', 'TRUE', 'true', 'True']) t.match(values(`-json=${on}`), { json: true });
  for (const off of ['0', 'f', 'F', 'FALSE', 'false', 'False'])
    t.match(values(`-json=${off}`), { json: false });
  t.throws(() => values('--json=yes'), {
    name: 'UsageFault',
    message: /^--json=yes: not a bool\. Write true or false/,
  });
});

t.test('a switch does not take the argument after it', async t => {
  t.same(parseFlags(['-json', 'false'], TABLE).positionals, ['false']);
});

t.test('a flag without its value is refused with what to write', async t => {
  t.throws(() => values('--dial_string'), { message: '--dial-string needs a value: --dial-string ADDRESS.' });
  t.throws(() => values('--dial_string', '-json'), {
    message:
      '--dial-string needs a value, and -json looks like a flag. If it is the value, write --dial-string=-json.',
  });
});

t.test('an unknown flag is named, with the nearest one where there is one', async t => {
  const cases: [string, string][] = [
    ['--descriptor', 'unknown flag --descriptor. Did you mean --descriptors?'],
    ['-dial_sting=x', 'unknown flag -dial_sting. Did you mean --dial-string?'],
    ['--jsno', 'unknown flag --jsno. Did you mean --json?'],
    ['--no-json', 'unknown flag --no-json.'],
    ['--verbose', 'unknown flag --verbose.'],
    ['--constructor', 'unknown flag --constructor.'],
    ['-5', 'unknown flag -5.'],
    ['---json', 'unknown flag ---json.'],
  ];
  for (const [arg, message] of cases) t.throws(() => values(arg), { name: 'UsageFault', message }, arg);
});

t.test('nothing is a flag after "--", and "-" alone never is', async t => {
  t.same(parseFlags(['-', '--', '-json', '--', '--help'], TABLE), {
    values: { 'dial-string': 'here', descriptors: [], json: false },
    positionals: ['-', '-json', '--', '--help'],
  });
});

t.test('help is asked for in three ways, but not after "--"', async t => {
  for (const arg of ['-h', '-help', '--help']) t.equal(asksForHelp(['x', arg]), true, arg);
  t.equal(asksForHelp(['--', '--help']), false);
  t.equal(asksForHelp(['--helpful', 'help']), false);
});

t.test('help shows each flag with its placeholder and default', async t => {
  t.equal(
    describeFlags(TABLE),
    `  --dial-string ADDRESS  where to (default here)
  --descriptors K=V      what for
  --json                 how
`,
  );
});
