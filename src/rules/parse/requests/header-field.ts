import { quote } from '../../../base/printable.ts';
import { MAX_MAPPED_TEXT } from '../../request-mapping.ts';
import { hasValue, offsetOf, textField } from '../fields/fields.ts';
import type { FileCheck } from '../fields/file-check.ts';
import type { YamlMap } from '../yaml/yaml-node.ts';

/** RFC 9110, 5.6.2: the names of headers and cookies. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Names that Envoy gives to parts of a request that are no headers, and the fields that have them here. */
const PSEUDO_HEADERS: Readonly<Record<string, string>> = {
  ':path': 'path: true',
  ':method': 'method: true',
  ':authority': 'host: true',
};

/** The name of a header in lower case; null if absent or faulty. */
export function headerField(check: FileCheck, map: YamlMap, field: string): string | null {
  const name = nameField(check, map, field)?.toLowerCase() ?? null;
  if (name === null || TOKEN.test(name)) return name;
  const pseudo = PSEUDO_HEADERS[name];
  const advice = pseudo === undefined ? 'write its name without a colon' : `write \`${pseudo}\``;
  check.fault(offsetOf(map, field), `${quote(name)} is not the name of a header: ${advice}`);
  return null;
}

/** The name of a cookie; null if absent or faulty. */
export function cookieField(check: FileCheck, map: YamlMap, field: string): string | null {
  const name = nameField(check, map, field);
  if (name === null || TOKEN.test(name)) return name;
  check.fault(
    offsetOf(map, field),
    `${quote(name)} is not the name of a cookie: write letters, digits, \`-\` or \`_\``,
  );
  return null;
}

/** A text that is neither empty nor too long; null if absent or faulty. */
export function nameField(check: FileCheck, map: YamlMap, field: string): string | null {
  if (!hasValue(map, field)) return null;
  const text = textField(check, map, field);
  if (text === null) return null;
  if (text !== '' && text.length <= MAX_MAPPED_TEXT) return text;
  const fault =
    text === ''
      ? 'is empty: write a text, or remove the field'
      : `has more than ${MAX_MAPPED_TEXT} characters: write a shorter text`;
  check.fault(offsetOf(map, field), `\`${field}\` ${fault}`);
  return null;
}
