import type { RuleFile } from '../rule-set.ts';
import type { FaultList } from './fault-list.ts';
import { FileCheck } from './file-check.ts';
import { readYaml } from './read-yaml.ts';
import { beforeBadByte, decodeUtf8, SourceText } from './source-text.ts';
import { MAX_FILE_BYTES } from './yaml/bounds.ts';
import { quote } from './yaml/quote.ts';
import { typedScalar } from './yaml/typed-scalar.ts';
import type { YamlMap } from './yaml/yaml-node.ts';

const EXAMPLE = 'write `domain: ` and a name, and `descriptors:` with a list of entries below it';

/** The map at the top of a rule file, and what its checks need. */
export interface ReadFile {
  readonly check: FileCheck;
  readonly root: YamlMap;
}

/** Reads the YAML of one file; null when it was faulty, which is reported. */
export function readRuleFile(file: RuleFile, faults: FaultList): ReadFile | null {
  const text = readText(file, faults);
  if (text === null) return null;
  const check = new FileCheck(new SourceText(file.name, text), faults);
  const { root, faults: yamlFaults } = readYaml(text);
  for (const fault of yamlFaults) check.fault(fault.offset, fault.message);
  if (yamlFaults.length > 0) return null;
  if (root === null || (root.kind === 'scalar' && root.plain && typedScalar(root.text) === null)) {
    return refuseWhole(file, faults, `the file is empty: ${EXAMPLE}`);
  }
  if (root.kind === 'map') return { check, root };
  const found = root.kind === 'list' ? 'a list' : `the text ${quote(root.text)}`;
  check.fault(root.offset, `a rule file is a map, not ${found}: ${EXAMPLE}`);
  return null;
}

function readText(file: RuleFile, faults: FaultList): string | null {
  const size = file.content.byteLength;
  if (size > MAX_FILE_BYTES) {
    return refuseWhole(
      file,
      faults,
      `the file has ${size} bytes, and at most ${MAX_FILE_BYTES} are read: split it into several files`,
    );
  }
  const text = decodeUtf8(file.content);
  if (text !== null) return text;
  const before = beforeBadByte(file.content);
  new FileCheck(new SourceText(file.name, before.text), faults).fault(
    before.text.length,
    `byte ${before.badByte} of the file is not UTF-8: save the file as UTF-8`,
  );
  return null;
}

/** Reports a fault that has no place in the file. */
function refuseWhole(file: RuleFile, faults: FaultList, message: string): null {
  faults.add({ file: file.name, line: 0, column: 0, path: '', message });
  return null;
}
