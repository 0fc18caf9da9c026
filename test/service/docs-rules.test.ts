import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { repositoryRoot } from '../support/repository.ts';
import { writeRules } from '../support/rule-files.ts';
import { type ServiceProcess, startService } from '../support/service.ts';
import { tempDirectory } from '../support/temp-directory.ts';
import { run } from '../unit/cli/run.ts';

// docs/rules.md: its rule files are served, and its commands print what the page shows.

interface Example {
  readonly command: string;
  /** What the page shows below the command. */
  readonly output: string;
}

interface Page {
  /** Rule files by path: the first line of each names it. */
  readonly files: Readonly<Record<string, string>>;
  readonly examples: readonly Example[];
}

function readPage(): Page {
  const page = readFileSync(join(repositoryRoot(), 'docs/rules.md'), 'utf8');
  const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  const files: Record<string, string> = {};
  const examples: Example[] = [];
  for (const [, language, text] of blocks) {
    if (language === 'yaml') files[/^# (\S+)/.exec(text)?.[1] as string] = text;
    if (language !== 'console') continue;
    for (const each of text.split(/^\$ /m).slice(1)) {
      const [command, ...output] = each.replaceAll(/ \\\n +/g, ' ').split('\n');
      examples.push({ command, output: output.join('\n').trimEnd() });
    }
  }
  return { files, examples };
}

/** Without the points in time that differ from run to run. */
function timeless(output: string): string {
  return output
    .replaceAll(/resets in \S+/g, 'resets in T')
    .replaceAll(/_\d{10}\b/g, '_T')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'T')
    .replaceAll(/"durationUntilReset":"\d+s"/g, '"durationUntilReset":"T"')
    .replaceAll(/"resetSeconds":[\d.]+/g, '"resetSeconds":T')
    .trimEnd();
}

/** Runs the commands that the page uses, as a shell in `directory` would. */
class Terminal {
  readonly #service: ServiceProcess;
  readonly #directory: string;

  constructor(service: ServiceProcess, directory: string) {
    this.#service = service;
    this.#directory = directory;
  }

  run(command: string): Promise<string> {
    return command.startsWith('curl ') ? this.#curl(command) : this.#sluice(command);
  }

  async #sluice(command: string): Promise<string> {
    const [line, echo] = command.split('; echo ');
    const [, name, ...args] = line.split(' ');
    const { status, stdout, stderr } = await run(name, ...this.#args(name, args));
    const printed = `${stdout}${stderr}`.replaceAll(`${this.#directory}/`, '');
    return echo === undefined ? printed : `${printed}${JSON.parse(echo).replace('$?', status)}`;
  }

  #args(name: string, args: string[]): string[] {
    if (name === 'client') return [...args, '--dial-string', this.#service.grpc];
    if (name === 'explain') return [...args, '--debug-address', this.#service.debug];
    return [join(this.#directory, args[0]), ...args.slice(1)];
  }

  async #curl(command: string): Promise<string> {
    const body = /-d '(.*?)'/.exec(command)?.[1];
    const path = /localhost:\d+(\/\w+)/.exec(command)?.[1];
    const address = body === undefined ? this.#service.debug : this.#service.http;
    const answer = await fetch(
      `http://${address}${path}`,
      body === undefined ? {} : { method: 'POST', body },
    );
    const text = await answer.text();
    const pattern = /\| grep (?:-E )?'?(.*?)'?$/.exec(command)?.[1];
    if (pattern === undefined) return text;
    return text
      .split('\n')
      .filter(line => new RegExp(pattern).test(line))
      .join('\n');
  }
}

t.test('the examples of docs/rules.md are true', async t => {
  const { files, examples } = readPage();
  t.ok(Object.keys(files).length > 15 && examples.length > 30, 'the page has its examples');
  let minute: number;
  let found: string[];
  do {
    // Counts start over with the minute: a run that spans two of them says nothing.
    minute = Math.floor(Date.now() / 60_000);
    found = [];
    const directory = writeRules(tempDirectory(t), files);
    const start = (settings = {}) => startService({ env: { RUNTIME_ROOT: directory, ...settings } });
    const service = await start();
    const withMetadata = await start({ RESPONSE_DYNAMIC_METADATA: 'true' });
    for (const { command, output } of examples) {
      const asked = output.includes('dynamicMetadata') ? withMetadata : service;
      found.push(await new Terminal(asked, directory).run(command));
    }
    await Promise.all([service.terminate(), withMetadata.terminate()]);
  } while (minute !== Math.floor(Date.now() / 60_000));
  for (const [index, { command, output }] of examples.entries()) {
    t.equal(sorted(command, timeless(found[index])), sorted(command, timeless(output)), command);
  }
});

/** Statistics have no order. */
function sorted(command: string, output: string): string {
  return command.includes('/stats') ? output.split('\n').sort().join('\n') : output;
}
