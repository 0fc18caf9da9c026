import { dirname, join } from 'node:path';
import { quote } from '../../../base/printable.ts';
import type { RuleEntry, RuleFile } from '../../rule-set.ts';
import type { EntryPlace, FileCheck } from '../fields/file-check.ts';

/** Maximum number of values of lists, and of networks, in all files of one load. */
const MAX_VALUES = 2_000_000;
const MAX_NETWORKS = 500_000;

/** Maximum size of the automata of all patterns of one load, in transitions of four bytes. */
const MAX_TRANSITIONS = 10_000_000;

/** Maximum length of a line of a file of values, in bytes. */
const LONGEST_LINE = 4_096;

/** A line of a file of values that has one, without spaces around it. */
interface ValueLine {
  readonly text: string;
  /** From 1. */
  readonly line: number;
}

/** What the conditions of all rules of a load share: the files of values, and how many values are left. */
export class ConditionScope {
  /** Where each entry with a condition is written. They are compared when all files are read. */
  readonly places = new Map<RuleEntry, EntryPlace>();
  /** By name. */
  readonly #files: ReadonlyMap<string, RuleFile>;
  readonly #left = { value: MAX_VALUES, network: MAX_NETWORKS };
  #transitionsLeft = MAX_TRANSITIONS;

  /** @param files those whose format is `values` */
  constructor(files: readonly RuleFile[]) {
    this.#files = new Map(files.map(file => [file.name, file]));
  }

  /** Whether so many values or networks may be added. Reports once if not. */
  take(check: FileCheck, offset: number, kind: 'value' | 'network', count: number): boolean {
    const most = kind === 'value' ? MAX_VALUES : MAX_NETWORKS;
    const had = this.#left[kind];
    this.#left[kind] -= count;
    if (had >= 0 && this.#left[kind] < 0)
      check.fault(offset, `the conditions of all files have more than ${most} ${kind}s: remove some`);
    return this.#left[kind] >= 0;
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
    const file = this.#files.get(join(dirname(check.source.file), name));
    if (file === undefined)
      return fault(
        `there is no file ${quote(name)} beside the rule file: create it with one value on each line, and write its name as it is`,
      );
    const text = decoded(file.content);
    if (text === null) return fault(`the file ${quote(name)} is not UTF-8: save it as UTF-8`);
    const lines = text.split('\n');
    const long = lines.findIndex(line => line.length > LONGEST_LINE);
    if (long >= 0)
      return fault(
        `line ${long + 1} of ${quote(name)} has more than ${LONGEST_LINE} characters: write one value on each line`,
      );
    const values = lines.map((line, i) => ({ text: line.trim(), line: i + 1 }));
    return values.filter(({ text: value }) => value !== '' && !value.startsWith('#'));
  }
}

function decoded(content: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    return null;
  }
}
