import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../unit/cli/run.ts';
import { repositoryRoot } from './repository.ts';
import type { ServiceProcess } from './service.ts';

// The pages of docs: their rule files, and their commands with what they print.

export interface DocsExample {
  readonly command: string;
  /** What the page shows below the command. */
  readonly output: string;
}

/** Blocks of a page. */
interface DocsPage {
  /** Rule files by path: the first line of each names it. */
  readonly files: Readonly<Record<string, string>>;
  readonly examples: readonly DocsExample[];
}

/** @param path of a page, in the repository. Its YAML blocks without a path in their first line are left out. */
export function readDocsPage(path: string): DocsPage {
  const page = readFileSync(join(repositoryRoot(), path), 'utf8');
  const blocks = [...page.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  const files: Record<string, string> = {};
  const examples: DocsExample[] = [];
  for (const [, language, text] of blocks) {
    const file = /^# (\S+)/.exec(text)?.[1];
    if (language === 'yaml' && file !== undefined) files[file] = text;
    if (language !== 'console') continue;
    for (const each of text.split(/^\$ /m).slice(1)) {
      const [command, ...output] = each.replaceAll(/ \\\n +/g, ' ').split('\n');
      examples.push({ command, output: output.join('\n').trimEnd() });
    }
  }
  return { files, examples };
}

/** Without the points in time that differ from run to run. */
export function timeless(output: string): string {
  return output
    .replaceAll(/resets in \S+/g, 'resets in T')
    .replaceAll(/_\d{10}\b/g, '_T')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'T')
    .replaceAll(/"durationUntilReset":"\d+s"/g, '"durationUntilReset":"T"')
    .replaceAll(/"resetSeconds":[\d.]+/g, '"resetSeconds":T')
    .trimEnd();
}

/** The words of a command, as a shell splits it: what is in single quotes is one word. */
function wordsOf(line: string): string[] {
  return Array.from(line.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, plain]) => quoted ?? plain);
}

/** Runs the commands that the page uses, as a shell in `directory` would. */
export class DocsTerminal {
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
    const [, name, ...args] = wordsOf(line);
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
