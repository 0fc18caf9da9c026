import type { RuleFile } from '../rule-set.ts';

/** The fields of rules that name files of values. */
const FIELDS = ['in_file', 'cidr_file'];

/** Whether a rule file may name files of values. */
export function mayHaveValueFiles({ content }: RuleFile): boolean {
  const text = Buffer.from(content.buffer, content.byteOffset, content.length);
  return FIELDS.some(field => text.includes(field));
}

/**
 * Of the names of the other files in the directory of rule files, those that the rule files may name: they are read before the
 * rules are parsed.
 */
export function namedValueFiles(names: readonly string[], files: readonly RuleFile[]): readonly string[] {
  const texts = files
    .filter(mayHaveValueFiles)
    .map(({ content }) => Buffer.from(content.buffer, content.byteOffset, content.length));
  return names.filter(name => texts.some(text => text.includes(name)));
}
