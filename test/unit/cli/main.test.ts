import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { COMMANDS } from '../../../src/cli/commands.ts';
import { repositoryRoot } from '../../support/repository.ts';
import { run } from './run.ts';

t.test('help lists the commands and fits a screen', async t => {
  const { status, stdout, stderr } = await run('--help');
  t.same({ status, stderr }, { status: 0, stderr: '' });
  for (const { name, summary } of COMMANDS) t.match(stdout, new RegExp(`^  ${name} +${summary}$`, 'm'));
  t.ok(stdout.split('\n').length <= 24, 'a small terminal shows it whole');
  for (const line of stdout.split('\n')) t.ok(line.length <= 80, line);
  t.same(await run('-h'), { status, stdout, stderr });
  t.same(await run('help'), { status, stdout, stderr });
});

t.test('help with a command is the help of the command', async t => {
  t.same(await run('help', 'check'), await run('check', '--help'));
  t.match(await run('help', 'tasks', 'create'), { status: 0, stdout: /^Usage: sluice tasks create / });
  t.match(await run('help', 'nothing'), { status: 2, stderr: /unknown command "nothing"/ });
});

t.test('the check has the name that the reference implementation gives it, too', async t => {
  t.same(await run('config_check', '--help'), await run('check', '--help'));
});

t.test('each command has a help of its own, whatever else is given', async t => {
  for (const { name, usage } of COMMANDS) {
    const text = await usage([]);
    t.same(await run(name, '--nonsense', '-help'), { status: 0, stdout: text, stderr: '' });
    t.match(text, new RegExp(`^Usage: sluice ${name}[ \\n]`));
    fitsAndHasExamples(t, text);
  }
});

t.test('each command of "tasks" has a help of its own', async t => {
  const { stdout } = await run('tasks', '--help');
  fitsAndHasExamples(t, stdout);
  const listed = stdout
    .split('\n')
    .flatMap(line => /^ {2}([a-z-]+(?: [a-z-]+)?)(?=\s|$)/.exec(line)?.[1] ?? []);
  const names = listed.filter(name => name !== 'sluice tasks' && name !== 'eval');
  t.ok(names.length > 40, 'the overview lists the commands');
  for (const name of names) {
    const { status, stdout: text } = await run('tasks', ...name.split(' '), '--help');
    t.equal(status, 0, name);
    t.match(text, new RegExp(`^Usage: sluice tasks ${name}[ \\n]`));
    fitsAndHasExamples(t, text);
  }
});

t.test('the version is that of the package', async t => {
  const { version } = JSON.parse(readFileSync(join(repositoryRoot(), 'package.json'), 'utf8'));
  for (const flag of ['--version', '-version', 'version']) {
    t.same(await run(flag), { status: 0, stdout: `sluice ${version}\n`, stderr: '' });
  }
});

t.test('without a command, the usage goes to standard error and nothing is done', async t => {
  t.match(await run(), { status: 2, stdout: '', stderr: /^Usage: sluice <command> \[flags\]\n/ });
});

t.test('an unknown command is named, with the nearest one where there is one', async t => {
  t.same(await run('chekc'), {
    status: 2,
    stdout: '',
    stderr: 'sluice: unknown command "chekc". Did you mean "check"? "sluice --help" lists the commands.\n',
  });
  t.match(await run('explode'), { status: 2, stderr: /unknown command "explode"\. "sluice --help"/ });
});

function fitsAndHasExamples(t: Test, text: string): void {
  for (const line of text.split('\n')) t.ok(line.length <= 80, line);
  t.match(text, /^Examples?:\n {2}\S/m);
}
