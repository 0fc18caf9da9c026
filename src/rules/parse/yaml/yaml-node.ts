/**
 * The small tree that both YAML readers give. Values stay text: what they mean depends on the field.
 * Offsets count UTF-16 units from the start of the text; lines and columns are worked out when a fault needs them.
 */
export type YamlNode = YamlScalar | YamlList | YamlMap;

export interface YamlScalar {
  readonly kind: 'scalar';
  readonly text: string;
  /** True when YAML gives the text a type (`yes`, `010`, `~`); false for quoted and block text. */
  readonly plain: boolean;
  /** For a value that is left out, the offset of its key. */
  readonly offset: number;
}

export interface YamlList {
  readonly kind: 'list';
  readonly items: readonly YamlNode[];
  readonly offset: number;
}

export interface YamlMap {
  readonly kind: 'map';
  /** In the order in which they take effect, repeated keys included. Pairs of a merge stand where its `<<` stands. */
  readonly pairs: readonly YamlPair[];
  readonly offset: number;
}

export interface YamlPair {
  readonly key: string;
  readonly keyPlain: boolean;
  readonly keyOffset: number;
  readonly value: YamlNode;
  /** For a pair that a merge brings, the offset of the `<<` in the map that it is brought into. */
  readonly mergedAt?: number;
}

/** What is wrong with a text as YAML, and at which offset. */
export interface YamlFault {
  readonly offset: number;
  readonly message: string;
}

/** A tree (its root is null when the text holds nothing), or at least one fault. */
export interface YamlReading {
  readonly root: YamlNode | null;
  readonly faults: readonly YamlFault[];
}
