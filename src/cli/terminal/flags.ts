import { parseArgs } from 'node:util';
import { nearest } from '../../base/nearest.ts';
import { bool, type Kind } from '../../settings/kinds/kinds.ts';
import { UsageFault } from './io.ts';
import { DEFAULT_COLUMNS, linesText, tableLines } from './layout.ts';

/** A flag of a command. Its name is its key in the {@link FlagTable}, in kebab case. */
type FlagDeclaration =
  | { readonly kind: 'switch'; readonly help: string }
  | { readonly kind: 'text'; readonly placeholder: string; readonly default: string; readonly help: string }
  | { readonly kind: 'list'; readonly placeholder: string; readonly help: string };

/** A flag with a value. */
export function textFlag(
  placeholder: string,
  help: string,
  standard = '',
): Extract<FlagDeclaration, { readonly kind: 'text' }> {
  return { kind: 'text', placeholder, default: standard, help };
}

export type FlagTable = Readonly<Record<string, FlagDeclaration>>;

/** Without the flag, a switch is false, a text is its default and a list is empty. */
export type FlagValues<T extends FlagTable> = {
  readonly [Name in keyof T]: T[Name]['kind'] extends 'switch'
    ? boolean
    : T[Name]['kind'] extends 'list'
      ? readonly string[]
      : string;
};

interface ParsedFlags<T extends FlagTable> {
  readonly values: FlagValues<T>;
  /** Arguments that are not flags, in order. */
  readonly positionals: readonly string[];
}

/** `-name`, `--name` and either with `=value`. */
const FLAG = /^--?([A-Za-z][^=]*)(=.*)?$/s;

/**
 * Reads arguments by the table. `-x v`, `-x=v`, `--x v` and `--x=v` are the same, as are `_` and `-` within a name,
 * because scripts call the client of the reference implementation in the first forms. If a flag is given twice, the
 * last one counts, unless it is a list. After `--`, nothing is a flag.
 *
 * @throws UsageFault for an unknown flag, a flag without its value, or a switch with a value that is no boolean
 */
export function parseFlags<const T extends FlagTable>(args: readonly string[], table: T): ParsedFlags<T> {
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { kind }]) => [
      name,
      { type: kind === 'switch' ? ('boolean' as const) : ('string' as const), multiple: kind === 'list' },
    ]),
  );
  const { values, positionals } = parseArgs({
    args: normalised(args, table),
    options,
    strict: false,
    allowPositionals: true,
    allowNegative: true,
  });
  const complete: Record<string, unknown> = {};
  for (const [name, flag] of Object.entries(table)) {
    complete[name] =
      values[name] ?? (flag.kind === 'text' ? flag.default : flag.kind === 'list' ? [] : false);
  }
  return { values: complete as FlagValues<T>, positionals };
}

/** The arguments in the form that `parseArgs` reads: `--name=value`, and switches as `--name` or `--no-name`. */
function normalised(args: readonly string[], table: FlagTable): string[] {
  const result: string[] = [];
  for (let i = 0; i < args.length; i++) {
    if (args[i] === '--') return [...result, ...args.slice(i)];
    if (!args[i].startsWith('-') || args[i] === '-') {
      result.push(args[i]);
      continue;
    }
    const [, written = '', value] = FLAG.exec(args[i]) ?? [];
    const name = written.replaceAll('_', '-');
    const inline = value?.slice(1);
    const flag = Object.hasOwn(table, name) ? table[name] : undefined;
    if (flag === undefined) throw unknownFlag(args[i], name, table);
    if (flag.kind === 'switch') {
      const on = inline === undefined || readFlag(name, inline, bool);
      result.push(on ? `--${name}` : `--no-${name}`);
    } else {
      result.push(`--${name}=${inline ?? followingValue(args, ++i, name, flag.placeholder)}`);
    }
  }
  return result;
}

function unknownFlag(arg: string, name: string, table: FlagTable): UsageFault {
  const meant = nearest(name, Object.keys(table));
  const hint = meant === null ? '' : ` Did you mean --${meant}?`;
  return new UsageFault(`unknown flag ${arg.split('=', 1)[0]}.${hint}`);
}

function followingValue(args: readonly string[], index: number, name: string, placeholder: string): string {
  const value = args[index];
  if (value === undefined) throw new UsageFault(`--${name} needs a value: --${name} ${placeholder}.`);
  // A missing value is far more likely than a value that starts with a dash. `-24h` and `-` are not flags.
  if (/^-(?!\d|$)/.test(value)) {
    throw new UsageFault(
      `--${name} needs a value, and ${value} looks like a flag. If it is the value, write --${name}=${value}.`,
    );
  }
  return value;
}

/**
 * Reads the text of a flag as a setting of that kind is read.
 *
 * @throws UsageFault when the kind refuses the text
 */
export function readFlag<V>(name: string, text: string, kind: Kind<V>): V {
  const reading = kind.read(text);
  // Unlike a setting, a number that is out of range is an error here: the person who typed it can correct it.
  if ('value' in reading && reading.clamped !== true) return reading.value;
  const refused = 'refused' in reading ? reading.refused : 'out of range';
  throw new UsageFault(`--${name}=${text}: ${refused}. Write ${kind.accepts}.`);
}

/** @throws UsageFault if there is an argument that is no flag */
export function refuseArguments([first]: readonly string[], hint = ''): void {
  if (first !== undefined) throw new UsageFault(`unexpected argument "${first}".${hint}`);
}

/** Each flag with its description, and its default if it has one. */
export function describeFlags(table: FlagTable): string {
  const rows = Object.entries(table).map(([name, flag]) => [
    flag.kind === 'switch' ? `  --${name}` : `  --${name} ${flag.placeholder}`,
    flag.kind === 'text' && flag.default !== '' ? `${flag.help} (default ${flag.default})` : flag.help,
  ]);
  return linesText(tableLines(rows, DEFAULT_COLUMNS));
}

/** True if the arguments ask for help. */
export function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--');
  return args.slice(0, end < 0 ? args.length : end).some(arg => /^(-h|--?help)$/.test(arg));
}
