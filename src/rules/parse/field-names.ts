import { excerpt, quote } from '../../base/printable.ts';
import { checkLeaf, isMapItem } from './fields.ts';
import type { FileCheck } from './file-check.ts';
import { typedScalar, type YamlMap, type YamlNode, type YamlPair } from './yaml/yaml-node.ts';

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
  check.fault(pair.keyOffset, `unknown key \`${excerpt(pair.key)}\`; ${hint}${list}`);
}

/** What kind of value a field takes. */
export type FieldKind = 'text' | 'count' | 'flag' | 'limit' | 'metadata' | 'entries' | 'replaces';

export type MapKind = 'file' | 'entry' | 'rate_limit' | 'replaces';

/** The keys that mean something in each kind of map, in the order in which they are listed to users. */
export const FIELD_KINDS: Readonly<Record<MapKind, ReadonlyMap<string, FieldKind>>> = {
  file: new Map([
    ['domain', 'text'],
    ['descriptors', 'entries'],
  ]),
  entry: new Map([
    ['key', 'text'],
    ['value', 'text'],
    ['rate_limit', 'limit'],
    ['descriptors', 'entries'],
    ['shadow_mode', 'flag'],
    ['quota_mode', 'flag'],
    ['detailed_metric', 'flag'],
    ['value_to_metric', 'flag'],
    ['share_threshold', 'flag'],
    ['metadata', 'metadata'],
  ]),
  rate_limit: new Map([
    ['unit', 'text'],
    ['requests_per_unit', 'count'],
    ['unlimited', 'flag'],
    ['name', 'text'],
    ['replaces', 'replaces'],
  ]),
  replaces: new Map([['name', 'text']]),
};

/** The names of these keys. */
const FIELDS: Readonly<Record<MapKind, readonly string[]>> = {
  file: [...FIELD_KINDS.file.keys()],
  entry: [...FIELD_KINDS.entry.keys()],
  rate_limit: [...FIELD_KINDS.rate_limit.keys()],
  replaces: [...FIELD_KINDS.replaces.keys()],
};

/** Every key that means something in some kind of map. */
export const FIELD_NAMES: readonly string[] = [...new Set(Object.values(FIELDS).flat())];

const KNOWN: ReadonlySet<string> = new Set(FIELD_NAMES);

/** True for a key that means something in some kind of map. */
function isKnownField(name: string): boolean {
  return KNOWN.has(name);
}

/** Names longer than this are no slip of the pen. */
const LONGEST_GUESS = 40;
const MOST_SLIPS = 2;

/** The known name that was most likely meant: first among those of the same kind of map, then among all. */
function likelyField(name: string, kind: MapKind): string | null {
  if (name.length > LONGEST_GUESS) return null;
  const wanted = letters(name);
  let best: string | null = null;
  let fewest = MOST_SLIPS + 1;
  for (const candidate of [...FIELDS[kind], ...FIELD_NAMES]) {
    const slips = editDistance(wanted, letters(candidate));
    // A short name is within two slips of too many words.
    if (slips < fewest && slips * 2 < candidate.length) {
      best = candidate;
      fewest = slips;
    }
  }
  return best;
}

/** `requestsPerUnit`, `requests-per-unit` and `requests_per_unit` differ in spelling only. */
function letters(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** How many letters have to be put in, left out or changed (Levenshtein). */
function editDistance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const changed = above[column - 1] + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(changed, above[column] + 1, current[column - 1] + 1));
    }
    above = current;
  }
  return above[to.length];
}
