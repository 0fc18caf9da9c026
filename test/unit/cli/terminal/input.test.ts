import { execFile } from 'node:child_process';
import { extname } from 'node:path';
import t from 'tap';

/** What an expression on the standard input of a process comes to, when that holds a text and ends. */
function evaluated(expression: string, text: string): Promise<string> {
  const url = new URL(`../../../../src/cli/terminal/io${extname(import.meta.url)}`, import.meta.url);
  const script = `
    const { processInput } = await import(${JSON.stringify(url.href)});
    const input = processInput();
    const answer = await (${expression}).catch(failure => failure.message);
    process.stdout.write(JSON.stringify(answer));
  `;
  return new Promise((resolve, reject) => {
    const done = (failure: Error | null, stdout: string, stderr: string) =>
      failure === null ? resolve(stdout + stderr) : reject(failure);
    const child = execFile(process.execPath, ['--input-type=module', '--eval', script], done);
    child.stdin!.end(text);
  });
}

t.test('standard input is read to its end, up to a bound', async t => {
  t.equal(await evaluated('input.readAll(8)', 'tést 1\n'), '"tést 1\\n"');
  t.equal(await evaluated('input.readAll(8)', ''), '""');
  t.equal(await evaluated('input.readAll(8)', 'much too long'), '"standard input has more than 8 bytes."');
});

t.test('a question is asked on standard error, and its answer is a line', async t => {
  t.equal(await evaluated('input.ask("Go on? ")', 'yes\nno\n'), '"yes"Go on? ');
  t.equal(await evaluated('input.ask("Go on? ")', ''), 'nullGo on? ', 'nobody answers');
});
