import { isIP } from 'node:net';
import { formatDuration, parseDuration, parseInteger, parseNumber } from './go-numbers.ts';

/** The result of reading a text: the value, or why the text was refused. */
export type Reading<V> =
  | {
      readonly value: V;
      /** True if the number was out of range and `value` is the nearest end of the range. */
      readonly clamped?: true;
    }
  | { readonly refused: string };

/** A kind of setting: how its text is read and shown, and what it accepts. */
export interface Kind<V> {
  /** For docs/settings.md and `sluice settings`: `whole number, 0 to 65535`. */
  readonly label: string;
  /** For faults, after "accepted:": `a whole number from 0 to 65535`. */
  readonly accepts: string;
  /**
   * The white space that is removed before the text is read, because no value can contain it: at both ends (default), also
   * around commas, or only line breaks at the end, as `echo` writes them.
   */
  readonly trims?: 'commas' | 'lineEnd';
  /** Reads the value of a variable. A refusal never repeats the text, because it may be a secret. */
  read(text: string): Reading<V>;
  /** A text that `read` takes back to the same value. */
  write(value: V): string;
}

/**
 * Both ends are included. A number outside the range is replaced by the nearest end, so that existing deployments of
 * the reference implementation start with the numbers that they have.
 */
interface Range {
  /** Without it there is no lower end. */
  readonly min?: number;
  readonly max: number;
  /** Ends beyond which a number is a fault instead of being replaced, because the end is unlikely to be what was meant. */
  readonly strict?: 'min' | 'both';
}

const EMPTY = 'the value is empty (leave the variable unset for the default)';
const OUT_OF_RANGE = 'out of range';

const BOOL_TEXTS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map(text => [text, true] as const),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map(text => [text, false] as const),
]);

/** The twelve spellings that the reference implementation reads, and no other (`yes` and `on` are faults). */
export const bool: Kind<boolean> = {
  label: 'bool',
  accepts: 'true or false (also 1, t, T, TRUE, True, 0, f, F, FALSE, False)',
  read(text) {
    const value = BOOL_TEXTS.get(text);
    if (value !== undefined) return { value };
    return { refused: text === '' ? EMPTY : 'not a bool' };
  },
  write: String,
};

/** Whole numbers, none beyond ±(2^53 - 1): further out two texts would give one value. */
export function integer(range: Range): Kind<number> {
  return {
    label: `whole number, ${rangeLabel(range, String)}`,
    accepts: `a whole number ${rangeText(range, String)}`,
    read(text) {
      const value = parseInteger(text);
      if (value === null) return { refused: text === '' ? EMPTY : 'not a whole number' };
      return within({ min: Number.MIN_SAFE_INTEGER, ...range }, value);
    },
    write: String,
  };
}

/** Numbers with a fraction. `inf` and `nan` are read as in Go; `nan` is always a fault. */
export function float(range: Range): Kind<number> {
  return {
    label: `number, ${rangeLabel(range, String)}`,
    accepts: `a number ${rangeText(range, String)}`,
    read(text) {
      const value = parseNumber(text);
      if (value === null) return { refused: text === '' ? EMPTY : 'not a number' };
      return within(range, value);
    },
    write: String,
  };
}

/** Durations; range and value are milliseconds. */
export function duration(range: Range): Kind<number> {
  return {
    label: `duration, ${rangeLabel(range, formatDuration)}`,
    accepts: `a duration ${rangeText(range, formatDuration)} with units, such as 1m30s or 500ms`,
    read(text) {
      const value = parseDuration(text);
      if (value !== null) return within(range, value);
      if (text === '') return { refused: EMPTY };
      return { refused: parseNumber(text) === null ? 'not a duration' : 'a number without a unit' };
    },
    write: formatDuration,
  };
}

function within({ min = -Infinity, max, strict }: Range, value: number): Reading<number> {
  if (value >= min && value <= max) return { value };
  const isFault = strict === 'both' || (strict === 'min' && value < min);
  if (isFault || Number.isNaN(value)) return { refused: OUT_OF_RANGE };
  return { value: value < min ? min : max, clamped: true };
}

function rangeLabel(range: Range, show: (value: number) => string): string {
  return range.min === undefined ? `up to ${show(range.max)}` : `${show(range.min)} to ${show(range.max)}`;
}

function rangeText(range: Range, show: (value: number) => string): string {
  return range.min === undefined ? rangeLabel(range, show) : `from ${rangeLabel(range, show)}`;
}

/**
 * One of a few texts, each with the value it stands for. The empty text is accepted only when it is among them.
 * With `letterCase: 'ignored'` the texts are given in lower case.
 */
export function choice<const V extends string | null>(spec: {
  readonly texts: Readonly<Record<string, V>>;
  readonly letterCase: 'exact' | 'ignored';
}): Kind<V> {
  const values = new Map(Object.entries(spec.texts));
  const names = alternatives([...values.keys()].map(text => (text === '' ? 'empty' : text)));
  const ignored = spec.letterCase === 'ignored';
  return {
    label: ignored ? `${names}, letter case ignored` : names,
    accepts: `${names}, ${ignored ? 'letter case ignored' : 'in exactly this letter case'}`,
    read(text) {
      const wanted = ignored ? text.toLowerCase() : text;
      const value = values.get(wanted);
      if (value !== undefined) return { value };
      return { refused: text === '' ? EMPTY : 'not one of the choices' };
    },
    write: value => [...values].find(([, candidate]) => candidate === value)?.[0] ?? '',
  };
}

/** One of a few texts, in exactly this letter case, which is its own value. */
export function oneOf<const V extends string>(...texts: readonly V[]): Kind<V> {
  const values = Object.fromEntries(texts.map(text => [text, text]));
  return choice({ texts: values as Readonly<Record<string, V>>, letterCase: 'exact' });
}

