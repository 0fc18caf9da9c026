import { excerpt, quote } from '../../base/printable.ts';
import { checkLeaf, isMapItem } from './fields.ts';
import type { FileCheck } from './file-check.ts';
import { typedScalar, type YamlMap, type YamlNode, type YamlPair } from './yaml/yaml-node.ts';

/**
 * Checks the keys of a map. As in envoyproxy/ratelimit, a field of another kind of map is silently ignored, but its value
 * has to be well formed.
 */
export function checkKeys(check: FileCheck, map: YamlMap, kind: MapKind): void {
  const accepted = FIELDS[kind];
  for (const pair of map.pairs) if (!accepted.includes(pair.key)) checkIgnored(check, pair, kind);
}

/** Checks an ignored pair: its key must be a field of some kind of map. Nothing below `metadata` is checked. */
function checkIgnored(check: FileCheck, pair: YamlPair, kind: MapKind): void {
  if (check.full) return;
  if (!isKnownField(pair.key)) refuseKey(check, pair, kind);
  else if (pair.key !== 'metadata') checkIgnoredValue(check, pair.value, kind);
}

function checkIgnoredValue(check: FileCheck, node: YamlNode, kind: MapKind): void {
  if (node.kind === 'scalar') checkLeaf(check, node);
  else if (node.kind === 'map') for (const pair of node.pairs) checkIgnored(check, pair, kind);
  else {
    for (const item of node.items) {
      if (isMapItem(check, item, 'a list', '- key: ...')) checkIgnoredValue(check, item, kind);
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

/** The kind of value of a field. */
export type FieldKind = 'text' | 'count' | 'flag' | 'limit' | 'metadata' | 'entries' | 'replaces';

export type MapKind = 'file' | 'entry' | 'rate_limit' | 'replaces';

/** The fields of each kind of map, in the order in which messages list them. */
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

/** The names of the fields of each kind of map. */
const FIELDS: Readonly<Record<MapKind, readonly string[]>> = {
  file: [...FIELD_KINDS.file.keys()],
  entry: [...FIELD_KINDS.entry.keys()],
  rate_limit: [...FIELD_KINDS.rate_limit.keys()],
  replaces: [...FIELD_KINDS.replaces.keys()],
};

/** The names of all fields of all kinds of maps. */
export const FIELD_NAMES: readonly string[] = [...new Set(Object.values(FIELDS).flat())];

const KNOWN: ReadonlySet<string> = new Set(FIELD_NAMES);

/** Whether any kind of map has this field. */
function isKnownField(name: string): boolean {
  return KNOWN.has(name);
}

/** Maximum length of a name that a suggestion is made for. */
const LONGEST_GUESS = 40;
/** Maximum edit distance between a name and its suggestion. */
const MOST_EDITS = 2;

/** The most similar field name: of this kind of map first, then of any kind. Null if none is similar. */
function likelyField(name: string, kind: MapKind): string | null {
  if (name.length > LONGEST_GUESS) return null;
  const wanted = letters(name);
  let best: string | null = null;
  let fewest = MOST_EDITS + 1;
  for (const candidate of [...FIELDS[kind], ...FIELD_NAMES]) {
    const edits = editDistance(wanted, letters(candidate));
    // Short names are within two edits of too many words.
    if (edits < fewest && edits * 2 < candidate.length) {
      best = candidate;
      fewest = edits;
    }
  }
  return best;
}

/** `requestsPerUnit`, `requests-per-unit` and `requests_per_unit` differ in spelling only. */
function letters(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** The Levenshtein distance. */
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
