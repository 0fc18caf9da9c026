import { dirname, join } from 'node:path';
import { quote } from '../../../base/printable.ts';
import type { RuleEntry, RuleFile } from '../../rule-set.ts';
import type { EntryPlace, FileCheck } from '../fields/file-check.ts';
import { type ValueLine, valueLines } from './value-lines.ts';

/** Maximum number of values of lists, and of networks, in all files of one load. */
const MAX_VALUES = 2_000_000;
const MAX_NETWORKS = 500_000;

/** Maximum size of the automata of all patterns of one load, in transitions of four bytes. */
const MAX_TRANSITIONS = 10_000_000;

/** Maximum number of characters of the values of all lists, in all files of one load. Compiled rules contain them. */
const MAX_CHARACTERS = 128 * 1024 * 1024;

/** What the conditions of all rules of a load share: the files of values, and how many values are left. */
export class ConditionScope {
  /** Where each entry with a condition is written. They are compared when all files are read. */
  readonly places = new Map<RuleEntry, EntryPlace>();
  /** By name. */
  readonly #files: ReadonlyMap<string, RuleFile>;
  readonly #left = { value: MAX_VALUES, network: MAX_NETWORKS };
  #transitionsLeft = MAX_TRANSITIONS;
  #charactersLeft = MAX_CHARACTERS;
  /** Of the files that rules have named so far. */
  readonly #lines = new Map<RuleFile, readonly ValueLine[]>();

  /** @param files those whose format is `values` */
  constructor(files: readonly RuleFile[]) {
    this.#files = new Map(files.map(file => [file.name, file]));
  }

  /** Whether these values or networks may be added. Reports once if not. */
  take(
    check: FileCheck,
    offset: number,
    kind: 'value' | 'network',
    items: readonly { readonly text: string }[],
  ): boolean {
    const most = kind === 'value' ? MAX_VALUES : MAX_NETWORKS;
    const had = this.#left[kind];
    this.#left[kind] -= items.length;
    if (had >= 0 && this.#left[kind] < 0)
      check.fault(offset, `the conditions of all files have more than ${most} ${kind}s: remove some`);
    if (this.#left[kind] < 0) return false;
    const hadCharacters = this.#charactersLeft;
    for (const { text } of items) this.#charactersLeft -= text.length;
    if (hadCharacters >= 0 && this.#charactersLeft < 0)
      check.fault(
        offset,
        `the values of all lists have more than ${MAX_CHARACTERS} characters together: write fewer or shorter values`,
      );
    return this.#charactersLeft >= 0;
  }

  /** Whether a pattern of this size may be added. Reports once if not. */
  takePattern(check: FileCheck, offset: number, transitions: number): boolean {
    const had = this.#transitionsLeft;
    this.#transitionsLeft -= transitions;
    if (had >= 0 && this.#transitionsLeft < 0)
      check.fault(
        offset,
        'the patterns of all files are too large together: write fewer or simpler patterns',
      );
    return this.#transitionsLeft >= 0;
  }

  /**
   * The lines of a file of values beside the rule file, one value each: without empty lines, and without those that begin with
   * `#`. Null if there is no such file, or if it is faulty, which is reported.
   */
  linesOf(check: FileCheck, offset: number, name: string): readonly ValueLine[] | null {
    const fault = (message: string): null => {
      check.fault(offset, message);
      return null;
    };
    if (check.source.noun === 'resource' || name.includes('/') || name.includes('\\'))
      return fault(
        `${quote(name)} is not the name of a file: write the name of a file in the directory of the rules`,
      );
    if (/\.ya?ml$/.test(name))
      return fault(
        `the name ${quote(name)} is that of a rule file: give the file of values another one, such as ${quote(`${name}.txt`)}`,
      );
    const file = this.#files.get(join(dirname(check.source.file), name));
    if (file === undefined)
      return fault(
        `there is no file ${quote(name)} beside the rule file: create it with one value on each line, and write its name as it is`,
      );
    const known = this.#lines.get(file);
    if (known !== undefined) return known;
    const lines = valueLines(file.content, MAX_VALUES + 1);
    if (typeof lines === 'string') return fault(`the file ${quote(name)} ${lines}`);
    this.#lines.set(file, lines);
    return lines;
  }
}