function alternatives(names: readonly string[]): string {
  return names.length === 1 ? names[0] : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

/** Any text, the empty one too. */
export const anyText: Kind<string> = {
  label: 'text',
  accepts: 'any text',
  trims: 'lineEnd',
  read: asIs,
  write: asIt,
};

/** The path of a file or directory; empty for none. */
export const path: Kind<string> = {
  label: 'path',
  accepts: 'a path',
  read: text => (text.includes('-----BEGIN ') ? { refused: 'it is the content of a file' } : { value: text }),
  write: asIt,
};

/** The text without the white space that no value of the kind can contain. */
export function trimmed({ trims }: Pick<Kind<unknown>, 'trims'>, text: string): string {
  if (trims === 'lineEnd') return text.replace(/[\r\n]+$/, '');
  return trims === 'commas' ? text.trim().replace(/\s*,\s*/g, ',') : text.trim();
}

function asIs(value: string): Reading<string> {
  return { value };
}

function asIt(value: string): string {
  return value;
}

/** A text for which `holds` is true. */
export function checkedText(spec: {
  readonly label: string;
  readonly accepts: string;
  readonly trims?: 'commas';
  readonly holds: (text: string) => boolean;
}): Kind<string> {
  return {
    label: spec.label,
    accepts: spec.accepts,
    ...(spec.trims !== undefined && { trims: spec.trims }),
    read(value) {
      if (spec.holds(value)) return { value };
      return { refused: value === '' ? EMPTY : 'not in the accepted format' };
    },
    write: asIt,
  };
}

/** An address to listen on. The brackets around IPv6 addresses that the reference implementation requires are removed. */
export const host: Kind<string> = {
  label: 'address or host name, empty for every interface',
  accepts: 'an IP address or a host name without a port, or empty for every interface',
  read(text) {
    const value = /^\[.*\]$/.test(text) ? text.slice(1, -1) : text;
    const known = value === '' || isIP(value) !== 0 || /^[A-Za-z0-9._-]{1,253}$/.test(value);
    return known ? { value } : { refused: 'not an address or host name' };
  },
  write: asIt,
};

/** Host names in lower case. `*.` at the start stands for one or more names below the others. */
export const hostNames: Kind<readonly string[]> = {
  label: 'host names, separated by commas',
  accepts:
    'host names without ports, separated by commas, such as sluice.example.com,*.example.net; or empty',
  read(text) {
    if (text.trim() === '') return { value: [] };
    const value = text.split(',').map(name => name.trim().toLowerCase());
    const isName = (name: string): boolean =>
      name.length <= 253 && /^(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(name);
    return value.every(isName) ? { value } : { refused: 'one of them is not a host name' };
  },
  write: value => value.join(','),
};

/** 0 lets the system pick a free port. */
export const port: Kind<number> = integer({ min: 0, max: 65_535, strict: 'both' });

/** Returns a kind that maps its values after parsing, for texts that mean the same as another value. */
export function adjusted<V>(kind: Kind<V>, adjust: (value: V) => V): Kind<V> {
  return {
    ...kind,
    read(text) {
      const reading = kind.read(text);
      return 'value' in reading ? { ...reading, value: adjust(reading.value) } : reading;
    },
  };
}

/** Returns a kind that also accepts `auto`, which stands for the default. */
export function orAuto<V>(kind: Kind<V>): Kind<V | null> {
  return {
    label: `${kind.label}, or auto`,
    accepts: `${kind.accepts}, or auto`,
    read: text => (text === 'auto' ? { value: null } : kind.read(text)),
    write: value => (value === null ? 'auto' : kind.write(value)),
  };
}

/** The declaration of a setting. Reading, faults, docs/settings.md and `sluice settings` are based on it. */
export interface Setting<V> {
  /** The variables that set it: the documented name, then the one that the reference implementation reads. */
  readonly names: readonly [string, ...string[]];
  readonly kind: Kind<V>;
  /** The value if no variable is set; null if it depends on other settings (see `loadSettings`). */
  readonly default: V;
  /** The default as docs/settings.md and `sluice settings` show it. */
  readonly defaultText: string;
  /** Whole sentences: what the setting does and when to change it. */
  readonly help: string;
  /** Whether its value is hidden in faults, logs and dumps. */
  readonly secret: boolean;
}

/** Settings that are shown under one heading, by their key in {@link Settings}. */
export interface SettingGroup {
  readonly title: string;
  /** One sentence about the settings of the group. */
  readonly introduction: string;
  readonly settings: Readonly<Record<string, Setting<unknown>>>;
}

interface Declaration<V> {
  readonly names: Setting<V>['names'];
  readonly kind: Kind<V>;
  readonly help: string;
  readonly secret?: boolean;
}

/** Declares a setting with a fixed default. */
export function setting<V>(declaration: Declaration<V> & { readonly default: NoInfer<V> }): Setting<V> {
  const defaultText = declaration.kind.write(declaration.default);
  return { secret: false, ...declaration, defaultText };
}

/** Declares a setting whose default depends on other settings; `default` describes it, and `loadSettings` computes it. */
export function derivedSetting<V>(
  declaration: Declaration<V> & { readonly default: string },
): Setting<V | null> {
  return { secret: false, ...declaration, default: null, defaultText: declaration.default };
}

/** Declares a setting that is off by default. */
export function flag(names: Setting<boolean>['names'], help: string): Setting<boolean> {
  return setting({ names, kind: bool, default: false, help });
}

/** Declares the path of a file or directory, with none by default. */
export function file(names: Setting<string>['names'], help: string): Setting<string> {
  return setting({ names, kind: path, default: '', help });
}
