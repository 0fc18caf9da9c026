import { excerpt, quote } from '../../../base/printable.ts';
import { GREATEST_LIMIT } from '../../rule-set.ts';
import {
  GREATEST_INT64,
  typedScalar,
  type YamlMap,
  type YamlNode,
  type YamlScalar,
} from '../yaml/yaml-node.ts';
import type { FileCheck } from './file-check.ts';

const DIGITS_ONLY = /^[-+]?[0-9_]+$/;

const NO_MAPS: readonly YamlMap[] = [];

/** The value of a field. If a key is repeated, the last one counts. */
export function fieldOf(map: YamlMap, name: string): YamlNode | null {
  for (let i = map.pairs.length - 1; i >= 0; i--) if (map.pairs[i].key === name) return map.pairs[i].value;
  return null;
}

/** The value of a field; null if it is absent or null. */
function presentField(map: YamlMap, name: string): YamlNode | null {
  const node = fieldOf(map, name);
  return node === null || isNull(node) ? null : node;
}

/** Whether a field is present and not null. */
export function hasValue(map: YamlMap, name: string): boolean {
  return presentField(map, name) !== null;
}

/** Where a fault of a field is reported: at its value, or at the map if the field is absent. */
export function offsetOf(map: YamlMap, name: string): number {
  return fieldOf(map, name)?.offset ?? map.offset;
}

/** A text; empty if absent or null, null if faulty. For booleans, whole numbers and dates, the text as written. */
export function textField(check: FileCheck, map: YamlMap, name: string): string | null {
  const node = fieldOf(map, name);
  if (node === null) return '';
  if (node.kind !== 'scalar') {
    check.fault(node.offset, `\`${name}\` must be text, not a ${node.kind}: write one value after the colon`);
    return null;
  }
  if (!node.plain) return node.text;
  if (!checkLeaf(check, node)) return null;
  return isNull(node) ? '' : node.text;
}

/** The text of a field as written, also if YAML takes it for a number; null if it is not one value, which is reported. */
export function writtenField(check: FileCheck, map: YamlMap, name: string): string | null {
  const node = fieldOf(map, name);
  return node?.kind === 'scalar' ? node.text : textField(check, map, name);
}

/** A YAML 1.1 boolean (`yes`, `off`, `y`, ...); false if absent, null or faulty. */
export function flagField(check: FileCheck, map: YamlMap, name: string): boolean {
  const node = presentField(map, name);
  if (node === null) return false;
  const type = node.kind === 'scalar' && node.plain ? typedScalar(node.text) : null;
  if (typeof type === 'boolean') return type;
  check.fault(node.offset, `\`${name}\` must be true or false, without quotes, not ${shown(node)}`);
  return false;
}

/** Whether a flag is true, before it was checked. */
export function flagIsSet(map: YamlMap, name: string): boolean {
  return flagIs(map, name, true);
}

/** Whether a flag is written and has a value, before it was checked. */
export function flagIs(map: YamlMap, name: string, value: boolean): boolean {
  const node = presentField(map, name);
  return node?.kind === 'scalar' && node.plain && typedScalar(node.text) === value;
}

/** A whole number from 0 to {@link GREATEST_LIMIT}; 0 if absent, null or faulty. */
export function countField(check: FileCheck, map: YamlMap, name: string): number {
  return wholeField(check, map, name, COUNTS) ?? 0;
}

/** The least and the greatest number that a field accepts. */
interface NumberRange {
  readonly least: number;
  readonly greatest: number;
  /** Why a greater number is not accepted, for messages. */
  readonly why?: string;
}

const COUNTS: NumberRange = { least: 0, greatest: GREATEST_LIMIT };

/** A whole number in a range; null if absent, null or faulty. */
export function wholeField(check: FileCheck, map: YamlMap, name: string, range: NumberRange): number | null {
  const node = presentField(map, name);
  if (node === null) return null;
  const type = node.kind === 'scalar' && node.plain ? typedScalar(node.text) : null;
  if (typeof type === 'bigint' && type >= range.least && type <= range.greatest) return Number(type);
  check.fault(
    node.offset,
    `\`${name}\` must be a whole number from ${range.least} to ${range.greatest}${range.why ?? ''}, without quotes, not ${shown(node)}`,
  );
  return null;
}

/** A list of maps; empty if absent, null or faulty. Other items are reported and left out. */
export function listField(
  check: FileCheck,
  map: YamlMap,
  name: string,
  exampleItem: string,
): readonly YamlMap[] {
  const node = presentField(map, name);
  if (node === null) return NO_MAPS;
  if (node.kind === 'list')
    return node.items.filter(item => isMapItem(check, item, `\`${name}\``, exampleItem));
  check.fault(node.offset, `\`${name}\` must be a list, not ${shown(node)}: write \`${exampleItem}\``);
  return NO_MAPS;
}

/** A map; null if absent, null or faulty. */
export function mapField(check: FileCheck, map: YamlMap, name: string): YamlMap | null {
  const node = presentField(map, name);
  if (node === null) return null;
  if (node.kind === 'map') return node;
  check.fault(node.offset, `\`${name}\` must be a map, not ${shown(node)}: indent its keys below it`);
  return null;
}

/** Whether an item of a list is a map. Reports the item if not. */
export function isMapItem(
  check: FileCheck,
  item: YamlNode,
  list: string,
  exampleItem: string,
): item is YamlMap {
  if (item.kind === 'map') return true;
  check.fault(item.offset, `${list} may only hold maps, not ${shown(item)}: write \`${exampleItem}\``);
  return false;
}

/**
 * Reports a number that envoyproxy/ratelimit rejects everywhere except in metadata: decimals, and whole numbers beyond
 * 64 bits. Returns true if the scalar is accepted.
 */
export function checkLeaf(check: FileCheck, scalar: YamlScalar): boolean {
  const type = scalar.plain ? typedScalar(scalar.text) : scalar.text;
  const beyond = typeof type === 'bigint' && type > GREATEST_INT64;
  if (!beyond && typeof type !== 'number') return true;
  let what = 'a decimal number';
  if (beyond || DIGITS_ONLY.test(scalar.text)) what = 'a whole number beyond 64 bits';
  if (/^[-+]?0[0-9_]/.test(scalar.text)) what = 'a number with a leading zero that is not octal';
  check.fault(
    scalar.offset,
    `${excerpt(scalar.text)} is ${what}, and such numbers are only allowed in metadata: ` +
      `for text write ${quote(scalar.text)}, with the quotes`,
  );
  return false;
}

/** Whether a value is null, explicit or omitted. */
export function isNull(node: YamlNode): boolean {
  return node.kind === 'scalar' && node.plain && node.text.length <= 4 && typedScalar(node.text) === null;
}

/** A node as messages describe it. */
function shown(node: YamlNode): string {
  if (node.kind !== 'scalar') return `a ${node.kind}`;
  if (!node.plain) return `the text ${quote(node.text)}`;
  return node.text === '' ? 'null' : excerpt(node.text);
}
