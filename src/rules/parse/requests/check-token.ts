import { dirname, resolve } from 'node:path';
import type { TokenRule } from '../../request-mapping.ts';
import { flagField, mapField, offsetOf } from '../fields/fields.ts';
import type { FileCheck } from '../fields/file-check.ts';
import { checkedMap } from '../fields/repeated-keys.ts';
import type { YamlMap } from '../yaml/yaml-node.ts';
import { headerField, nameField } from './header-field.ts';

const DEFAULT_HEADER = 'authorization';

/**
 * Checks the `token` of `requests`. Null if absent or faulty.
 *
 * @param hasClaims whether a descriptor has a claim
 */
export function checkToken(check: FileCheck, block: YamlMap, hasClaims: boolean): TokenRule | null {
  const written = mapField(check, block, 'token');
  if (written === null) {
    if (hasClaims)
      check.fault(
        offsetOf(block, 'token'),
        'a descriptor has a `claim`, and `requests` has no `token`: write `token: {jwks_file: /path/of/keys.json}`, or ' +
          '`token: {read_only: true}` if the proxy has checked the token',
      );
    return null;
  }
  const map = checkedMap(check, written, 'token');
  const jwksFile = nameField(check, map, 'jwks_file') ?? '';
  const isReadOnly = flagField(check, map, 'read_only');
  const [issuer, audience] = [nameField(check, map, 'issuer') ?? '', nameField(check, map, 'audience') ?? ''];
  if (!isReadOnly && jwksFile === '')
    check.fault(
      map.offset,
      '`token` does not say how tokens are checked: write `jwks_file: ` and the path of the keys, or `read_only: true` if ' +
        'the proxy has checked them',
    );
  else if (isReadOnly && (jwksFile !== '' || issuer !== '' || audience !== ''))
    check.fault(
      offsetOf(map, 'read_only'),
      'a token that is only read is not checked: remove `read_only`, or `jwks_file`, `issuer` and `audience`',
    );
  return {
    header: headerField(check, map, 'header') ?? DEFAULT_HEADER,
    jwksFile,
    jwksPath: jwksFile === '' ? '' : besideFile(check, map, jwksFile),
    issuer,
    audience,
  };
}

/** A path that is not absolute begins in the folder of the rule file that has it. */
function besideFile(check: FileCheck, token: YamlMap, path: string): string {
  return resolve(dirname(check.placeOf(offsetOf(token, 'jwks_file')).file), path);
}
