import { isUtf8 } from 'node:buffer';
import { quote } from '../../../base/printable.ts';
import type { RuleFile } from '../../rule-set.ts';
import { FIELD_NAMES } from '../fields/field-names.ts';
import { type FaultList, FileCheck, type Place, type Source } from '../fields/file-check.ts';
import { readBlockYaml } from '../yaml/block-yaml.ts';
import { MAX_FILE_BYTES, MAX_FULL_YAML_TOKENS, MAX_YAML_NODES } from '../yaml/bounds.ts';
import { readFullYaml } from '../yaml/full-yaml.ts';
import { typedScalar, type YamlMap, type YamlReading } from '../yaml/yaml-node.ts';

/** What files of each kind contain, for messages about files that are something else. */
const CONTENTS = {
  rules: {
    noun: 'a rule file',
    advice: 'write `domain: ` and a name, and `descriptors:` with a list of entries below it',
  },
  overlay: { noun: 'an overlay file', advice: 'write `overlay:` with a list of entries below it' },
};

/** The top-level map of a file, and the state of its check. */
export interface ReadFile {
  readonly check: FileCheck;
  readonly root: YamlMap;
}

/** Reads the YAML of one file; null if it is faulty, which is reported. */
export function readRuleFile(
  file: RuleFile,
  faults: FaultList,
  kind: keyof typeof CONTENTS = 'rules',
): ReadFile | null {
  const { noun, advice } = CONTENTS[kind];
  const text = readText(file, faults);
  if (text === null) return null;
  const check = new FileCheck(new SourceText(file.name, text, file.linesBefore), faults);
  const { root, faults: yamlFaults } = readYaml(text);
  for (const fault of yamlFaults) check.fault(fault.offset, fault.message);
  if (yamlFaults.length > 0) return null;
  if (root === null || (root.kind === 'scalar' && root.plain && typedScalar(root.text) === null)) {
    return refuseWhole(file, faults, `the file is empty: ${advice}`);
  }
  if (root.kind === 'map') return { check, root };
  const found = root.kind === 'list' ? 'a list' : `the text ${quote(root.text)}`;
  check.fault(root.offset, `${noun} is a map, not ${found}: ${advice}`);
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

/** Reports a fault of the whole file. */
function refuseWhole(file: RuleFile, faults: FaultList, message: string): null {
  faults.add({ file: file.name, line: 0, column: 0, path: '', message });
  return null;
}

const TOO_LARGE =
  `a file this large must be plain block YAML with at most ${MAX_YAML_NODES} values, which this is not ` +
  '(a fault, an anchor, an alias, a tag, a text or a flow collection of several lines, a tab, ' +
  'a second document): write it in block form, or split the file';

/** Reads YAML with the fast reader, or from the start with the complete reader if the fast one does not know a construct. */
export function readYaml(text: string, maxTokens = MAX_FULL_YAML_TOKENS): YamlReading {
  const block = readBlockYaml(text, FIELD_NAMES);
  if (block.known) return { root: block.root, faults: [] };
  const full = readFullYaml(text, maxTokens);
  return full ?? { root: null, faults: [{ offset: block.offset, message: TOO_LARGE }] };
}

/** The text of a rule file. */
export class SourceText implements Source {
  readonly file: string;
  readonly noun = 'file';
  readonly text: string;
  readonly #linesBefore: number;
  /** The offsets at which lines start, found when the first place is asked for. */
  #starts: readonly number[] | null = null;

  constructor(file: string, text: string, linesBefore = 0) {
    this.file = file;
    this.text = text;
    this.#linesBefore = linesBefore;
  }

  placeOf(offset: number): Place {
    this.#starts ??= lineStarts(this.text);
    const starts = this.#starts;
    let line = 1;
    for (let next = starts.length; line < next; ) {
      const middle = (line + next) >>> 1;
      if (starts[middle] <= offset) line = middle + 1;
      else next = middle;
    }
    return { file: this.file, line: line + this.#linesBefore, column: offset - starts[line - 1] + 1 };
  }
}

/** The offsets at which lines start. */
function lineStarts(text: string): readonly number[] {
  const starts = [0];
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) starts.push(end + 1);
  return starts;
}

const BYTE_ORDER_MARK = 0xfeff;

/** Decodes UTF-8 without a byte order mark. Null if the bytes are not UTF-8. */
function decodeUtf8(bytes: Uint8Array): string | null {
  return isUtf8(bytes) ? decoded(bytes) : null;
}

/** For bytes that are not UTF-8: the text before the first bad byte, and the index of that byte. */
function beforeBadByte(bytes: Uint8Array): { readonly text: string; readonly badByte: number } {
  const badByte = firstBadByte(bytes);
  return { text: decoded(bytes.subarray(0, badByte)), badByte };
}

function decoded(bytes: Uint8Array): string {
  // Unlike TextDecoder, Buffer creates one-byte strings for ASCII, which are twice as fast to scan.
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  return text.charCodeAt(0) === BYTE_ORDER_MARK ? text.slice(1) : text;
}

function firstBadByte(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const lead = bytes[at];
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (length > 1 && !isUtf8(bytes.subarray(at, at + length))) return at;
    at += length;
  }
  return at;
}
