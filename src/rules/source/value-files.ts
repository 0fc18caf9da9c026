import type { RuleFile } from '../rule-set.ts';

/** The fields of rules that name files of values. */
const FIELDS = ['in_file', 'cidr_file'];

/** A field and the name after it: in quotes, or up to what ends a plain text in one line. */
const NAMED = /\b(?:in|cidr)_file["']?[ \t]*:[ \t]*(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'#,}][^#,}\n]*))/g;

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
    for (const [, double, single, plain] of text.matchAll(NAMED))
      named.add((double ?? single ?? plain).trim());
  }
  return names.filter(name => named.has(name));
}
