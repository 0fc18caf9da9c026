import { quote } from '../../../base/printable.ts';
import { type Network, readNetwork } from '../../conditions/addresses.ts';
import type { NetworkCondition } from '../../conditions/condition.ts';
import { offsetOf, textField } from '../fields/fields.ts';
import type { FileCheck } from '../fields/file-check.ts';
import type { YamlMap } from '../yaml/yaml-node.ts';
import { scalarItems } from './check-lists.ts';
import type { ConditionScope } from './condition-scope.ts';

/** The `cidr` of an entry; null if it is faulty, which is reported. */
export function checkNetworks(
  check: FileCheck,
  map: YamlMap,
  scope: ConditionScope,
): NetworkCondition | null {
  const items = scalarItems(check, map, 'cidr', '10.0.0.0/8, 2001:db8::/32');
  if (items === null || !scope.take(check, offsetOf(map, 'cidr'), 'network', items)) return null;
  const networks: Network[] = [];
  for (const { text, offset } of items) {
    const network = readNetwork(text);
    if ('fault' in network) check.fault(offset, `${quote(text)} ${network.fault}`);
    else networks.push(network);
    if (check.full) break;
  }
  return networks.length < items.length ? null : { kind: 'cidr', networks, file: '' };
}

/** The `cidr_file` of an entry; null if it is faulty, which is reported. */
export function checkNetworkFile(
  check: FileCheck,
  map: YamlMap,
  scope: ConditionScope,
): NetworkCondition | null {
  const file = textField(check, map, 'cidr_file');
  if (file === null) return null;
  const offset = offsetOf(map, 'cidr_file');
  const lines = scope.linesOf(check, offset, file);
  if (lines === null || !scope.take(check, offset, 'network', lines)) return null;
  if (lines.length === 0)
    check.warn(offset, `the file ${quote(file)} has no networks, so no request matches`);
  const networks: Network[] = [];
  for (const { text, line } of lines) {
    const network = readNetwork(text);
    if ('fault' in network)
      check.fault(offset, `line ${line} of ${quote(file)}: ${quote(text)} ${network.fault}`);
    else networks.push(network);
    if (check.full) break;
  }
  return networks.length < lines.length ? null : { kind: 'cidr', networks, file };
}
