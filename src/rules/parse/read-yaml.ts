import { FIELD_NAMES } from './field-names.ts';
import { readBlockYaml } from './yaml/block-yaml.ts';
import { MAX_FULL_YAML_TOKENS, MAX_YAML_NODES } from './yaml/bounds.ts';
import { readFullYaml } from './yaml/full-yaml.ts';
import type { YamlReading } from './yaml/yaml-node.ts';

const TOO_LARGE =
  `a file as large as this one has to be plain block YAML of at most ${MAX_YAML_NODES} values, and here is something ` +
  'else (a fault, an anchor, an alias, a tag, a text or a flow collection of several lines, a tab, ' +
  'a second document): write it in block form, or split the file';

/** Reads YAML with the fast reader, and with the complete one from the start when the fast one meets its limits. */
export function readYaml(text: string, maxTokens = MAX_FULL_YAML_TOKENS): YamlReading {
  const block = readBlockYaml(text, FIELD_NAMES);
  if (block.known) return { root: block.root, faults: [] };
  const full = readFullYaml(text, maxTokens);
  return full ?? { root: null, faults: [{ offset: block.offset, message: TOO_LARGE }] };
}
