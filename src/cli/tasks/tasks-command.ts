import { printable } from '../../base/printable.ts';
import type { FlagTable } from '../terminal/flags.ts';
import { type CliIo, CommandFault, UsageFault } from '../terminal/io.ts';
import { headedTableLines, tableLines, wrapped } from '../terminal/layout.ts';
import type { ApiTarget, Json } from './tasks-api.ts';

/** One command of `sluice tasks`. */
export interface TasksCommand {
  /** The words after `sluice tasks`: `list`, or a group and what to do in it: `schedules create`. */
  readonly name: string;
  /** The arguments as help shows them: `NAME WORKER`; empty for none. */
  readonly takes: string;
  /** One line for the list of commands. */
  readonly summary: string;
  /** Whole command lines. */
  readonly examples: readonly string[];
  readonly flags: FlagTable;
  /** Further paragraphs, one a line. */
  readonly notes?: string;
  /**
   * @param args without the name
   * @returns the exit status
   * @throws CommandFault
   */
  run(args: readonly string[], io: CliIo): Promise<number>;
}

/** Commands below one heading of the help. */
export interface CommandSection {
  readonly heading: string;
  readonly commands: readonly TasksCommand[];
}

/** The tenant from the flag or the environment, and the token from the environment. */
export function targetOf(flags: { readonly url: string }, io: CliIo): ApiTarget {
  const url = flags.url !== '' ? flags.url : (io.env['SLUICE_URL'] ?? '');
  if (url === '') {
    throw new UsageFault(
      'no tenant is given: set SLUICE_URL or give --url, such as http://acme.localhost:8080.',
    );
  }
  const token = io.env['SLUICE_TOKEN'] ?? '';
  if (token === '') {
    throw new UsageFault(
      'no token is given: set SLUICE_TOKEN. "sluice tasks create-account" prints the first token of a tenant.',
    );
  }
  return { url, token, namedBy: '--url or SLUICE_URL' };
}

/** The service with the token of its operator. The token is empty if the environment has none. */
export function serviceOf(flags: { readonly service: string }, io: CliIo): ApiTarget {
  const url = flags.service !== '' ? flags.service : (io.env['SLUICE_SERVICE'] ?? 'http://localhost:8080');
  const token = io.env['ACCOUNTS_OPERATOR_TOKEN'] ?? '';
  return { url, token, namedBy: '--service or SLUICE_SERVICE' };
}

/** The service, for commands that only its operator may run. @throws UsageFault if there is no token */
export function operatorOf(flags: { readonly service: string }, io: CliIo): ApiTarget {
  const target = serviceOf(flags, io);
  if (target.token !== '') return target;
  throw new UsageFault(
    'this command is for the operator: set ACCOUNTS_OPERATOR_TOKEN to the value that the service has.',
  );
}

/**
 * The only argument.
 *
 * @param what a word for it, for the message
 */
export function onlyArgument(positionals: readonly string[], what: string): string {
  if (positionals.length === 1) return positionals[0];
  throw new UsageFault(
    positionals.length === 0 ? `missing argument: ${what}.` : `unexpected argument "${positionals[1]}".`,
  );
}

/**
 * The only two arguments.
 *
 * @param what words for them, for the message
 */
export function twoArguments(
  positionals: readonly string[],
  what: readonly [string, string],
): readonly [string, string] {
  const [first, second, ...rest] = positionals;
  if (first === undefined) throw new UsageFault(`missing argument: ${what[0]}.`);
  return [first, onlyArgument(second === undefined ? [] : [second, ...rest], what[1])];
}

export function noArguments(positionals: readonly string[]): void {
  if (positionals.length > 0) throw new UsageFault(`unexpected argument "${positionals[0]}".`);
}

/**
 * Asks for confirmation of something that cannot be undone. Without a terminal, `--yes` is required.
 *
 * @param what would happen: `cancel 120 tasks`
 * @throws UsageFault without a terminal, CommandFault if the answer is not yes
 */
export async function confirm(what: string, flags: { readonly yes: boolean }, io: CliIo): Promise<void> {
  if (flags.yes) return;
  const input = io.input;
  if (input?.isTerminal !== true) throw new UsageFault(`this would ${what}. Give --yes to confirm.`);
  const answer = await input.ask(`This will ${what}. Continue? [y/N] `);
  if (!/^\s*y(es)?\s*$/i.test(answer ?? '')) throw new CommandFault('nothing was changed.');
}

/** Texts without characters that are special in a shell. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** Shell commands that set these variables. Users run them with `eval`, so values must not be executed. */
export function shellExports(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${PLAIN.test(value) ? value : quoted(value)}\n`)
    .join('');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** An answer as one line of JSON. */
export function printJson(answer: unknown, io: CliIo): void {
  io.stdout(`${JSON.stringify(answer)}\n`);
}

/** One line for people. */
export function printLine(line: string, io: CliIo): void {
  io.stdout(`${printable(line)}\n`);
}

/** One line for people, which continues indented on further lines if the terminal is narrower. */
export function printLongLine(line: string, io: CliIo): void {
  const indentation = '    ';
  const limit = io.columns === null ? Infinity : io.columns - indentation.length;
  const lines = wrapped(printable(line), limit).map(each => each.trim());
  io.stdout(`${lines.join(`\n${indentation}`)}\n`);
}

/** Rows below a head, in columns. */
export function printTable(head: readonly string[], rows: readonly (readonly string[])[], io: CliIo): void {
  for (const line of headedTableLines(head, rows, io.columns)) io.stdout(`${line}\n`);
}

/** All fields of an object, one a line. */
export function printFields(answer: Json, io: CliIo): void {
  const rows = Object.entries(answer).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  for (const line of tableLines(rows, io.columns)) io.stdout(`${line}\n`);
}

/** A line, or with `--json` the answer. */
export function report(answer: Json, line: string, flags: { readonly json: boolean }, io: CliIo): void {
  if (flags.json) printJson(answer, io);
  else printLine(line, io);
}

/** `2026-03-01T10:00:00.123Z` as tables show it: `2026-03-01 10:00:00Z`. Empty for no time. */
export function timeText(value: unknown): string {
  if (value === null || value === undefined) return '';
  return String(value).replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.\d+)?/, '$1 $2');
}
