import type { RuleFile } from '../rule-set.ts';

/** The fields of rules that name files of values. */
const FIELDS = ['in_file', 'cidr_file'];

/** A field, and the rest of its line. */
const NAMED = /\b(?:in|cidr)_file["']?[ \t]*:[ \t]*(.*)/g;

/** What can follow a name without quotes. */
const END = /^\s*(?:$|[,}\]#])/;

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
  const rests = new Set<string>();
  for (const { content } of files.filter(mayHaveValueFiles)) {
    const text = Buffer.from(content.buffer, content.byteOffset, content.length).toString('utf8');
    for (const line of text.split('\n'))
      if (!line.trimStart().startsWith('#')) for (const [, rest] of line.matchAll(NAMED)) rests.add(rest);
  }
  return names.filter(name => [...rests].some(rest => goesOnWith(rest, name)));
}

/** Whether a line goes on with a name, in quotes or without. */
function goesOnWith(rest: string, name: string): boolean {
  if (rest.startsWith(`"${name}"`) || rest.startsWith(`'${name}'`)) return true;
  return rest.startsWith(name) && END.test(rest.slice(name.length));
}
