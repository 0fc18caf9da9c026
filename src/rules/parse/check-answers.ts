import { ANSWER_FIELDS, type DomainAnswers } from '../domain-answers.ts';
import { checkKeys } from './field-names.ts';
import { fieldOf, flagField, isNull, mapField } from './fields.ts';
import type { FileCheck } from './file-check.ts';
import { warnAboutRepeats, withUniqueKeys } from './repeated-keys.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

/** Checks the `answers` of a file. Null if absent. A field that is absent or null is left to the settings. */
export function checkAnswers(check: FileCheck, root: YamlMap): DomainAnswers | null {
  const written = mapField(check, root, 'answers');
  if (written === null) return null;
  const block = withUniqueKeys(check, written, 'answers');
  warnAboutRepeats(check, written, block, 'answers');
  checkKeys(check, block, 'answers');
  let enabled = 0;
  let disabled = 0;
  for (const [name, bit] of Object.entries(ANSWER_FIELDS)) {
    const node = fieldOf(block, name);
    if (node === null || isNull(node)) continue;
    if (flagField(check, block, name)) enabled |= bit;
    else disabled |= bit;
  }
  return { enabled, disabled };
}
