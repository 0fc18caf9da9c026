import { MAX_YAML_DEPTH } from './bounds.ts';
import { CODE, type YamlCursor } from './yaml-cursor.ts';
import type { YamlNode, YamlPair } from './yaml-node.ts';

/** At the start of a flow collection. */
export function atFlow(cursor: YamlCursor): boolean {
  return cursor.code === CODE.openMap || cursor.code === CODE.openList;
}

/**
 * Reads a flow collection that begins and ends in one line, as in `rate_limit: {unit: day, requests_per_unit: 5}`,
 * and the spaces behind it. Null for everything unusual: keys without a value, `:` without a space, comments.
 */
export function readFlow(cursor: YamlCursor, depth: number): YamlNode | null {
  if (depth > MAX_YAML_DEPTH) return null;
  return cursor.code === CODE.openMap ? readFlowMap(cursor, depth) : readFlowList(cursor, depth);
}

function readFlowMap(cursor: YamlCursor, depth: number): YamlNode | null {
  const offset = cursor.at;
  const pairs: YamlPair[] = [];
  pass(cursor);
  while (cursor.code !== CODE.closeMap) {
    if (!cursor.scanInFlow() || !cursor.atKeyColon() || cursor.isOddKey()) return null;
    const { scalarText: key, scalarPlain: keyPlain, scalarOffset: keyOffset } = cursor;
    pass(cursor);
    const value = readFlowValue(cursor, depth);
    if (value === null) return null;
    pairs.push({ key, keyPlain, keyOffset, value });
    if (cursor.code === CODE.comma) pass(cursor);
    else if (cursor.code !== CODE.closeMap) return null;
  }
  pass(cursor);
  return { kind: 'map', pairs, offset };
}

function readFlowList(cursor: YamlCursor, depth: number): YamlNode | null {
  const offset = cursor.at;
  const items: YamlNode[] = [];
  pass(cursor);
  while (cursor.code !== CODE.closeList) {
    const item = readFlowValue(cursor, depth);
    if (item === null) return null;
    items.push(item);
    if (cursor.code === CODE.comma) pass(cursor);
    else if (cursor.code !== CODE.closeList) return null;
  }
  pass(cursor);
  return { kind: 'list', items, offset };
}

function readFlowValue(cursor: YamlCursor, depth: number): YamlNode | null {
  if (!cursor.countNode()) return null;
  if (atFlow(cursor)) return readFlow(cursor, depth + 1);
  if (!cursor.scanInFlow()) return null;
  return { kind: 'scalar', text: cursor.scalarText, plain: cursor.scalarPlain, offset: cursor.scalarOffset };
}

/** Passes over one character and the spaces behind it. */
function pass(cursor: YamlCursor): void {
  cursor.at++;
  cursor.passSpaces();
}
