import { fieldOf } from '../fields/fields.ts';
import type { YamlMap, YamlNode, YamlPair } from '../yaml/yaml-node.ts';

/** The fields of an entry that stay where they are when its limit moves up. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['key', 'value', 'descriptors']);

/** What an entry names that is set aside, and the field that has its key. */
export type Named = 'class' | 'holder';

/**
 * Whether an overlay has made an entry the one that names the class or the holder: its limit has `classes` with the entry's
 * own key, or the entry has this key as `holder`. A controller can only nest the entries that a proxy sends, so the limit is
 * on the last of them, but its counter must not depend on the class or the holder. Null if neither is the case.
 */
export function namedBy(node: YamlNode): Named | null {
  if (node.kind !== 'map' || node.overlaidAt === undefined) return null;
  const key = fieldOf(node, 'key');
  const isAnyValue = isEmptyText(fieldOf(node, 'value'));
  const isLast = isEmptyList(fieldOf(node, 'descriptors'));
  if (key?.kind !== 'scalar' || !isAnyValue || !isLast) return null;
  const limits = limitsOf(node);
  if (limits.length === 0) return null;
  const holder = fieldOf(node, 'holder');
  if (holder?.kind === 'scalar' && holder.text === key.text) return 'holder';
  return limits.every(limit => classKeyOf(limit) === key.text) ? 'class' : null;
}

/** The entry above such an entry, with its limit and its flags. */
export function withLimitOf(above: YamlMap, { pairs, overlaidAt = above.offset }: YamlMap): YamlMap {
  const moved: readonly YamlPair[] = pairs.filter(({ key }) => !OWN_FIELDS.has(key));
  const names = new Set(moved.map(({ key }) => key));
  return { ...above, pairs: [...above.pairs.filter(({ key }) => !names.has(key)), ...moved], overlaidAt };
}

function limitsOf(entry: YamlMap): readonly YamlNode[] {
  const list = fieldOf(entry, 'rate_limits');
  if (list?.kind === 'list') return list.items;
  const limit = fieldOf(entry, 'rate_limit');
  return limit === null ? [] : [limit];
}

function classKeyOf(limit: YamlNode): string | null {
  const classes = limit.kind === 'map' ? fieldOf(limit, 'classes') : null;
  const key = classes?.kind === 'map' ? fieldOf(classes, 'key') : null;
  return key?.kind === 'scalar' ? key.text : null;
}

function isEmptyText(node: YamlNode | null): boolean {
  return node === null || (node.kind === 'scalar' && node.text === '');
}

function isEmptyList(node: YamlNode | null): boolean {
  return node === null || (node.kind === 'list' ? node.items.length === 0 : node.kind === 'scalar');
}
