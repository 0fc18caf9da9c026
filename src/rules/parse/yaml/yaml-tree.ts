import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { excerpt, quote } from '../../../base/printable.ts';
import { MAX_REPORTED_FAULTS } from '../../rule-set.ts';
import { allowedAliasShare, MAX_EXPANDED_NODES, MAX_YAML_DEPTH } from './bounds.ts';
import { typedScalar, type YamlFault, type YamlNode, type YamlPair } from './yaml-node.ts';

/** A node with an anchor, ready for its aliases. */
interface Anchored {
  readonly node: YamlNode;
  /** Number of nodes, aliases expanded. */
  readonly size: number;
  /** Number of levels below the node. */
  readonly height: number;
}

interface Built {
  readonly node: YamlNode;
  readonly height: number;
}

const CORE = 'tag:yaml.org,2002:';
/** Tags whose scalars are typed like plain scalars. */
const TYPED_TAGS: ReadonlySet<string> = new Set(
  ['int', 'float', 'bool', 'null', 'timestamp'].map(name => CORE + name),
);
/** Standard tags that have no effect. */
const NEUTRAL_TAGS: ReadonlySet<string> = new Set(['str', 'map', 'seq'].map(name => CORE + name));
const MERGE_TAG = `${CORE}merge`;

/** Below these counts, the share of aliases is not limited. */
const FEW_ALIASED = 100;
const FEW_NODES = 1000;

/**
 * Converts a document of the `yaml` package to a {@link YamlNode} tree and resolves aliases and merge keys. Aliases share
 * the node of their anchor, so an alias bomb takes no memory. Its nodes are counted as if they were written out, and
 * rejected beyond {@link MAX_EXPANDED_NODES} and {@link allowedAliasShare}, which limits the work of later passes.
 */
export class YamlTree {
  readonly faults: YamlFault[] = [];
  /** By name. Null while the node of the anchor is being built: an alias within it would contain itself. */
  readonly #anchors = new Map<string, Anchored | null>();
  #size = 0;
  /** Number of nodes that come from aliases. */
  #aliased = 0;
  #tooManyAliases = false;

  /** The tree of a document. Valid only if `faults` is empty afterwards. */
  build(root: unknown): YamlNode {
    return this.#build(root, 0, 1).node;
  }

