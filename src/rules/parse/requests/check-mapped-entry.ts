import { ENTRY_SOURCES, type EntrySource, LAST_SEGMENT, type MappedEntry } from '../../request-mapping.ts';
import { flagField, flagIs, hasValue, offsetOf, wholeField } from '../fields/fields.ts';
import type { FileCheck } from '../fields/file-check.ts';
import { checkedMap } from '../fields/repeated-keys.ts';
import type { YamlMap } from '../yaml/yaml-node.ts';
import { cookieField, headerField, nameField } from './header-field.ts';

const SOURCES = Object.keys(ENTRY_SOURCES) as readonly EntrySource[];

/** Checks an entry of a descriptor of `requests`. Null if it is faulty. */
export function checkMappedEntry(check: FileCheck, written: YamlMap): MappedEntry | null {
  const map = checkedMap(check, written, 'request_entry');
  const key = nameField(check, map, 'key');
  if (!hasValue(map, 'key'))
    check.fault(map.offset, 'the entry has no key: write `key: ` and the name of the descriptor key');
  const source = checkSource(check, map);
  const fallback = nameField(check, map, 'default') ?? '';
  if (source === null || key === null) return null;
  const of = checkOf(check, map, source);
  if (source === 'value' && fallback !== '')
    check.fault(offsetOf(map, 'default'), 'a fixed `value` needs no `default`: remove one of them');
  return of === null ? null : { key, source, of, fallback };
}

/** The only source of an entry. Null if there is none, or another one. */
function checkSource(check: FileCheck, map: YamlMap): EntrySource | null {
  const sources = SOURCES.filter(source => hasValue(map, source) && !flagIs(map, source, false));
  if (sources.length === 1) return sources[0];
  if (sources.length > 1) {
    const both = `\`${sources[0]}\` and \`${sources[1]}\``;
    check.fault(
      offsetOf(map, sources[1]),
      `the entry has ${both}, and its value can be one of them: remove the other`,
    );
    return null;
  }
  const examples = 'such as `header: x-user`, `path: true` or `client_address: true`';
  check.fault(
    map.offset,
    `the entry does not say where its value is: write one of ${SOURCES.join(', ')}, ${examples}`,
  );
  return null;
}

/** What the source reads; null if it is faulty. */
function checkOf(check: FileCheck, map: YamlMap, source: EntrySource): string | null {
  if (ENTRY_SOURCES[source] === 'flag') return flagField(check, map, source) ? '' : null;
  if (source === 'path_segment') {
    const number = wholeField(check, map, source, { least: 1, greatest: LAST_SEGMENT });
    return number === null ? null : String(number);
  }
  if (source === 'header') return headerField(check, map, source);
  return source === 'cookie' ? cookieField(check, map, source) : nameField(check, map, source);
}
