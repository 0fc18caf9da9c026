import { ANSWER_FIELDS, type DomainAnswers } from '../domain-answers.ts';
import { flagField, hasValue, mapField } from './fields/fields.ts';
import type { FileCheck } from './fields/file-check.ts';
import { checkedMap } from './fields/repeated-keys.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

/** Checks the `answers` of a file. Null if absent. A field that is absent or null is left to the settings. */
export function checkAnswers(check: FileCheck, root: YamlMap): DomainAnswers | null {
  const written = mapField(check, root, 'answers');
  if (written === null) return null;
  const block = checkedMap(check, written, 'answers');
  let enabled = 0;
  let disabled = 0;
  for (const [name, bit] of Object.entries(ANSWER_FIELDS)) {
    if (!hasValue(block, name)) continue;
    if (flagField(check, block, name)) enabled |= bit;
    else disabled |= bit;
  }
  return { enabled, disabled };
}