  #fault(offset: number, message: string): void {
    if (this.faults.length < MAX_REPORTED_FAULTS) this.faults.push({ offset, message });
  }

  /** Counts nodes, and reports once if there are too many. */
  #count(size: number, offset: number): void {
    const before = this.#size;
    this.#size += size;
    if (this.#size > MAX_EXPANDED_NODES && before <= MAX_EXPANDED_NODES) {
      this.#fault(
        offset,
        `the file holds more than ${MAX_EXPANDED_NODES} values, aliases included: use fewer aliases`,
      );
    }
    this.#checkAliasShare(offset);
  }

  /** The share only grows with an alias, so checking after each alias is sufficient. */
  #checkAliasShare(offset: number): void {
    if (this.#tooManyAliases || this.#aliased <= FEW_ALIASED || this.#size <= FEW_NODES) return;
    if (this.#aliased / this.#size <= allowedAliasShare(this.#size)) return;
    this.#tooManyAliases = true;
    this.#fault(
      offset,
      `${this.#aliased} of the ${this.#size} values up to here come from aliases, which is too many: use fewer aliases`,
    );
  }

  /** True if the rest of the tree is not needed because the document is rejected. */
  get #full(): boolean {
    return this.#tooManyAliases || this.#size > MAX_EXPANDED_NODES;
  }

  /** @param emptyOffset the offset of an omitted value */
  #build(node: unknown, emptyOffset: number, depth: number): Built {
    if (isAlias(node)) return this.#alias(node, depth);
    const sizeBefore = this.#size;
    this.#count(1, emptyOffset);
    const anchor = isScalar(node) || isMap(node) || isSeq(node) ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchors.set(anchor, null);
    const built = this.#withoutAnchor(node, emptyOffset, depth);
    if (anchor !== undefined) this.#anchors.set(anchor, { ...built, size: this.#size - sizeBefore });
    return built;
  }

  #withoutAnchor(node: unknown, emptyOffset: number, depth: number): Built {
    if (isMap(node)) return this.#map(node, depth);
    if (isSeq(node)) return this.#list(node, depth);
    return { node: this.#scalar(isScalar(node) ? node : null, emptyOffset), height: 0 };
  }

  #alias(alias: Alias, depth: number): Built {
    const offset = offsetOf(alias);
    const name = alias.source;
    const anchored = this.#anchors.get(name);
    if (anchored === null) {
      this.#fault(offset, `the alias \`*${excerpt(name)}\` is inside its own anchor: write the values out`);
      return { node: emptyScalar(offset), height: 0 };
    }
    if (anchored === undefined) {
      const text = quote(`*${name}`);
      this.#fault(
        offset,
        `no anchor \`&${excerpt(name)}\` comes before this alias: define it, or write ${text} in quotes for the text`,
      );
      return { node: emptyScalar(offset), height: 0 };
    }
    if (depth + anchored.height - 1 > MAX_YAML_DEPTH) {
      this.#fault(offset, `aliases nest deeper than ${MAX_YAML_DEPTH} levels: write a flatter file`);
      return { node: emptyScalar(offset), height: 0 };
    }
    this.#aliased += anchored.size;
    this.#count(anchored.size + 1, offset);
    return anchored;
  }

  #scalar(scalar: Scalar | null, emptyOffset: number): YamlNode {
    const offset = scalar === null ? emptyOffset : offsetOf(scalar);
    const text = scalar?.source ?? '';
    if (scalar === null || (text === '' && scalar.type === 'PLAIN')) return emptyScalar(emptyOffset);
    if (!text.isWellFormed()) {
      this.#fault(offset, 'an escape is half of a surrogate pair: write the character itself');
    }
    this.#checkTag(scalar, offset);
    if (scalar.tag !== undefined && !fitsTag(text, scalar.tag)) {
      this.#fault(
        offset,
        `${quote(text)} does not have the type of its tag: remove the tag, or fix the value`,
      );
    }
    const plain = scalar.tag === undefined ? scalar.type === 'PLAIN' : TYPED_TAGS.has(scalar.tag);
    return { kind: 'scalar', text, plain, offset };
  }

  /** Standard tags for sets, binary data and so on are rejected because they change the value. Local tags are ignored. */
  #checkTag(node: Node, offset: number): void {
    const tag = node.tag;
    if (tag === undefined || tag.startsWith('!') || TYPED_TAGS.has(tag) || NEUTRAL_TAGS.has(tag)) return;
    const shown = tag.startsWith(CORE) ? `!!${tag.slice(CORE.length)}` : tag;
    this.#fault(offset, `the tag ${quote(shown)} is not supported in rule files: remove it`);
  }

  #list(list: YAMLSeq, depth: number): Built {
    const offset = offsetOf(list);
    this.#checkTag(list, offset);
    const items: YamlNode[] = [];
    let height = 0;
    for (const item of list.items) {
      if (this.#full) break;
      const built = this.#build(item, offset, depth + 1);
      items.push(built.node);
      height = Math.max(height, built.height);
    }
    return { node: { kind: 'list', items, offset }, height: height + 1 };
  }

  #map(map: YAMLMap, depth: number): Built {
    const offset = offsetOf(map);
    this.#checkTag(map, offset);
    const pairs: YamlPair[] = [];
    let height = 0;
    for (const pair of map.items) {
      if (this.#full) break;
      const keyOffset = offsetOf(pair.key, offset);
      const key = isMergeKey(pair.key) ? null : this.#build(pair.key, keyOffset, depth + 1).node;
      const value = this.#build(pair.value, keyOffset, depth + 1);
      height = Math.max(height, value.height);
      if (key === null) this.#merge(pair.value, value.node, keyOffset, pairs);
      else if (key.kind === 'scalar') {
        pairs.push({ key: key.text, keyPlain: key.plain, keyOffset, value: value.node });
      } else {
        this.#fault(keyOffset, `a key must be text, not a ${key.kind}: write one word before the colon`);
      }
    }
    return { node: { kind: 'map', pairs, offset }, height: height + 1 };
  }

  /** Adds the pairs merged by a `<<` at `mergedAt`. As in envoyproxy/ratelimit, a list cannot be an alias. */
  #merge(written: unknown, value: YamlNode, mergedAt: number, into: YamlPair[]): void {
    // The earlier of several maps wins.
    const maps = value.kind === 'list' && !isAlias(written) ? value.items.toReversed() : [value];
    for (const map of maps) {
      if (map.kind !== 'map') {
        this.#fault(value.offset, 'the merge key `<<` takes a map or a list of maps: write an alias to one');
        return;
      }
      for (const { key, keyPlain, keyOffset, value } of map.pairs) {
        into.push({ key, keyPlain, keyOffset, value, mergedAt });
      }
    }
  }
}

/** Whether the YAML type of a text is the type of its tag. */
function fitsTag(text: string, tag: string): boolean {
  const type = typedScalar(text);
  if (tag === `${CORE}int`) return typeof type === 'bigint';
  if (tag === `${CORE}float`) return typeof type === 'number' || typeof type === 'bigint';
  if (tag === `${CORE}bool`) return typeof type === 'boolean';
  return tag !== `${CORE}null` || type === null;
}

function isMergeKey(key: unknown): boolean {
  if (!isScalar(key) || key.source !== '<<') return false;
  return key.tag === undefined ? key.type === 'PLAIN' : key.tag === MERGE_TAG || key.tag === '!';
}

function emptyScalar(offset: number): YamlNode {
  return { kind: 'scalar', text: '', plain: true, offset };
}

function offsetOf(node: unknown, otherwise = 0): number {
  if (isScalar(node) || isMap(node) || isSeq(node) || isAlias(node)) return node.range?.[0] ?? otherwise;
  return otherwise;
}
