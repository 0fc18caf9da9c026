import {
  ADDRESS_LISTS,
  type ClientAddressRule,
  MAX_MAPPED_DESCRIPTORS,
  MAX_MAPPED_ENTRIES,
  type MappedEntry,
  MOST_TRUSTED_PROXIES,
  type RequestMapping,
} from '../../request-mapping.ts';
import { fieldOf, hasValue, isMapItem, mapField, offsetOf, textField, wholeField } from '../fields/fields.ts';
import type { FileCheck } from '../fields/file-check.ts';
import { checkedMap } from '../fields/repeated-keys.ts';
import type { YamlList, YamlMap, YamlNode } from '../yaml/yaml-node.ts';
import { checkMappedEntry } from './check-mapped-entry.ts';
import { checkToken } from './check-token.ts';
import { headerField } from './header-field.ts';

/** How messages show an item of the list of descriptors, and an item of that item. */
const DESCRIPTOR_EXAMPLE = '- [{key: user, header: x-user}]';
const ENTRY_EXAMPLE = '{key: user, header: x-user}';

const DEFAULT_ADDRESS: ClientAddressRule = { header: ADDRESS_LISTS[0], trustedProxies: 1 };

/** Checks the `requests` of a file. Null if absent. The result is valid only if no fault was reported. */
export function checkRequests(check: FileCheck, root: YamlMap): RequestMapping | null {
  const written = mapField(check, root, 'requests');
  if (written === null) return null;
  const block = checkedMap(check, written, 'requests');
  const descriptors = checkDescriptors(check, block);
  const hasClaims = descriptors.some(entries => entries.some(({ source }) => source === 'claim'));
  return {
    clientAddress: checkClientAddress(check, block),
    token: checkToken(check, block, hasClaims),
    onFailure: checkOnFailure(check, block),
    descriptors,
  };
}

function checkClientAddress(check: FileCheck, block: YamlMap): ClientAddressRule {
  const written = mapField(check, block, 'client_address');
  if (written === null) return DEFAULT_ADDRESS;
  const map = checkedMap(check, written, 'client_address');
  const header = headerField(check, map, 'header') ?? DEFAULT_ADDRESS.header;
  const range = { least: 0, greatest: MOST_TRUSTED_PROXIES };
  const trustedProxies = wholeField(check, map, 'trusted_proxies', range) ?? DEFAULT_ADDRESS.trustedProxies;
  const isList = (ADDRESS_LISTS as readonly string[]).includes(header);
  if (!isList && hasValue(map, 'trusted_proxies')) {
    check.fault(
      offsetOf(map, 'trusted_proxies'),
      `\`trusted_proxies\` counts addresses in a list, and \`${header}\` holds one address: remove it, or write ` +
        `\`header: ${ADDRESS_LISTS[0]}\``,
    );
  }
  return { header, trustedProxies };
}

function checkOnFailure(check: FileCheck, block: YamlMap): RequestMapping['onFailure'] {
  const text = textField(check, block, 'on_failure');
  if (text === null || text === '' || text === 'allow') return 'allow';
  if (text !== 'deny')
    check.fault(offsetOf(block, 'on_failure'), '`on_failure` must be `allow` or `deny`: write one of them');
  return 'deny';
}

function checkDescriptors(check: FileCheck, block: YamlMap): RequestMapping['descriptors'] {
  const list = listOf(check, fieldOf(block, 'descriptors'), block.offset, {
    what: '`descriptors` of `requests`',
    example: DESCRIPTOR_EXAMPLE,
    most: MAX_MAPPED_DESCRIPTORS,
  });
  return (list?.items ?? []).map(item => checkDescriptor(check, item));
}

function checkDescriptor(check: FileCheck, node: YamlNode): readonly MappedEntry[] {
  const list = listOf(check, node, node.offset, {
    what: 'each item of `descriptors` of `requests`',
    example: DESCRIPTOR_EXAMPLE,
    most: MAX_MAPPED_ENTRIES,
  });
  const entries: MappedEntry[] = [];
  for (const item of list?.items ?? []) {
    if (!isMapItem(check, item, 'a descriptor', ENTRY_EXAMPLE)) continue;
    const entry = checkMappedEntry(check, item);
    if (entry !== null) entries.push(entry);
  }
  return entries;
}

interface ListWords {
  readonly what: string;
  readonly example: string;
  readonly most: number;
}

/** A list with at least one item; null if faulty. */
function listOf(check: FileCheck, node: YamlNode | null, offset: number, words: ListWords): YamlList | null {
  const { what, example, most } = words;
  if (node?.kind !== 'list' || node.items.length === 0) {
    check.fault(node?.offset ?? offset, `${what} must be a list that is not empty: write \`${example}\``);
    return null;
  }
  if (node.items.length <= most) return node;
  check.fault(node.items[most].offset, `${what} may have at most ${most} items: remove some`);
  return null;
}
