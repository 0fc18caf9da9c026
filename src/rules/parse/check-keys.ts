import { FIELDS, isKnownField, likelyField, type MapKind } from './field-names.ts';
import { checkLeaf, isMapItem } from './fields.ts';
import type { FileCheck } from './file-check.ts';
import { printable, quote } from './yaml/quote.ts';
import { typedScalar } from './yaml/typed-scalar.ts';
import type { YamlMap, YamlNode, YamlPair } from './yaml/yaml-node.ts';

/**
 * Checks the keys of a map. As in the reference implementation a key that is known in another kind of map is passed
 * over in silence, yet what it holds has to be well formed.
 */
export function checkKeys(check: FileCheck, map: YamlMap, kind: MapKind): void {
  const accepted = FIELDS[kind];
  for (const pair of map.pairs) if (!accepted.includes(pair.key)) checkPassedOver(check, pair, kind);
}

/** A pair without effect: its key has to be known somewhere; below `metadata` nothing is checked. */
function checkPassedOver(check: FileCheck, pair: YamlPair, kind: MapKind): void {
  if (check.full) return;
  if (!isKnownField(pair.key)) refuseKey(check, pair, kind);
  else if (pair.key !== 'metadata') checkValuePassedOver(check, pair.value, kind);
}

function checkValuePassedOver(check: FileCheck, node: YamlNode, kind: MapKind): void {
  if (node.kind === 'scalar') checkLeaf(check, node);
  else if (node.kind === 'map') for (const pair of node.pairs) checkPassedOver(check, pair, kind);
  else {
    for (const item of node.items) {
      if (isMapItem(check, item, 'a list', '- key: ...')) checkValuePassedOver(check, item, kind);
    }
  }
}

function refuseKey(check: FileCheck, pair: YamlPair, kind: MapKind): void {
  const list = `accepted here: ${FIELDS[kind].join(', ')}`;
  const type = pair.keyPlain ? typedScalar(pair.key) : pair.key;
  if (typeof type !== 'string') {
    const what = type === null ? 'null' : typeof type === 'boolean' ? 'a boolean' : 'a number';
    check.fault(pair.keyOffset, `the key ${quote(pair.key)} is ${what} in YAML and not a name; ${list}`);
    return;
  }
  const guess = likelyField(pair.key, kind);
  const hint = guess === null ? '' : `did you mean \`${guess}\`? `;
  check.fault(pair.keyOffset, `unknown key \`${printable(pair.key)}\`; ${hint}${list}`);
}
