import type { RuleFile } from '../rule-set.ts';

/** The fields of rules that name files of values. */
const FIELDS = ['in_file', 'cidr_file'];

/** A field, and the rest of its line. */
const NAMED = /\b(?:in|cidr)_file["']?[ \t]*:[ \t]*(.*)/g;

/** A name in quotes. */
const QUOTED = /^(?:"([^"]*)"|'([^']*)')/;

/** Where a name without quotes can end. It can contain these characters as well. */
const END = /\s*(?:$|[,}\]#])/g;

/** The longest name of a file that common file systems have, in characters. */
const LONGEST_NAME = 255;

/** Whether a rule file may name files of values. */
export function mayHaveValueFiles({ content }: RuleFile): boolean {
  const text = Buffer.from(content.buffer, content.byteOffset, content.length);
  return FIELDS.some(field => text.includes(field));
}

/**
 * Of the names of the other files in the directory of rule files, those that the rule files name: they are read before the
 * rules are parsed, so names that are written in another way, such as by an alias, are not found.
 */
export function namedValueFiles(names: readonly string[], files: readonly RuleFile[]): readonly string[] {
  const named = new Set<string>();
  for (const { content } of files.filter(mayHaveValueFiles)) {
    const text = Buffer.from(content.buffer, content.byteOffset, content.length).toString('utf8');
    for (const line of text.split('\n')) {
      if (line.trimStart().startsWith('#')) continue;
      for (const [, rest] of line.matchAll(NAMED)) for (const name of possibleNames(rest)) named.add(name);
    }
  }
  return names.filter(name => named.has(name));
}

/** The names that the rest of a line can begin with. Only YAML knows which of them is meant. */
function possibleNames(rest: string): readonly string[] {
  const quoted = QUOTED.exec(rest);
  if (quoted !== null) return [quoted[1] ?? quoted[2]];
  const plain = rest.slice(0, LONGEST_NAME + 1);
  return Array.from(plain.matchAll(END), ({ index }) => plain.slice(0, index));
}
