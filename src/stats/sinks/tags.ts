/** A name and a value that tell statistics of one deployment from those of another. */
export type Tag = readonly [name: string, value: string];

/** What stands between a name and its tags where a protocol knows no tags. */
const TAG_MARK = '.__';

/**
 * Tags as the end of a name, in the order of their names: `.__env=prod.__zone=a`. The reference implementation puts
 * them there; tags without a name or value are left out.
 */
export function tagsInName(tags: readonly Tag[]): string {
  return inOrder(tags)
    .filter(([name, value]) => name !== '' && value !== '')
    .map(([name, value]) => `${TAG_MARK}${name}=${lineValue(value)}`)
    .join('');
}

/** Tags in the order of their names. */
export function inOrder(tags: readonly Tag[]): readonly Tag[] {
  return tags.toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** A tag's value that neither ends a name nor begins a part of it. */
export function lineValue(value: string): string {
  return value.replace(/[.:|\r\n]/g, '_');
}
