import { excerpt } from '../../../base/printable.ts';
import type { RuleFile } from '../../rule-set.ts';
import type { YamlMap, YamlNode } from '../yaml/yaml-node.ts';
import { readResourceTree } from './read-resource.ts';

/** A resource of an xDS server as a YAML document, with the fields that it has. As `sluice check --xds-dump` reads it. */
export function resourceText({ content, origin }: RuleFile): string {
  const { name, root } = readResourceTree(content);
  const from = origin === undefined ? '' : ` from ${origin}`;
  return `--- # ${excerpt(name)}${from}\n${mapLines(root).join('\n')}\n`;
}

function mapLines({ pairs }: YamlMap): string[] {
  return pairs.flatMap(({ key, keyPlain, value }) => {
    const name = keyPlain ? key : JSON.stringify(key);
    const [first, ...more] = valueLines(value);
    return isShort(value) ? [`${name}: ${first}`] : [`${name}:`, ...[first, ...more].map(indented)];
  });
}

function valueLines(node: YamlNode): string[] {
  if (node.kind === 'map') return isShort(node) ? ['{}'] : mapLines(node);
  if (node.kind === 'list') return isShort(node) ? ['[]'] : node.items.flatMap(itemLines);
  if (!node.plain) return [JSON.stringify(node.text)];
  return [node.text === '' ? 'null' : node.text];
}

function itemLines(item: YamlNode): string[] {
  const [first, ...more] = valueLines(item);
  return [`- ${first}`, ...more.map(indented)];
}

function indented(line: string): string {
  return `  ${line}`;
}

/** Whether a value stands on the line of its key. */
function isShort(node: YamlNode): boolean {
  return node.kind === 'scalar' || (node.kind === 'map' ? node.pairs : node.items).length === 0;
}
